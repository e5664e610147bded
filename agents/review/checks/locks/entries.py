"""One package of a lock file, whatever wrote the file."""

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
