"""What manifests ask for from a place of its own: which package from which folder, file, address or repository."""

# What these files hold is of any type; a wrong one asks for nothing.
# pyrefly: ignore-errors[unknown-variable-type, unknown-argument-type, unknown-attribute-access]

import json
import posixpath
import re
import tomllib
from collections.abc import Iterator, Mapping
from functools import reduce
from typing import Any

from agents.review.checks.locks.entries import LOCAL, LockEntry, classify, normalise
from agents.review.checks.locks.trees import load_yaml
from domain.globs import matches
from domain.paths import is_manifest
from domain.review.changes import PackageMove

_JAVASCRIPT = ("package.json", "pnpm-workspace.yaml")
_BESIDE = {
    "package-lock.json": _JAVASCRIPT,
    "npm-shrinkwrap.json": _JAVASCRIPT,
    "yarn.lock": _JAVASCRIPT,
    "pnpm-lock.yaml": _JAVASCRIPT,
    "cargo.lock": ("Cargo.toml",),
    "poetry.lock": ("pyproject.toml",),
    "uv.lock": ("pyproject.toml",),
    "pdm.lock": ("pyproject.toml",),
    "pipfile.lock": ("Pipfile",),
    "composer.lock": ("composer.json",),
    "gemfile.lock": ("Gemfile",),
}
_MEMBERS = frozenset({"workspaces", "members", "packages"})
_SECTIONS = frozenset(
    {
        *("dependencies", "devDependencies", "optionalDependencies", "peerDependencies", "overrides", "resolutions"),
        *("catalog", "catalogs", "workspaces", "workspace", "members", "packages", "dev-packages", "repositories"),
        *("require", "require-dev", "patch", "replace", "dev-dependencies", "build-dependencies", "package"),
        *("optional-dependencies", "dependency-groups", "sources", "group", "bundleDependencies"),
        *("bundledDependencies", "dev_dependencies", "patchedDependencies"),
    }
)
"""Parts of a manifest in which packages are asked for; elsewhere anything may stand."""
_NOTES = frozenset({"metadata", "config"})
_TOOLS = frozenset({"poetry", "uv", "pdm"})
_BUNDLED = frozenset({"bundleDependencies", "bundledDependencies"})
_SOURCES = frozenset({"path", "git", "url", "file"})
_KEY = re.compile(r"((?:@[^/@>]+/)?[^/@>]+)(?:@[^/>]*)?$")  # the last one, where overrides name several
_ELSEWHERE = re.compile(
    r"(file|link|portal|workspace|patch|npm|git|github|gitlab|bitbucket):|[a-z+]+://|[\w.-]+@[\w.-]+:|\.{0,2}/"
)
_AT_GITHUB = re.compile(r"[\w.-]+/[\w.-]+(#.*)?")
_IN_WORDS = re.compile(r"([\w.-]+)\s*(?:\[[^\]]*\])?\s*@\s*([a-z+]+:\S+)")  # as Python writes requirements
_IN_GEMFILE = re.compile(r"\b(path|git|github|gitlab|bitbucket)\b\s*(?::|=>|\()?\s*[\"']([^\"'\n]+)[\"']")
_ANYWHERE = re.compile(r"workspace:(?:[\^~*\d]|$)")
_ADDRESS = re.compile(r"(?:[a-z+]+://)?(?:[^/@]+@)?([\w.-]+)(?::\d+(?=/))?[:/]+([^?#]*)")
_FORGE = re.compile(r"(?:codeload\.|www\.)?((?:github|gitlab|bitbucket)\.\w+/[^/]+/[^/]+?)(?:\.git|/.*)?")


class Wishes:
    """All that the manifests of a repository ask for from a place of its own.

    :param manifests: path → text.
    :param lock: the path of the lock file that answers them, or of a list of requirements, which asks by itself.
    """

    def __init__(self, manifests: Mapping[str, str], lock: str) -> None:
        self._folder = posixpath.dirname(lock)
        self._asks_itself = is_manifest(lock)
        self._places: dict[str, set[str]] = {}
        self._read_reached(dict(manifests))

    def _read_reached(self, manifests: dict[str, str]) -> None:
        """Read the manifests beside the lock file, and then those that these ask for, such as of a workspace."""
        while reached := [path for path in manifests if self._reaches(posixpath.dirname(path))]:
            for name, place in (wish for path in reached for wish in _read(path, manifests.pop(path))):
                self._places.setdefault(name, set()).add(place)

    def _reaches(self, folder: str) -> bool:
        named = {place for places in self._places.values() for place in places}
        return folder == self._folder or folder in named or matches(folder, self._places.get("", ()))

    def hold(self, entry: LockEntry) -> bool:
        """Whether one asks for a package from where it comes."""
        if self._asks_itself:
            return True
        places = [entry.place] if entry.kind == LOCAL else [*entry.addresses]
        return all(self._hold(_plain(entry.name), _find_place(each, self._folder)) for each in places or [""])

    def hold_alias(self, entry: LockEntry) -> bool:
        """Whether one asks for it under the name of the package whose place it takes."""
        return f"npm:{entry.name}" in self._places.get(_plain(entry.takes_place_of), ())

    def _hold(self, name: str, place: str) -> bool:
        wanted, globs = self._places.get(name, set[str]()), self._places.get("", set[str]())
        if not place or wanted & {"", place}:
            return bool(wanted)
        return place in globs or matches(place, globs)


def list_manifests(lock: str) -> list[str]:
    """The names of what asks for the packages of a lock file."""
    return [*_BESIDE.get(posixpath.basename(lock).lower(), ())]


def _plain(name: str) -> str:
    return normalise(name, "")[0]


def _read(path: str, text: str) -> Iterator[tuple[str, str]]:
    """(package, place) of all that a manifest asks for.

    Without a package all that is there is meant, and the place may be a glob. It is a path in the repository, an
    address without its scheme, or another package after ``npm:``; empty if any place in the repository is meant.
    """
    folder, name = posixpath.split(path)
    try:
        found = _read_gemfile(text) if name == "Gemfile" else _walk(_load(name, text), (), name == "Pipfile")
        for package, wanted in found:
            yield _plain(package), _find_place(wanted, folder)
    except (ValueError, TypeError, RecursionError):
        return


def _load(name: str, text: str) -> Any:
    if name.endswith(".json"):
        return json.loads(text)
    return load_yaml(text) if name.endswith(".yaml") else tomllib.loads(text)


def _read_gemfile(text: str) -> Iterator[tuple[str, str]]:
    for key, value in _IN_GEMFILE.findall(text):
        yield "", value if key in _SOURCES else f"{key}:{value}"
    if re.search(r"^\s*gemspec\b", text, re.MULTILINE):
        yield "", "."


def _walk(value: Any, keys: tuple[str, ...], asks: bool) -> Iterator[tuple[str, str]]:
    """Packages and places as they are written; what is in a list has the key of the list.

    :param asks: whether packages are asked for here.
    """
    if isinstance(value, Mapping):
        for key, each in value.items():
            below = (*keys, str(key))
            if key not in _NOTES and (keys != ("tool",) or key in _TOOLS):
                yield from _walk(each, below, asks or key in _SECTIONS)
    elif isinstance(value, list):
        for each in value:
            yield from _walk(each, keys, asks)
    elif not asks:
        return
    elif keys[-1:] == ("workspace",) and value is True:
        yield keys[-2], ""
    elif isinstance(value, str) and keys:
        yield from _read_text(value, keys)


def _read_text(value: str, keys: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    key, above = keys[-1], keys[-2] if len(keys) > 1 else ""
    if key in _MEMBERS or "repositories" in keys:
        yield "", value
    elif key in _BUNDLED:
        yield value, ""
    elif key in _SOURCES:
        yield above, value
    elif (above, key) == ("package", "name"):  # of Cargo, whose lock file does not say where
        yield value, ""
    elif written := _IN_WORDS.match(value):
        yield written[1], written[2]
    elif name := _KEY.search(key):
        if _AT_GITHUB.fullmatch(value):
            yield name[1], f"github:{value}"
        elif _ELSEWHERE.match(value):
            yield name[1], value


def _find_place(wanted: str, folder: str) -> str:
    """A place, as all write it alike."""
    if not wanted or _ANYWHERE.match(wanted):
        return ""
    if wanted.startswith("npm:"):
        return re.sub(r"(?<=.)@[^/]*$", "", wanted.removeprefix("npm:")).join(["npm:", ""])
    if wanted.startswith("patch:"):
        wanted = re.sub(r"^(optional!)?(~/)?", "", wanted.partition("#")[2])
    if short := re.match(r"(github|gitlab|bitbucket):(?!/)", wanted):
        wanted = f"https://{short[1]}.{'org' if short[1] == 'bitbucket' else 'com'}/{wanted[short.end() :]}"
    if classify(wanted) != LOCAL and ("://" in wanted or re.match(r"[\w.+-]+@[\w.-]+:", wanted)):
        found = _ADDRESS.match(wanted)
        plain = re.sub("(?<=[^/])@[^/]*$", "", f"{found[1]}/{found[2]}".lower().rstrip("/")) if found else wanted
        forge = _FORGE.fullmatch(plain)
        return forge[1] if forge else plain.removesuffix(".git")
    path = re.sub(r"^(file|link|portal|workspace):(//)?", "", re.split("[#?]|::", wanted)[0])
    return posixpath.normpath(posixpath.join(folder, path))


_AT_RUN_TIME = {
    "pyproject.toml": (("project", "dependencies"), ("tool", "poetry", "dependencies")),
    "cargo.toml": (("dependencies",),),
    "package.json": (("dependencies",),),
    "composer.json": (("require",),),
}
_IN_TEXT = {
    "go.mod": re.compile(r"^(?:require |\t)(\S+) (v\S+)$", re.MULTILINE),
    "setup.cfg": re.compile(r"^install_requires\s*=((?:.*\n)(?:[ \t]+.*\n?)*)", re.MULTILINE),
    "setup.py": re.compile(r"\binstall_requires\s*=\s*\[([^\]]*)\]"),
}
_IN_GEMSPEC = re.compile(r"\.add_(?:runtime_)?dependency\(?\s*[\"']([\w.-]+)[\"'](?:,\s*[\"']([^\"'\n]*))?")
_REQUIREMENT = re.compile(r"^[\s\"']*([A-Za-z][\w.-]*)[ \t]*(?:\[[^\]\n]*\])?[ \t]*([^;#\"'\n]*)", re.MULTILINE)
_PLATFORM = re.compile(r"php$|python$|ext-")


def asks_at_run_time(path: str) -> bool:
    """Whether it is known how a manifest of this name says what its program needs to run."""
    return is_manifest(path) and (path.endswith(".gemspec") or _get_name(path) in {*_AT_RUN_TIME, *_IN_TEXT})


def _get_name(path: str) -> str:
    return posixpath.basename(path).lower()


def list_new_requests(path: str, base: str, head: str) -> tuple[PackageMove, ...]:
    """The packages that a manifest newly asks for at run time, with the versions as they are written."""
    known = {_plain(name) for name, _ in _list_requests(_get_name(path), base)}
    found = sorted({*_list_requests(_get_name(path), head)})
    new = [each for each in found if _plain(each[0]) not in known and not _PLATFORM.match(each[0])]
    return tuple(PackageMove(name=name[:80], after=(" ".join(versions.split())[:40],)) for name, versions in new)


def _list_requests(name: str, text: str) -> list[tuple[str, str]]:
    if name in {"setup.cfg", "setup.py"}:
        return _REQUIREMENT.findall(re.sub(r"[\"'][ \t]*,", "\n", "\n".join(_IN_TEXT[name].findall(text))))
    if name not in _AT_RUN_TIME:
        return _IN_TEXT.get(name, _IN_GEMSPEC).findall(text)
    try:
        table = _load(name, text)
        parts = [reduce(lambda part, key: part.get(key, {}), keys, table) for keys in _AT_RUN_TIME[name]]
        listed = "\n".join(each for part in parts if isinstance(part, list) for each in part)
        named = [pair for part in parts if isinstance(part, Mapping) for pair in part.items()]
        told = [(key, value if isinstance(value, str) else str(value.get("version", ""))) for key, value in named]
    except (ValueError, AttributeError, TypeError, RecursionError):
        return []
    return [*_REQUIREMENT.findall(listed), *told]
