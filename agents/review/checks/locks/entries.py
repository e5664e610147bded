"""One package of a lock file, whatever wrote the file, and the addresses that are those of its archive."""

import posixpath
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

GIT, REGISTRY, URL, LOCAL, BUNDLED = "git", "registry", "url", "local", "bundled"
SOURCE, TRUSTED = "source", "trusted"
"""Where a package comes from; ``bundled`` is in the archive of another. No packages are ``source``, a place in which
all are looked for, and ``trusted``, a host whose certificate is not looked at.
"""
_PREFIX = re.compile(r"^(registry|sparse|git|hg|svn|bzr|direct)\+(?=[a-z+]+://)")
_SECRET_PARAMETER = re.compile(r"token|secret|passw|api_?key|signature", re.IGNORECASE)
_PORTS = {"https": "443", "http": "80", "ssh": "22", "git": "9418", "ftp": "21"}
_MAY_BE_ADDRESS = re.compile(r"[:\\]|//")
_SCP = re.compile(r"^(?P<user>[\w.-]+)@(?P<host>[\w.-]+):(?!//)")

_WHEEL_PARTS = (5, 6)  # name, version, perhaps a build, interpreter, interface and platform
_SOURCES = re.compile(r"\.(?:tar\.(?:gz|bz2|xz|Z)|tgz|zip)$")
_SPELLINGS = {"alpha": "a", "beta": "b", "c": "rc", "pre": "rc", "preview": "rc", "rev": "post", "r": "post"}


def find_registry(address: str, name: str, version: str) -> str | None:
    """The registry of JavaScript that serves this version of this package at an address; None if it serves another one.

    It is what stands before the name of the package: anybody may publish ``@anything/left``, whose archive has the
    name of that of ``left``.
    """
    parts = split_address(address)
    path = unquote(parts.path) if parts else ""
    if not {".", ".."}.isdisjoint(re.split(r"[/\\]", path)):  # a program resolves these before it asks
        return None
    name, version = unquote(name), version.partition("+")[0]
    short = re.escape(name.rpartition("/")[2])
    file = f"(?:{re.escape(name)}|{short})-{re.escape(version)}\\.tgz"
    place = f"{re.escape(name)}/-/{file}|{re.escape(f'{name}/{version}')}/.*|(?:{re.escape(name)}/)?{file}"
    found = re.fullmatch(f"(.*?/)(?:{place})", path)
    return f"{find_host(address)}{found[1]}" if found and "/-/" not in found[1] else None


def is_python_archive(address: str, name: str, version: str) -> bool:
    """Whether an address is that of a wheel or a source archive of this version of this package."""
    file = unquote(posixpath.basename(address.partition("#")[0].partition("?")[0]))
    if file.endswith(".whl"):
        parts = file.removesuffix(".whl").split("-")
        return len(parts) in _WHEEL_PARTS and _are_same(parts[0], parts[1], name, version)
    stem = _SOURCES.sub("", file)
    dashes = [found.start() for found in re.finditer("-", stem)]  # old archives have them in versions, too
    return stem != file and any(_are_same(stem[:at], stem[at + 1 :], name, version) for at in dashes)


def _are_same(one: str, its_version: str, name: str, version: str) -> bool:
    return normalise(one, "") == normalise(name, "") and _spell(its_version) == _spell(version)


def _spell(version: str) -> str:
    """A version without the differences that Python does not see, as between ``1.0-rc1`` and ``1.0.0rc01``."""
    parts = re.findall(r"[0-9]+|[a-z]+", version.lower().removeprefix("v"))
    plain = ".".join(_SPELLINGS.get(each, each.lstrip("0") or ("0" if each.isdigit() else each)) for each in parts)
    return re.sub(r"(\.0)+(?=\.[a-z]|$)", "", plain)


class UnreadableLock(ValueError):
    """The file is not what its name says, or of a version that is not known."""


@dataclass(frozen=True)
class LockEntry:
    """A package as a lock file fixes it.

    :param name: as its registry knows it.
    :param version: of a package from git, its commit where the file names one.
    :param addresses: whole addresses from which it is fetched, if the file names them.
    :param hashes: (algorithm, value) of what is fetched.
    :param runs_scripts: it runs a program as it is installed.
    :param origins: the indexes or repositories in which it is looked up, which stay the same with every version.
    :param files: (name of an archive, its algorithm, its value), where the file names the archives.
    :param folder: into which it is installed, where the file says so; a package that stays the same may move.
    :param takes_place_of: what its folder is called after, if that is another package.
    :param place: where in the repository it is, seen from the lock file, if that is known of a local one.
    """

    name: str
    version: str
    kind: str = REGISTRY
    addresses: frozenset[str] = frozenset()
    hashes: frozenset[tuple[str, str]] = frozenset()
    runs_scripts: bool = False
    origins: frozenset[str] = frozenset()
    files: frozenset[tuple[str, str, str]] = frozenset()
    folder: str = field(default="", compare=False)
    takes_place_of: str = ""
    place: str = field(default="", compare=False)

    @property
    def pair(self) -> tuple[str, str]:
        """Name and version, as all write them alike."""
        return normalise(self.name, self.version)

    @property
    def repositories(self) -> frozenset[str]:
        """The repositories from which it comes, without commits; none of a package that does not come from git."""
        places = self.addresses if self.kind == GIT else ()
        return frozenset(re.sub(r"(\.git)?/*$", "", re.split(r"[?#]", place)[0].lower()) for place in places)

    @property
    def hosts(self) -> frozenset[str]:
        """Where its addresses lead to."""
        return frozenset(host for host in map(find_host, self.addresses) if host)


def normalise(name: str, version: str) -> tuple[str, str]:
    """A name and a version without the differences between those who write them."""
    plain = re.sub(r"[-_.]+", "-", unquote(name).lower())
    return plain, version.lower().removeprefix("v").split("+incompatible")[0]


def split_address(address: str) -> SplitResult | None:
    """The parts of an address, also of one that begins with the name of a tool; None if it is none."""
    if scp := _SCP.match(address):
        return SplitResult("ssh", f"{scp['user']}@{scp['host']}", "/", "", "")
    try:
        parts = urlsplit(_PREFIX.sub("", address))
        return parts if parts.hostname else None
    except ValueError:
        return None


def find_host(address: str) -> str:
    """The host of an address in small letters, with its port where that is no usual one; empty if it has none."""
    parts = split_address(address)
    if parts is None:
        return ""
    port = parts.netloc.rpartition("@")[2].rpartition("]")[2].partition(":")[2]  # parts.port refuses odd ones
    return f"{parts.hostname}{'' if port in {'', _PORTS.get(parts.scheme)} else f':{port}'}"


def is_plain_http(address: str) -> bool:
    """Whether an address is fetched without encryption by anybody but this machine."""
    parts = split_address(address)
    return parts is not None and parts.scheme in {"http", "git", "ftp"}


def holds_credential(address: str) -> bool:
    """Whether an address carries a password or a token."""
    parts = split_address(address)
    if parts is None:
        return False
    by_query = any(_SECRET_PARAMETER.search(name) and value for name, value in parse_qsl(parts.query))
    is_user = parts.scheme != "ssh" and parts.username not in {None, "", "git"}
    return bool(parts.password) or is_user or by_query


def split_hashes(integrity: object) -> frozenset[tuple[str, str]]:
    """The hashes of a text such as ``sha512-abc= sha1-def=``.

    Several of one algorithm are one value, since any of them is enough: with one more, another archive is let in.
    """
    values: dict[str, set[str]] = {}
    for algorithm, _, value in (each.partition("-") for each in str(integrity or "").split()):
        if value:
            values.setdefault(algorithm, set()).add(value.partition("?")[0])
    return frozenset((algorithm, " ".join(sorted(each))) for algorithm, each in values.items())


def classify(address: str) -> str:
    """The kind of package that is fetched from an address."""
    lower = address.lower()
    if lower.startswith(("file:", "link:", "portal:", "workspace:", ".", "/")) or not address:
        return LOCAL
    if lower.startswith(("git+", "git:", "git@", "ssh:", "github:")) or lower.split("#")[0].endswith(".git"):
        return GIT
    return URL


def list_addresses(*values: object) -> frozenset[str]:
    """Those of some values that are addresses, or that something may take for one although they name no host."""
    return frozenset(str(value) for value in values if value and _MAY_BE_ADDRESS.search(str(value)))


def by_name(entries: Iterable[LockEntry]) -> dict[str, list[LockEntry]]:
    """Normalised name → its entries."""
    named: dict[str, list[LockEntry]] = {}
    for entry in entries:
        named.setdefault(entry.pair[0], []).append(entry)
    return named
