"""Whether an address is that of the archive of one version of one package, by the rules of its registry."""

import posixpath
import re
from urllib.parse import unquote

from agents.review.checks.locks.entries import find_host, normalise, split_address

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
