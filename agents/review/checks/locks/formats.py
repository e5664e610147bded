"""Reads the lock files of package managers."""

# What these files hold is of any type; a wrong one makes the file unreadable (`read_entries`).
# pyrefly: ignore-errors[unknown-variable-type, unknown-argument-type]

import posixpath
import re
import tomllib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from configparser import Error as WrongSettings
from configparser import RawConfigParser
from dataclasses import replace
from functools import partial
from typing import Any, cast
from urllib.parse import parse_qsl

from agents.review.checks.locks.entries import (
    BUNDLED,
    GIT,
    LOCAL,
    REGISTRY,
    SOURCE,
    TRUSTED,
    URL,
    LockEntry,
    UnreadableLock,
    classify,
    find_registry,
    is_python_archive,
    list_addresses,
    split_hashes,
)
from agents.review.checks.locks.trees import (
    GEM_SOURCES,
    GemSection,
    Table,
    clean_text,
    load_gemfile,
    load_json,
    load_yaml,
    load_yarn,
)
from domain.paths import is_manifest


def find_reader(path: str) -> Callable[[str], list[LockEntry]] | None:
    """What reads a file of this name; None if nothing does."""
    name = path.rsplit("/", 1)[-1].lower()
    if is_manifest(path) and name.endswith(".txt"):
        return read_requirements
    return _READERS.get(name)


def read_entries(path: str, text: str) -> list[LockEntry]:
    """The packages of a lock file.

    :raises UnreadableLock: it cannot be read.
    """
    reader = find_reader(path)
    if reader is None:
        raise UnreadableLock(path)
    try:
        return reader(clean_text(text))
    except (ValueError, TypeError, KeyError, AttributeError, IndexError, RecursionError, WrongSettings) as error:
        raise UnreadableLock(path) from error


def _items(table: Any) -> Iterator[tuple[str, Table]]:
    for name, entry in (table or {}).items():
        if isinstance(entry, dict):
            yield name, cast(Table, entry)


# --- JavaScript ----------------------------------------------------------------------------------------------------


def _read_npm(text: str) -> list[LockEntry]:
    data = load_json(text)
    if "packages" not in data and "dependencies" not in data:
        raise UnreadableLock("npm")
    old = _walk_npm(data, "")  # older versions of npm install from these
    packages = [*_items(data.get("packages")), *old]
    asked = {pair for _, entry in packages for pair in _list_wanted(entry)}
    return [_build_npm(path, entry, asked) for path, entry in packages if _is_installed(path)]


def _is_installed(path: str) -> bool:
    return "/node_modules/" in f"/{path}"


def _walk_npm(table: Table, path: str) -> Iterator[tuple[str, Table]]:
    for name, entry in _items(table.get("dependencies")):
        below = f"{path}node_modules/{name}"
        yield below, entry
        yield from _walk_npm(entry, f"{below}/")


def _list_wanted(entry: Table) -> Iterator[tuple[str, str]]:
    """(name of a folder, another package) of what an entry asks for."""
    keys = ("dependencies", "devDependencies", "optionalDependencies", "peerDependencies", "requires")
    for table in map(entry.get, keys):
        for folder, wanted in table.items() if isinstance(table, dict) else ():
            if str(wanted).startswith("npm:"):
                yield folder, _split_spec(str(wanted).removeprefix("npm:"))[0]


def _build_npm(path: str, entry: Table, asked: Collection[tuple[str, str]]) -> LockEntry:
    folder, version = path.rsplit("node_modules/", 1)[-1], str(entry.get("version", ""))
    name = str(entry.get("name") or folder)
    name = name if (folder, name) in asked else folder  # what it calls itself, where somebody asks for that
    if version.startswith("npm:"):  # version 1 of the file does not hold what manifests ask for
        name, _, version = version.removeprefix("npm:").rpartition("@")
    address = str(entry.get("resolved") or (version if ":" in version else ""))
    if entry.get("link") and "://" not in address:
        return LockEntry(folder, "", LOCAL, folder=path, place=address)
    if (entry.get("bundled") or entry.get("inBundle")) and not address:
        is_own = path == f"node_modules/{folder}"  # in the repository, not in the archive of another package
        return LockEntry(name, version, LOCAL if is_own else BUNDLED, folder=path)
    kind = classify(address) if address else REGISTRY
    kind, origins = _look_up(kind, "" if address == version else address, name, version)
    if kind == GIT and "#" in address:
        version = address.rsplit("#", 1)[1]
    runs = bool(entry.get("hasInstallScript") or entry.get("requiresBuild"))
    hashes = split_hashes(entry.get("integrity"))
    instead = "" if name == folder else folder
    there = LockEntry(name, version, kind, list_addresses(address), hashes, runs, origins, folder=path)
    return replace(there, takes_place_of=instead, place=address)


def _look_up(kind: str, address: str, name: str, version: str) -> tuple[str, frozenset[str]]:
    """The kind of a package with the registry that serves it at an address, if one does."""
    registry = find_registry(address, name, version) if kind == URL else None
    return (kind, frozenset()) if registry is None else (REGISTRY, frozenset({registry}))


def _read_yarn(text: str) -> list[LockEntry]:
    is_berry = "__metadata:" in text
    if is_berry == ("yarn lockfile v1" in text.lower()):
        raise UnreadableLock("yarn")
    if not is_berry:
        packages, build = load_yarn(text), _build_yarn
    else:
        table = dict(load_yaml(text))
        packages = {tuple(re.split(r" *, *", key)): entry for key, entry in table.items() if key != "__metadata"}
        build = partial(_build_berry, cache=table["__metadata"].get("cacheKey", ""))
    there = [spec for specs in packages for spec in specs]
    if len({*there}) != len(there):
        raise UnreadableLock("the same key twice")
    return [build(specs, entry) for specs, entry in packages.items()]


def _find_target(spec: str) -> str:
    """The name of the package that ``name@^1`` or ``name@npm:other@^1`` asks for."""
    name, wanted = _split_spec(spec)
    other, is_named = _split_spec(wanted.removeprefix("npm:")) if wanted.startswith("npm:") else (name, "")
    return other if is_named else name


def _split_spec(spec: str) -> tuple[str, str]:
    """Name and range of ``@scope/name@^1``."""
    name, _, wanted = spec[1:].partition("@")
    return spec[:1] + name, wanted


def _build_yarn(specs: Sequence[str], fields: Table) -> LockEntry:
    name, wanted = _find_target(specs[0]), _split_spec(specs[0])[1]
    address, _, fragment = str(fields.get("resolved", "")).partition("#")
    version = str(fields["version"])
    kind = classify(address) if address else LOCAL
    is_wanted = re.match(r"(https?|ftp|git):|[\w.-]+/[\w.-]+(#|$)", wanted)
    kind, origins = _look_up(kind, "" if is_wanted or not _ask_for(name, specs) else address, name, version)
    hashes = split_hashes(fields.get("integrity"))
    if kind == GIT or (kind == URL and not re.fullmatch(r"[0-9a-f]{40}", fragment)):
        version = fragment or version
    elif fragment:
        hashes |= {("fragment", fragment)}
    place = address or (wanted if classify(wanted) == LOCAL else "")
    return LockEntry(name, version, kind, list_addresses(address), hashes, origins=origins, place=place)


def _ask_for(name: str, specs: Sequence[str]) -> bool:
    """Whether nothing is asked for but this package."""
    return {*map(_find_target, specs)} == {name}


def _build_berry(specs: Sequence[str], fields: Table, *, cache: str) -> LockEntry:
    name, resolution = _split_spec(str(fields["resolution"]))
    version = str(fields["version"])
    if fields.get("linkType") == "soft":
        return LockEntry(name, version, LOCAL, place=resolution)
    protocol, _, rest = resolution.partition(":")
    key, slash, checksum = str(fields.get("checksum", "")).rpartition("/")
    hashes = frozenset({(key if slash else cache, checksum)} if checksum else ())
    if protocol == "npm":
        bound = parse_qsl(rest.partition("::")[2], keep_blank_values=True)
        address = bound[0][1] if [key for key, _ in bound] == ["__archiveUrl"] else ""
        if "::" in rest and not address:
            return LockEntry(name, version, URL, hashes=hashes)
        is_asked_for = _ask_for(name, specs) and rest.partition("::")[0] == version
        kind, origins = _look_up(URL, address, name, version) if address else (REGISTRY, frozenset[str]())
        kind = kind if is_asked_for else URL
        return LockEntry(name, version, kind, list_addresses(address), hashes, origins=origins)
    if protocol == "patch":  # on top of a package that has an entry of its own
        is_of_yarn = re.fullmatch(r"[^#]*#(optional!|~)?builtin<[\w/-]+>(::.*)?", rest)
        kind = REGISTRY if is_of_yarn else LOCAL
        return LockEntry(name, f"{version} {resolution}", kind, hashes=hashes, place=resolution)
    kind = GIT if "commit=" in resolution else classify(resolution)
    version = version if kind == LOCAL else resolution.rsplit("#", 1)[-1]
    return LockEntry(name, version, kind, list_addresses(resolution), hashes, place=resolution)


def _read_pnpm(text: str) -> list[LockEntry]:
    data = load_yaml(text)
    packages, snapshots = dict(_items(data.get("packages"))), dict(_items(data.get("snapshots")))
    if "lockfileVersion" not in data or not {_drop_peers(key) for key in snapshots} <= packages.keys():
        raise UnreadableLock("pnpm")
    return [_build_pnpm(key, entry) for key, entry in packages.items()]


_PNPM_KEY = re.compile(r"/?(?P<name>(?:@[^/]+/)?[^/@(]+)(?:/(?=\d)|@)(?P<version>[^_(]+)")


def _drop_peers(key: str) -> str:
    return key.partition("(")[0] if "://" not in key.partition("(")[0] else key


def _build_pnpm(key: str, entry: Table) -> LockEntry:
    """A package, of which the entry itself has the last word, as for pnpm."""
    found, said = _PNPM_KEY.match(key), cast(Table, entry["resolution"])
    name, asked = (
        (found["name"], key[found.start("version") :] if "://" in key else found["version"]) if found else (key, key)
    )
    name, version = str(entry.get("name") or name), str(entry.get("version") or asked)
    runs = entry.get("requiresBuild") == "true"
    address = str(said.get("tarball") or said.get("repo") or (asked if "://" in asked else ""))
    if "commit" in said:
        return LockEntry(name, said["commit"], GIT, list_addresses(address), runs_scripts=runs)
    places = [f"file:{said['directory']}"] if "directory" in said else [address, asked]
    if local := [each for each in places if each.startswith(("file:", "link:"))]:
        return LockEntry(name, version, LOCAL, runs_scripts=runs, place=local[0])
    kind = URL if "://" in key or address else REGISTRY
    kind, origins = _look_up(kind, "" if "://" in key else address, name, version)
    return LockEntry(name, version, kind, list_addresses(address), split_hashes(said.get("integrity")), runs, origins)


# --- Python, Rust ----------------------------------------------------------------------------------------------------


def _read_toml(text: str) -> list[LockEntry]:
    data = tomllib.loads(text)
    if not {"version", "package", "metadata"} & data.keys():
        raise UnreadableLock("toml")
    files = dict(_to_lists((data.get("metadata") or {}).get("files")))
    return [_build_toml(entry, files) for entry in data.get("package") or []]


def _to_lists(table: Any) -> Iterator[tuple[str, list[Table]]]:
    for name, entries in (table or {}).items():
        if isinstance(entries, list):
            yield name.lower(), cast(list[Table], entries)


def _build_toml(entry: Table, files: Mapping[str, list[Table]]) -> LockEntry:
    name, version = str(entry["name"]), str(entry.get("version", ""))
    source = entry.get("source")
    apart = files.get(f"{name} {version}".lower()) or files.get(name.lower())
    archives = [*(entry.get("files") or apart or ()), *(entry.get("wheels") or ())]
    archives += [entry["sdist"]] if isinstance(entry.get("sdist"), dict) else []
    hashes = {tuple(str(each["hash"]).partition(":")[::2]) for each in archives if each.get("hash")}
    if entry.get("checksum"):
        hashes.add(("checksum", str(entry["checksum"])))
    kind, address, commit = _find_toml_source(entry, source, has_hashes=bool(hashes))
    urls = [str(each["url"]) for each in archives if each.get("url")]
    addresses = list_addresses(address, *urls)
    if kind == REGISTRY and not all(is_python_archive(each, name, version) for each in urls):
        kind = URL
    origins = list_addresses(address) if kind == REGISTRY else frozenset[str]()
    found = frozenset(cast(set[tuple[str, str]], hashes))
    names, place = _list_files(archives), address if kind == LOCAL else ""
    return LockEntry(name, commit or version, kind, addresses, found, origins=origins, files=names, place=place)


def _list_files(archives: Sequence[Table]) -> frozenset[tuple[str, str, str]]:
    """(name, algorithm, value) of the archives that have a name."""
    found: set[tuple[str, str, str]] = set()
    for each in archives:
        name = posixpath.basename(re.split(r"[?#]", str(each.get("file") or each.get("url") or ""))[0])
        algorithm, _, value = str(each.get("hash") or "").partition(":")
        if name and value:
            found.add((name, algorithm, value))
    return frozenset(found)


def _find_toml_source(entry: Table, source: Any, *, has_hashes: bool) -> tuple[str, str, str]:
    """Kind, address and commit of a package."""
    if isinstance(source, str):  # Cargo
        is_git = source.startswith("git+")
        return (GIT if is_git else REGISTRY), source.split("#")[0], source.rpartition("#")[2] if is_git else ""
    table: Table = source if isinstance(source, dict) else entry
    for key in ("git", "registry", "url", "path", "directory", "editable", "virtual"):
        if key in table and not (key == "url" and "type" in table):
            value = str(table[key])
            commit = str(table.get("revision") or value.rpartition("#")[2]) if key == "git" else ""
            kind = {"git": GIT, "registry": REGISTRY, "url": URL}.get(key, LOCAL)
            return kind, value.split("#")[0], commit
    if "type" in table:  # Poetry
        kind = {"git": GIT, "url": URL, "file": LOCAL, "directory": LOCAL}.get(str(table["type"]), REGISTRY)
        return kind, str(table.get("url", "")), str(table.get("resolved_reference", "")) if kind == GIT else ""
    return (REGISTRY if has_hashes or "files" in entry else LOCAL), "", ""


def _read_pipfile(text: str) -> list[LockEntry]:
    data = load_json(text)
    sources = data["_meta"].get("sources") or []
    found = [LockEntry(str(each.get("name", "")), "", SOURCE, list_addresses(each.get("url"))) for each in sources]
    for section, packages in _items(data):
        if section != "_meta":
            found += [_build_pipfile(name, entry) for name, entry in _items(packages)]
    return found


def _build_pipfile(name: str, entry: Table) -> LockEntry:
    hashes = frozenset(cast(tuple[str, str], str(each).partition(":")[::2]) for each in entry.get("hashes") or [])
    version = str(entry.get("version", "")).lstrip("=")
    if "git" in entry:
        return LockEntry(name, str(entry.get("ref", "")), GIT, list_addresses(entry["git"]))
    if "file" in entry:
        return LockEntry(name, version, URL, list_addresses(entry["file"]), hashes)
    place = str(entry.get("path") or "")
    return LockEntry(name, version, LOCAL if place else REGISTRY, frozenset(), hashes, place=place)


_REQUIREMENT = re.compile(r"^([\w.\[\],-]+?)(?:\[[^\]]*\])?\s*===?\s*([^\s;\\]+)(.*)$")
_DIRECT = re.compile(
    r"^(?:-e |--editable[= ])?\s*(?:(?P<name>[\w.-]+)(?:\[[^\]]*\])?\s*@\s*)?(?P<address>(?:[a-z]+\+)?[a-z]+://[^\s;]+)(?P<rest>.*)$"
)
_HASH = re.compile(r"--hash[= ](\w+):(\w+)")
_OPTIONS = re.compile(r"(?!-e|--editable)--?[A-Za-z]")
_INDEX = re.compile(r"""(?:^|\s)--?[A-Za-z][A-Za-z-]*?[= ]*["']?([A-Za-z+]+://[^\s"']+)""")
"""An option that names an address, in any form that pip takes."""
_TRUSTED = re.compile(r"""(?:^|\s)--t[a-z-]*(?:=|\s)\s*["']?([^\s"']+)""")


def read_requirements(text: str) -> list[LockEntry]:
    """The pinned packages of a list of requirements, and the indexes that it names."""
    found: list[LockEntry] = []
    whole = re.sub(r"^[ \t]*#.*", "", text, flags=re.MULTILINE)  # which ends where its line does, whatever is its end
    for line in re.sub(r"\\\n", " ", whole).split("\n"):
        line = re.sub(r"(^|\s)#.*", "", line).strip()
        if _OPTIONS.match(line):
            found += [LockEntry("", "", SOURCE, list_addresses(each)) for each in _INDEX.findall(line)]
            found += map(_trust, _TRUSTED.findall(line))
        elif pinned := _REQUIREMENT.match(line):
            hashes = frozenset(_HASH.findall(pinned[3]))
            found.append(LockEntry(pinned[1], pinned[2], REGISTRY, frozenset(), hashes))
        elif direct := _DIRECT.match(line):
            address, _, fragment = direct["address"].partition("#")
            egg = re.search(r"egg=([\w.-]+)", fragment)
            by_option = _HASH.findall(direct["rest"])
            hashes = frozenset([*re.findall(r"(\w+)=(\w{32,})", fragment), *by_option])
            name = direct["name"] or (egg[1] if egg else address.rpartition("/")[2])
            found.append(LockEntry(name, address, classify(address), list_addresses(address), hashes))
    return found


def _trust(host: str) -> LockEntry:
    return LockEntry("", "", TRUSTED, origins=frozenset({host.lower()}))


def _read_pip_settings(text: str) -> list[LockEntry]:
    """The indexes and the trusted hosts that a configuration of pip names."""
    parser = RawConfigParser(delimiters=("=", ":"))
    parser.read_string(text)
    said = [(key.replace("_", "-"), value.split()) for name in parser.sections() for key, value in parser.items(name)]
    indexes = [each for key, values in said if key != "trusted-host" for each in values if "://" in each]
    trusted = [each for key, values in said if key == "trusted-host" for each in values]
    return [*(LockEntry("", "", SOURCE, list_addresses(each)) for each in indexes), *map(_trust, trusted)]


# --- others ----------------------------------------------------------------------------------------------------------


def _read_go(text: str) -> list[LockEntry]:
    rows = [re.fullmatch(r"(\S+) (\S+) (h1:\S+)", line) for line in text.removesuffix("\n").split("\n")]
    if None in rows or len({row.group(1, 2) for row in rows if row}) != len(rows):
        raise UnreadableLock("go")
    return [_build_go(*row.group(1, 2, 3)) for row in rows if row]


def _build_go(module: str, version: str, value: str) -> LockEntry:
    """A module, or its file ``go.mod`` alone, which has a hash of its own."""
    algorithm, _, digest = value.partition(":")
    plain, slash, file = version.partition("/")
    return LockEntry(module, plain, REGISTRY, frozenset(), frozenset({(f"{algorithm}{slash}{file}", digest)}))


def _read_composer(text: str) -> list[LockEntry]:
    data = load_json(text)
    packages = [*data["packages"], *(data.get("packages-dev") or [])]
    return [_build_composer(cast(Table, entry)) for entry in packages]


def _build_composer(entry: Table) -> LockEntry:
    dist, source = cast(Table, entry.get("dist") or {}), cast(Table, entry.get("source") or {})
    name, version = str(entry["name"]), str(entry["version"])
    commit = str(dist.get("reference") or source.get("reference") or "")
    is_moving = version.startswith("dev-") or version.endswith("-dev")
    if dist.get("type") == "path":
        return LockEntry(name, version, LOCAL, place=str(dist.get("url") or ""))
    hashes = {("sha1", str(dist["shasum"]))} if dist.get("shasum") else set[tuple[str, str]]()
    hashes |= {("commit", str(each["reference"])) for each in (dist, source) if each.get("reference")}
    addresses = list_addresses(dist.get("url"), source.get("url"))
    origins = frozenset(each.replace(commit, "") if commit else each for each in addresses)
    runs = entry.get("type") == "composer-plugin"
    version = f"{version} {commit}" if is_moving else version
    return LockEntry(name, version, REGISTRY, addresses, frozenset(hashes), runs, origins)


def _read_gemfile(text: str) -> list[LockEntry]:
    sections = load_gemfile(text)
    sums: dict[tuple[str, str], set[tuple[str, str]]] = {}
    for gem, version, said in (
        _match_sum(line) for each in sections if each.name == "CHECKSUMS" for line in each.lines
    ):
        sums.setdefault((gem, version), set()).update(re.findall(r"(\w+)=(\w+)", said))
    found: list[LockEntry] = []
    for section in (each for each in sections if each.name in GEM_SOURCES):
        empty = [] if section.specs else [LockEntry(section.name, "", SOURCE, list_addresses(*section.remotes))]
        found += [*empty, *_read_gems(section, sums)]
    return found


def _match_sum(line: str) -> tuple[str, str, str]:
    found = re.fullmatch(r"  ([\w.-]+) \(([\w.-]+)\)((?: \w+=\w+(?:,\w+=\w+)*)?)", line)
    if found is None:
        raise UnreadableLock("bundler")
    return found[1], found[2], found[3]


_GEM_KINDS = {"GEM": REGISTRY, "GIT": GIT, "PATH": LOCAL}


def _read_gems(section: GemSection, sums: Mapping[tuple[str, str], set[tuple[str, str]]]) -> Iterator[LockEntry]:
    kind = _GEM_KINDS[section.name]
    revision = dict(section.options).get("revision")
    for name, version in section.specs:
        plain = re.sub(r"-(?=[a-z])[\w-]+$", "", version) if kind == REGISTRY else version  # without its platform
        hashes = frozenset((f"{key} {version}", value) for key, value in sums.get((name, version), ()))
        exact = f"{version} {revision}" if revision else plain
        addresses = list_addresses(*(section.remotes if kind != LOCAL else ()))
        origins = addresses if kind == REGISTRY else frozenset[str]()
        place = "".join(section.remotes[:1]) if kind == LOCAL else ""
        yield LockEntry(name, exact, kind, addresses, hashes, origins=origins, place=place)


def _read_nuget(text: str) -> list[LockEntry]:
    data = load_json(text)
    packages = (pair for _, each in _items(data["dependencies"]) for pair in _items(each))
    return [_build_nuget(name, entry) for name, entry in packages if entry.get("type") != "Project"]


def _build_nuget(name: str, entry: Table) -> LockEntry:
    hashes = frozenset({("content", str(entry["contentHash"]))} if entry.get("contentHash") else ())
    return LockEntry(name, str(entry.get("resolved", "")), REGISTRY, frozenset(), hashes)


_READERS: Mapping[str, Callable[[str], list[LockEntry]]] = {
    "package-lock.json": _read_npm,
    "npm-shrinkwrap.json": _read_npm,
    "yarn.lock": _read_yarn,
    "pnpm-lock.yaml": _read_pnpm,
    "cargo.lock": _read_toml,
    "poetry.lock": _read_toml,
    "uv.lock": _read_toml,
    "pdm.lock": _read_toml,
    "pipfile.lock": _read_pipfile,
    "pip.conf": _read_pip_settings,
    "pip.ini": _read_pip_settings,
    "go.sum": _read_go,
    "composer.lock": _read_composer,
    "gemfile.lock": _read_gemfile,
    "packages.lock.json": _read_nuget,
}
