"""Reads the lock files of package managers."""

# What these files hold is of any type; a wrong one makes the file unreadable (`read_entries`).
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false, reportUnknownParameterType=false

import json
import re
import tomllib
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, cast
from urllib.parse import parse_qsl

from agents.review.checks.locks.archives import find_registry, is_python_archive
from agents.review.checks.locks.entries import (
    GIT,
    LOCAL,
    REGISTRY,
    SOURCE,
    URL,
    LockEntry,
    UnreadableLock,
    classify,
    list_addresses,
    name_alias,
    normalise,
    split_hashes,
)
from agents.review.checks.locks.trees import (
    GEM_DEPENDENCY,
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
    except (ValueError, TypeError, KeyError, AttributeError, IndexError, RecursionError) as error:
        raise UnreadableLock(path) from error


def _items(table: Any) -> Iterator[tuple[str, Table]]:
    for name, entry in (table or {}).items():
        if isinstance(entry, dict):
            yield name, cast(Table, entry)


# --- what an entry says besides ------------------------------------------------------------------------------------

_REQUESTS = ("dependencies", "devDependencies", "optionalDependencies", "peerDependencies", "requires", "extras")
_RANGE = re.compile(r"(?:npm:(?=[\d^~<>=*v]))?(?!\.)[\w.*^~<>=!|&,;()'\" +\[\]-]*")


def _tell(table: Table, *taken: str, **more: Any) -> str:
    """What a table says besides what is read of it, as a text; empty if that is nothing.

    Of what it asks for only the unusual is told: ranges of versions lead to packages that the file names, too.
    """
    said = {key: value for key, value in table.items() if key not in {*taken, *_REQUESTS}}
    said |= {key: _reduce(table.get(key)) for key in _REQUESTS if key not in taken} | more
    return _write({key: value for key, value in said.items() if value not in (None, "", False, [], {})})


def _write(said: Any) -> str:
    return json.dumps(said, sort_keys=True) if said else ""


def _tell_rest(name: str, effects: str, *addresses: object) -> list[LockEntry]:
    """What a file says besides its packages, which stays the same in an update."""
    return [LockEntry(name, "", SOURCE, list_addresses(*addresses), effects=effects)] if effects else []


def _reduce(asked: Any) -> Any:
    """What is asked for, without all that is no more than a name or a range of versions."""
    if isinstance(asked, dict):
        return {key: left for key, value in asked.items() if (left := _reduce(value))}
    if isinstance(asked, list):
        return [left for value in asked if (left := _reduce(value))]
    return None if isinstance(asked, bool) or _RANGE.fullmatch(str(asked or "")) else asked


def _list_missing(needs: Iterable[str], there: Container[str]) -> list[LockEntry]:
    """What is asked for and is not in the file, so that a package manager may look for it by itself."""
    return [LockEntry(f"{need} is missing", "", SOURCE) for need in dict.fromkeys(needs) if need not in there]


# --- JavaScript ----------------------------------------------------------------------------------------------------


def _read_npm(text: str) -> list[LockEntry]:
    data = load_json(text)
    if "packages" not in data and "dependencies" not in data:
        raise UnreadableLock("npm")
    packages = dict(_items(data.get("packages")))
    old = dict(_walk_npm(data, ""))  # older versions of npm install from the second
    found = _tell_rest("npm", _tell(data, "packages", "version", *_REQUESTS))
    for path, entry in packages.items():
        if "/node_modules/" in f"/{path}":
            found += _build_npm(path, entry, _tell(entry, *_NPM_TOLD))
        else:
            found += _tell_rest(f"./{path}", _tell(entry, *_NPM_TOLD, place=path))
    for path, entry in old.items():
        found += _build_npm(path, entry, _tell(entry, "dependencies", "bundled", *_NPM_TOLD))
    for tree, keys in ((packages, _NPM_NEEDS), (old, ("requires",))):
        for path, entry in tree.items():
            found += _list_missing(_list_npm_needs(path, entry, keys, tree), ())
    return found


_NPM_NEEDS = ("dependencies", "optionalDependencies", "peerDependencies")
_NPM_TOLD = (
    *(
        "name",
        "version",
        "resolved",
        "integrity",
        "hasInstallScript",
        "requiresBuild",
        "inBundle",
        "engines",
        "license",
    ),
    *("funding", "deprecated", "dev", "devOptional", "optional", "peer", "peerDependenciesMeta"),
)


def _list_npm_needs(path: str, entry: Table, keys: Sequence[str], tree: Table) -> Iterator[str]:
    """The names that an entry asks for and that are in no folder above it."""
    above = path.split("/node_modules/") if path else []
    places = ["/node_modules/".join([*above[:count], ""]) for count in range(len(above), 0, -1)]
    places += ["node_modules/"]
    optional = {name for name, meta in _items(entry.get("peerDependenciesMeta")) if meta.get("optional")}
    for key in keys:
        for name in entry.get(key) or () if isinstance(entry.get(key), dict) else ():
            if name not in optional and not any(f"{place}{name}" in tree for place in places):
                yield f"{path.rpartition('node_modules/')[2]} {name}"


def _walk_npm(table: Table, path: str) -> Iterator[tuple[str, Table]]:
    for name, entry in _items(table.get("dependencies")):
        below = f"{path}node_modules/{name}"
        yield below, entry
        yield from _walk_npm(entry, f"{below}/")


def _build_npm(path: str, entry: Table, effects: str) -> list[LockEntry]:
    installed = path.rsplit("node_modules/", 1)[-1]
    name, version = str(entry.get("name") or installed), str(entry.get("version", ""))
    if version.startswith("npm:"):  # another package under this name
        name, _, version = version.removeprefix("npm:").rpartition("@")
    address = str(entry.get("resolved") or (version if ":" in version else ""))
    if entry.get("link") or entry.get("bundled") or entry.get("inBundle"):
        kind, effects = LOCAL, f"{effects} {address}"
    else:
        kind = classify(address) if address else REGISTRY
    kind, origins = _look_up(kind, "" if address == version else address, name, version)
    if kind == GIT and "#" in address:
        version = address.rsplit("#", 1)[1]
    runs = bool(entry.get("hasInstallScript") or entry.get("requiresBuild"))
    hashes = split_hashes(entry.get("integrity"))
    addresses = list_addresses(address)
    found = LockEntry(name, version, kind, addresses, hashes, runs, origins, effects, frozenset({path}))
    return [found, *name_alias(installed, name)]


def _look_up(kind: str, address: str, name: str, version: str) -> tuple[str, frozenset[str]]:
    """The kind of a package with the registry that serves it at an address, if one does."""
    registry = find_registry(address, name, version) if kind == URL else None
    return (kind, frozenset()) if registry is None else (REGISTRY, frozenset({registry}))


def _read_yarn(text: str) -> list[LockEntry]:
    is_berry = "__metadata:" in text
    if is_berry == ("yarn lockfile v1" in text.lower()):
        raise UnreadableLock("yarn")
    if not is_berry:
        packages, found = load_yarn(text), list[LockEntry]()
        build = _build_yarn
    else:
        table = dict(load_yaml(text))
        metadata = table.pop("__metadata")
        packages = {tuple(re.split(r" *, *", key)): entry for key, entry in table.items()}
        found = _tell_rest("yarn", _tell(metadata))
        build = partial(_build_berry, cache=metadata.get("cacheKey", ""))
    there = [spec for specs in packages for spec in specs]
    if len({*there}) != len(there):
        raise UnreadableLock("the same key twice")
    needs = (
        need if need in there_too else f"{name}@npm:{wanted}" if is_berry and ":" not in wanted else need
        for there_too in ({*there},)
        for entry in packages.values()
        for key in ("dependencies", "optionalDependencies")
        for name, wanted in (entry.get(key) or {}).items()
        for need in (f"{name}@{wanted}",)
    )
    found += _list_missing(needs, {*there})
    return [*found, *(built for specs, entry in packages.items() for built in build(specs, entry))]


def _list_aliases(specs: Sequence[str]) -> list[LockEntry]:
    return [alias for spec in specs for alias in name_alias(_split_spec(spec)[0], _find_target(spec))]


def _find_target(spec: str) -> str:
    """The name of the package that ``name@^1`` or ``name@npm:other@^1`` asks for."""
    name, wanted = _split_spec(spec)
    other, is_named = _split_spec(wanted.removeprefix("npm:")) if wanted.startswith("npm:") else (name, "")
    return other if is_named else name


def _split_spec(spec: str) -> tuple[str, str]:
    """Name and range of ``@scope/name@^1``."""
    name, _, wanted = spec[1:].partition("@")
    return spec[:1] + name, wanted


def _build_yarn(specs: Sequence[str], fields: Table) -> list[LockEntry]:
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
    effects = _tell(fields, "version", "resolved", "integrity")
    addresses, places = list_addresses(address), frozenset(specs)
    found = LockEntry(name, version, kind, addresses, hashes, False, origins, effects, places)
    return [found, *_list_aliases(specs)]


def _ask_for(name: str, specs: Sequence[str]) -> bool:
    """Whether nothing is asked for but this package."""
    return {*map(_find_target, specs)} == {name}


def _build_berry(specs: Sequence[str], fields: Table, *, cache: str) -> list[LockEntry]:
    found = _build_berry_entry(specs, fields, cache)
    told = {"languageName": "node", "linkType": "hard"}
    usual = [key for key, value in told.items() if fields.get(key) == value]
    effects = _tell(fields, *_BERRY_TOLD, *usual, resolution=fields["resolution"] if found.kind == LOCAL else None)
    return [replace(found, places=frozenset(specs), effects=effects), *_list_aliases(specs)]


_BERRY_TOLD = ("version", "resolution", "checksum", "dependenciesMeta", "peerDependencies", "peerDependenciesMeta")


def _build_berry_entry(specs: Sequence[str], fields: Table, cache: str) -> LockEntry:
    name, resolution = _split_spec(str(fields["resolution"]))
    version = str(fields["version"])
    if fields.get("linkType") == "soft":
        return LockEntry(name, version, LOCAL)
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
    if protocol == "patch":  # a file of the repository, on top of a package that has an entry of its own
        return LockEntry(name, f"{version} {resolution}", LOCAL, hashes=hashes)
    kind = GIT if "commit=" in resolution else classify(resolution)
    return LockEntry(name, resolution.rsplit("#", 1)[-1], kind, list_addresses(resolution), hashes)


def _read_pnpm(text: str) -> list[LockEntry]:
    data = load_yaml(text)
    packages, snapshots = dict(_items(data.get("packages"))), dict(_items(data.get("snapshots")))
    if "lockfileVersion" not in data or not {_drop_peers(key) for key in snapshots} <= packages.keys():
        raise UnreadableLock("pnpm")
    importers = dict(_items(data.get("importers") or {".": data}))
    found = _tell_rest("pnpm", _tell(data, "packages", "snapshots", "importers", "time", *_PNPM_KEPT, "catalogs"))
    found += _tell_rest("catalogs", _write(_reduce(data.get("catalogs"))))
    there, places = snapshots or packages, dict[str, set[str]]()
    for owner, entry in importers.items():
        if data.get("importers"):
            found += _tell_rest(f"./{owner}", _tell(entry, *_PNPM_KEPT))
    for owner, entry in (*importers.items(), *packages.items(), *snapshots.items()):
        for key in ("dependencies", "devDependencies", "optionalDependencies"):
            for name, said in (entry.get(key) or {}).items():
                ref = str(said["version"] if isinstance(said, dict) else said)
                target, more = _follow_pnpm(name, ref, there)
                found += more
                if owner in importers:
                    places.setdefault(_drop_peers(target), set()).add(f"{owner} {name}")
                    found += _tell_rest(name, _write(_reduce(said.get("specifier")))) if isinstance(said, dict) else []
    for key, entry in snapshots.items():
        found += _tell_rest(_drop_peers(key), _tell(entry, "transitivePeerDependencies", "optional", *_PNPM_KEPT))
    built = (_build_pnpm(key, entry) for key, entry in packages.items())
    return [
        *found,
        *(replace(each, places=frozenset(places.get(key, ()))) for key, each in zip(packages, built, strict=True)),
    ]


_PNPM_KEPT = ("dependencies", "devDependencies", "optionalDependencies", "specifiers", "peerDependencies")
_PNPM_TOLD = (
    *("engines", "deprecated", "dev", "optional", "peerDependenciesMeta", "transitivePeerDependencies", "resolution"),
    *("requiresBuild", "name", "version"),
)


def _drop_peers(key: str) -> str:
    return key.partition("(")[0] if "://" not in key.partition("(")[0] else key


def _follow_pnpm(name: str, ref: str, there: Container[str]) -> tuple[str, list[LockEntry]]:
    """The package that is meant by a name and what stands beside it; and what is unusual about that."""
    if own := [key for key in (f"{name}@{ref}", f"/{name}@{ref}", f"/{name}/{ref}") if key in there]:
        return own[0], []
    other = [key for key in (ref, f"/{ref}") if key in there]
    target = _split_pnpm(other[0])[0] if other else ref
    return other[0] if other else ref, name_alias(name, target)


def _split_pnpm(key: str) -> tuple[str, str]:
    spec = re.split(r"[(_]", key.lstrip("/"))[0] if "://" not in key else key
    name, version = _split_spec(spec)
    return (name, version) if version else (spec.rpartition("/")[0], spec.rpartition("/")[2])


def _build_pnpm(key: str, entry: Table) -> LockEntry:
    name, version = _split_pnpm(key)
    name = str(entry.get("name") or name)
    said = cast(Table, entry["resolution"])
    effects = _tell(entry, *_PNPM_TOLD, *_PNPM_KEPT, resolution=_tell(said, *_PNPM_WHENCE))
    runs = entry.get("requiresBuild") == "true"
    address = str(said.get("tarball") or said.get("repo") or (version if "://" in version else ""))
    if "commit" in said:
        return LockEntry(name, said["commit"], GIT, list_addresses(address), runs_scripts=runs, effects=effects)
    if "directory" in said or version.startswith(("file:", "link:")):
        return LockEntry(name, version, LOCAL, effects=f"{effects} {said.get('directory')}")
    kind = URL if "://" in key or address else REGISTRY
    kind, origins = _look_up(kind, "" if "://" in key else address, name, version)
    hashes = split_hashes(said.get("integrity"))
    return LockEntry(name, version, kind, list_addresses(address), hashes, runs, origins, effects)


_PNPM_WHENCE = ("integrity", "tarball", "commit", "repo", "directory")


# --- Python, Rust ----------------------------------------------------------------------------------------------------


def _read_toml(text: str) -> list[LockEntry]:
    data = tomllib.loads(text)
    if not {"version", "package", "metadata"} & data.keys():
        raise UnreadableLock("toml")
    metadata = cast(Table, data.get("metadata") or {})
    files = dict(_to_lists(metadata.get("files")))
    found = _tell_rest(
        "toml", _tell(data, "package", metadata=_tell(metadata, "files", "content-hash", "content_hash"))
    )
    packages: list[Table] = data.get("package") or []
    there = {normalise(str(each["name"]), "")[0] for each in packages}
    for entry in packages:
        asked = [value for key, value in entry.items() if key in _TOML_REQUESTS]
        found += [_build_toml(entry, files), *_list_missing(_list_names(asked), there)]
    return found


_TOML_REQUESTS = ("dependencies", "optional-dependencies", "dev-dependencies")
_TOML_TOLD = (
    *("name", "version", "source", "checksum", "files", "wheels", "sdist", "optional-dependencies"),
    *("dev-dependencies", "metadata", "description", "summary", "category", "optional", "groups", "python-versions"),
    "requires_python",
)
_ARCHIVE = ("url", "file", "hash", "size", "upload-time")


def _list_names(asked: Any) -> Iterator[str]:
    """The names, written alike, in ``["left >= 1"]``, ``[{name = "left"}]``, ``{left = ">=1"}`` or a table of lists."""
    if isinstance(asked, str):
        yield normalise(re.split(r"[^\w.-]", asked)[0], "")[0]
    elif isinstance(asked, list):
        yield from (name for each in asked for name in _list_names(each))
    elif "name" in asked:
        yield from _list_names(asked["name"])
    else:
        lists = [each for each in asked.values() if isinstance(each, list) and all("name" in one for one in each)]
        yield from _list_names(lists or list(asked))


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
    odd = [left for each in archives if (left := _tell(each, *_ARCHIVE))]
    more = {key: _reduce(entry.get(key)) for key in ("optional-dependencies", "dev-dependencies", "metadata")}
    whence = source if kind == LOCAL or (isinstance(source, dict) and len(source) > 1) else None
    effects = _tell(entry, *_TOML_TOLD, archives=odd, whence=whence, **more)
    return LockEntry(name, commit or version, kind, addresses, found, origins=origins, effects=effects)


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
    found = _tell_rest("pipenv", _tell(data["_meta"], "hash"))
    for each in data["_meta"].get("sources") or []:
        found += _tell_rest(str(each.get("name", "")), _write(each), each.get("url"))
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
    effects = _tell(entry, "hashes", "version", markers=_reduce(entry.get("markers")))
    return LockEntry(name, version, LOCAL if "path" in entry else REGISTRY, frozenset(), hashes, effects=effects)


_REQUIREMENT = re.compile(r"^([\w.\[\],-]+?)(?:\[[^\]]*\])?\s*===?\s*([^\s;\\]+)(.*)$")
_DIRECT = re.compile(
    r"^(?:-e |--editable[= ])?\s*(?:(?P<name>[\w.-]+)(?:\[[^\]]*\])?\s*@\s*)?(?P<address>(?:[a-z]+\+)?[a-z]+://[^\s;]+)(?P<rest>.*)$"
)
_HASH = re.compile(r"--hash[= ](\w+):(\w+)")
_INDEX = re.compile(r"^(?:-i|-f|--(?:extra-)?index-url|--find-links)[= ]\s*(\S+)")


def read_requirements(text: str) -> list[LockEntry]:
    """The pinned packages of a list of requirements, the indexes that it names, and all else that it says, as it is."""
    found: list[LockEntry] = []
    whole = re.sub(r"^[ \t]*#.*", "", text, flags=re.MULTILINE)  # which ends where its line does, whatever is its end
    for line in re.sub(r"\\\n", " ", whole).split("\n"):
        line = re.sub(r"(^|\s)#.*", "", line).strip()
        if index := _INDEX.match(line):
            found.append(LockEntry("", "", SOURCE, list_addresses(index[1])))
        elif pinned := _REQUIREMENT.match(line):
            hashes = frozenset(_HASH.findall(pinned[3]))
            found.append(LockEntry(pinned[1], pinned[2], REGISTRY, frozenset(), hashes))
            if options := " ".join(_HASH.sub("", pinned[3]).split()):  # a marker, or what the installer is told
                found.append(LockEntry(f"{pinned[1]} {options}", "", SOURCE))
        elif direct := _DIRECT.match(line):
            address, _, fragment = direct["address"].partition("#")
            egg = re.search(r"egg=([\w.-]+)", fragment)
            by_option = _HASH.findall(direct["rest"])
            hashes = frozenset([*re.findall(r"(\w+)=(\w{32,})", fragment), *by_option])
            name = direct["name"] or (egg[1] if egg else address.rpartition("/")[2])
            found.append(LockEntry(name, address, classify(address), list_addresses(address), hashes))
        elif line:
            found.append(LockEntry(line, "", SOURCE))
    return found


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
    rest = _tell(data, "_readme", "content-hash", "packages", "packages-dev", "plugin-api-version")
    return [*_tell_rest("composer", rest), *(_build_composer(cast(Table, entry)) for entry in packages)]


_ABOUT = {
    "abandoned",
    "authors",
    "conflict",
    "description",
    "dist",
    "funding",
    "homepage",
    "keywords",
    "license",
    "name",
    "notification-url",
    "require",
    "require-dev",
    "source",
    "suggest",
    "support",
    "time",
    "version",
    "version_normalized",
}
"""What a package says of itself that Composer does not act on, or that is part of an entry by itself."""
_WHENCE = {"url", "reference", "shasum"}


def _build_composer(entry: Table) -> LockEntry:
    dist, source = cast(Table, entry.get("dist") or {}), cast(Table, entry.get("source") or {})
    version = str(entry["version"])
    commit = str(dist.get("reference") or source.get("reference") or "")
    is_moving = version.startswith("dev-") or version.endswith("-dev")
    if dist.get("type") == "path":
        return LockEntry(str(entry["name"]), version, LOCAL, effects=_write([_list_effects(entry, dist, source), dist]))
    hashes = {("sha1", str(dist["shasum"]))} if dist.get("shasum") else set[tuple[str, str]]()
    hashes |= {("commit", str(each["reference"])) for each in (dist, source) if each.get("reference")}
    addresses = list_addresses(dist.get("url"), source.get("url"))
    origins = frozenset(each.replace(commit, "") if commit else each for each in addresses)
    runs = entry.get("type") == "composer-plugin"
    version = f"{version} {commit}" if is_moving else version
    effects = _list_effects(entry, dist, source)
    return LockEntry(str(entry["name"]), version, REGISTRY, addresses, frozenset(hashes), runs, origins, effects)


def _list_effects(entry: Table, dist: Table, source: Table) -> str:
    """What Composer takes from the entry and not from the package: its autoloader, programs, mirrors."""
    said = {key: value for key, value in entry.items() if key not in _ABOUT}
    if isinstance(extra := said.get("extra"), dict):
        said["extra"] = {key: value for key, value in extra.items() if key != "branch-alias"}  # names a version
    whence = [{key: value for key, value in each.items() if key not in _WHENCE} for each in (dist, source)]
    return json.dumps([said, whence], sort_keys=True)


def _read_gemfile(text: str) -> list[LockEntry]:
    sections = load_gemfile(text)
    sources = [each for each in sections if each.name in GEM_SOURCES]
    names = {name for each in sources for name, _ in each.specs}
    found: list[LockEntry] = []
    sums: dict[tuple[str, str], set[tuple[str, str]]] = {}
    for section in sections:
        if section.name == "CHECKSUMS":
            for gem, version, said in (_match_sum(line) for line in section.lines):
                sums.setdefault((gem, version), set()).update(re.findall(r"(\w+)=(\w+)", said))
        elif section.name == "DEPENDENCIES":
            asked = [GEM_DEPENDENCY.fullmatch(line) for line in section.lines]
            found += _list_missing((each[1] for each in asked if each), names)
            said = [(each[1], each[3]) if each else line for each, line in zip(asked, section.lines, strict=True)]
            found += _tell_rest(section.name, _write([each for each in said if each[1] != ""]))
        else:
            found += _tell_rest(section.name, _write(section.lines))
    for section in sources:
        found += _tell_rest(section.name, _write([] if section.specs else section.options), *section.remotes)
        found += _read_gems(section, sums)
        found += _list_missing((name for asked in section.specs.values() for name in asked), names)
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
    effects = _write([each for each in section.options if kind == LOCAL or each[0] not in {"remote", "revision"}])
    for name, version in section.specs:
        plain = re.sub(r"-(?=[a-z])[\w-]+$", "", version) if kind == REGISTRY else version  # without its platform
        hashes = frozenset((f"{key} {version}", value) for key, value in sums.get((name, version), ()))
        exact = f"{version} {revision}" if revision else plain
        addresses = list_addresses(*(section.remotes if kind != LOCAL else ()))
        origins = addresses if kind == REGISTRY else frozenset[str]()
        yield LockEntry(name, exact, kind, addresses, hashes, origins=origins, effects=effects)


def _read_nuget(text: str) -> list[LockEntry]:
    data = load_json(text)
    packages = (pair for _, each in _items(data["dependencies"]) for pair in _items(each))
    return [*_tell_rest("nuget", _tell(data)), *(_build_nuget(name, entry) for name, entry in packages)]


def _build_nuget(name: str, entry: Table) -> LockEntry:
    hashes = frozenset({("content", str(entry["contentHash"]))} if entry.get("contentHash") else ())
    kind = LOCAL if entry.get("type") == "Project" else REGISTRY
    usual = ["type"] if entry.get("type") in {"Direct", "Transitive", "CentralTransitive"} else []
    effects = _tell(entry, "resolved", "contentHash", "requested", *usual)
    return LockEntry(name, str(entry.get("resolved", "")), kind, frozenset(), hashes, effects=effects)


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
    "go.sum": _read_go,
    "composer.lock": _read_composer,
    "gemfile.lock": _read_gemfile,
    "packages.lock.json": _read_nuget,
}
