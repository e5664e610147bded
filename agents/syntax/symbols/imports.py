"""Reads what files import, and finds the files of a repository that an import means."""

import json
import posixpath
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

EVERYTHING = "*"
MANIFESTS = frozenset({"go.mod", "package.json", "Cargo.toml"})
"""Files that say what others call the folder they lie in."""


@dataclass(frozen=True)
class Import:
    """A name that a file imports.

    :param local: what the file calls it; ``*`` if it takes in all names.
    :param module: the module, package or file, as it is written.
    :param name: what it is called there; ``*`` for all names, empty for the module itself.
    """

    local: str
    module: str
    name: str = ""


_FAMILY = {"typescript": "javascript", "tsx": "javascript", "cpp": "c"}
_COMMENT = re.compile(r"/\*.*?\*/|(?<=[\s,{(])//[^\n]*|(?<=[\s,(])# [^\n]*", re.DOTALL)
_QUOTED = re.compile(r"""["'`<]([^"'`>\n]+)["'`>]""")
_RENAMED = re.compile(r"([\w$*]+)(?:\s*(?:\bas\b|:)\s*([\w$]+))?")
_INDEX = re.compile(r"(^|/)(index|__init__|mod|lib|main)$")
_SUFFIX = re.compile(r"(\.d)?\.\w+$")


def find_family(language: str) -> str:
    """The language whose files import one another: C++ includes those of C."""
    return _FAMILY.get(language, language)


def read_imports(language: str, statements: Iterable[str]) -> Iterator[Import]:
    """The imports of some statements."""
    for statement in statements:
        text = " ".join(_COMMENT.sub("", statement).split())
        quoted = _QUOTED.search(text) if find_family(language) in {"javascript", "go", "c"} else None
        if quoted is not None:
            yield from _read_quoted(find_family(language), text[: quoted.start()], quoted[1], text[quoted.end() :])
        elif language == "python":
            yield from _read_python(text)
        elif language in {"java", "rust", "php", "csharp"}:
            plain = re.sub(r"^(pub(\([^)]*\))? |global )?(use|using|import)( static| function| const)? |;$", "", text)
            for path in _expand(plain.strip(), 0):
                yield from _read_path(language, path.strip())


def _read_quoted(family: str, head: str, module: str, tail: str) -> Iterator[Import]:
    if family == "c":
        yield Import(EVERYTHING, module, EVERYTHING)
    elif family == "go":
        folder = re.sub(r"/v\d+$", "", module).rsplit("/", 1)[-1]
        alias = head.strip() or re.sub(r"^go-|[.-]go$|\.v\d+$", "", folder).replace("-", "_")
        yield Import(EVERYTHING if alias == "." else alias, module, EVERYTHING if alias == "." else "")
    else:
        braces = re.search(r"\{([^{}]*)\}", head)
        for part in braces[1].split(",") if braces else ():
            if found := _RENAMED.match(part.strip().removeprefix("type ")):
                yield Import(found[2] or found[1], module, found[1])
        rest = head.replace(braces[0], " ") if braces else head
        member = re.match(r"\)\.([\w$]+)", tail)
        if re.match(r"export\b.*\*", rest) and " as " not in rest:
            yield Import(EVERYTHING, module, EVERYTHING)
        for word in re.findall(
            r"[\w$]+", re.sub(r"\b(import|export|const|let|var|type|from|as|await|require)\b", " ", rest)
        ):
            is_module = "*" in rest or "(" in head
            yield Import(word, module, member[1] if member else "" if is_module else "default")


def _read_python(text: str) -> Iterator[Import]:
    found = re.match(r"from ([.\w ]+?) import (.*)", text)
    for part in (found[2] if found else text.removeprefix("import ")).strip("() \\").split(","):
        name, _, alias = part.strip(" \\").partition(" as ")
        if name and found:
            yield Import(EVERYTHING if name == EVERYTHING else alias or name, found[1].replace(" ", ""), name)
        elif name:
            yield Import(alias or name, name)


def _read_path(language: str, path: str) -> Iterator[Import]:
    """One dotted path, as ``a::b as c``; in C# it is a namespace unless it has a name of its own."""
    alias, _, whole = (
        path.rpartition(" = ") if " = " in path else (path.partition(" as ")[2], "", path.partition(" as ")[0])
    )
    parts = [part for part in re.split(r"::|[.\\]", whole.strip()) if part]
    if not parts:
        return
    if language == "csharp" and not alias:
        yield Import(EVERYTHING, ".".join(parts), EVERYTHING)
    elif parts[-1] == "self":
        yield Import(alias or parts[-2], ".".join(parts[:-1]))
    else:
        local = EVERYTHING if parts[-1] == EVERYTHING else alias or parts[-1]
        yield Import(local, ".".join(parts[:-1]), parts[-1])


def _expand(path: str, depth: int) -> Iterator[str]:
    """The single paths of ``a::{b, c::{d, e}}``."""
    start = path.find("{")
    if start < 0 or depth > 8:
        yield from path.split(",") if depth == 0 else [path]
        return
    prefix, inner = path[:start], path[start + 1 : path.rfind("}")]
    level, part = 0, ""
    for char in inner + ",":
        level += (char == "{") - (char == "}")
        if char == "," and level == 0:
            if part.strip():
                yield from _expand(prefix + part.strip(), depth + 1)
            part = ""
        else:
            part += char


class Modules:
    """The files of a repository as its imports see them.

    :param paths: all of its source files.
    :param manifests: the texts of its ``MANIFESTS``.
    """

    def __init__(self, paths: Iterable[str], manifests: Mapping[str, str]) -> None:
        self._paths = frozenset(paths)
        self._by_name: dict[str, list[tuple[str, str]]] = defaultdict(list)
        for path in sorted(self._paths, key=lambda path: (path.count("/"), path)):
            stem = _SUFFIX.sub("", path)
            for each in dict.fromkeys((stem, _INDEX.sub("", stem))):
                self._by_name[each.rsplit("/", 1)[-1]].append((each, path))
        self._folders: dict[str, list[str]] = defaultdict(list)
        for path in self._paths:
            self._folders[posixpath.dirname(path)].append(path)
        self._packages = dict(_read_manifests(manifests))

    def find(self, importer: str, language: str, module: str) -> tuple[str, ...]:
        """The files that a module stands for: one, or those of a folder; none if it is not of this repository.

        :param importer: the path of the file that imports it.
        :param module: as it is written there.
        """
        family, folder = find_family(language), posixpath.dirname(importer)
        if family == "python" and module.startswith("."):
            dots = len(module) - len(module.lstrip("."))
            up = "/".join([folder, *[".."] * (dots - 1), module.lstrip(".").replace(".", "/")])
            return self._find_stem(posixpath.normpath(up), is_whole=True)
        if family in {"javascript", "c"}:
            near = posixpath.normpath(posixpath.join(folder, module))
            if near in self._paths:
                return (near,)
            stem = re.sub(r"\.(js|mjs|cjs|jsx)$", "", near)
            if module.startswith("."):
                return self._find_stem(stem, is_whole=True) or self._find_stem(near, is_whole=True)
            if family == "c":
                named = self._by_name[_SUFFIX.sub("", module.rsplit("/", 1)[-1])]
                return tuple(path for _, path in named if f"/{path}".endswith(f"/{module}"))
        for name, place in self._packages.items():
            if (rest := _cut(family, module, name)) is not None:
                inner = "/".join(part for part in (place, rest) if part)
                if family == "go":
                    return tuple(path for path in self._folders[inner] if path.endswith(".go"))
                inners = (inner, f"{place}/src/{rest}", f"{place}/lib/{rest}")
                return next(
                    (found for each in inners if (found := self._find_stem(each.strip("/"), is_whole=True))), ()
                )
        return () if family == "go" else self._find_tail(importer, family, module)

    def _find_tail(self, importer: str, family: str, module: str) -> tuple[str, ...]:
        if family == "javascript":
            alias = re.match(r"(?:@|~|#|\$lib|@app|@src)/(.+)", module)
            if alias is None and "/" not in module:
                return ()
            return self._find_stem(alias[1] if alias else module, is_whole=False)
        if family == "rust":
            return self._find_rust(importer, module.split("."))
        found = self._find_stem(module.replace(".", "/"), is_whole=False)
        if family == "python":
            tail = module.replace(".", "/")
            return tuple(path for path in found if self._is_root(path, tail))[:1]
        return found

    def _find_rust(self, importer: str, parts: list[str]) -> tuple[str, ...]:
        """The file of a module; of what is no module of its own, the file it stands in."""
        folder = _INDEX.sub("", _SUFFIX.sub("", importer))
        if parts[0] == "crate":
            folder = re.sub(r"((?:^|/)src)/.*", r"\1", folder)
        while parts and parts[0] in {"crate", "self", "super"}:
            folder, parts = posixpath.dirname(folder) if parts[0] == "super" else folder, parts[1:]
        stems = ["/".join([folder, *parts[:end]]) for end in (len(parts), len(parts) - 1) if end >= 0]
        return next((found for each in stems if (found := self._find_stem(each, is_whole=True))), ())

    def _find_stem(self, stem: str, *, is_whole: bool) -> tuple[str, ...]:
        """The files of a path without its suffix, or that end with it."""
        named = self._by_name.get(stem.rsplit("/", 1)[-1], ())
        return tuple(path for each, path in named if each == stem or (not is_whole and each.endswith(f"/{stem}")))

    def _is_root(self, path: str, tail: str) -> bool:
        """Whether Python would look for a module there: what stands before it is no package itself."""
        root = path[: path.rindex(tail)].rstrip("/")
        return f"{root}/__init__.py" not in self._paths if root else True


def _cut(family: str, module: str, name: str) -> str | None:
    """What a module is within a package of a name; None if it is not in it."""
    if family == "rust":
        first, _, rest = module.partition(".")
        return rest.replace(".", "/") if first == name.replace("-", "_") else None
    if family not in {"javascript", "go"} or not (module == name or module.startswith(f"{name}/")):
        return None
    return module[len(name) :].strip("/")


def _read_manifests(manifests: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """The names of packages, and their folders."""
    for path, text in manifests.items():
        folder, _, kind = path.rpartition("/")
        name = _read_name(kind, text)
        if name:
            yield name, folder


def _read_name(kind: str, text: str) -> str:
    if kind == "package.json":
        try:
            found: Any = json.loads(text)
        except (ValueError, RecursionError):
            return ""
        name: Any = cast(dict[str, Any], found).get("name") if isinstance(found, dict) else None
        return name if isinstance(name, str) else ""
    pattern = r"^module\s+(\S+)" if kind == "go.mod" else r"""^name\s*=\s*["']([\w-]+)["']"""
    found = re.search(pattern, text, re.MULTILINE)
    return found[1] if found else ""
