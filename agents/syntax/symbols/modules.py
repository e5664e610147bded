"""Reads what files import, and finds the files of a repository that an import means."""

import json
import posixpath
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

EVERYTHING = "*"


@dataclass(frozen=True)
class Import:
    """A name that a file imports.

    :param local: what the file calls it; ``*`` if it takes in all names.
    :param module: the module, package or file, as it is written.
    :param name: what it is called there; ``*`` for all names, empty for the module itself.
    :param is_passed_on: others may import it from this file.
    """

    local: str
    module: str
    name: str = ""
    is_passed_on: bool = True


_COMMENT = re.compile(r"/\*.*?\*/|(?<=[\s,{(])//[^\n]*|(?<=[\s,(])# [^\n]*", re.DOTALL)


def _read_python(text: str) -> Iterator[Import]:
    found = re.match(r"from\s+([.\w\s]+?)\s+import\s+(.*)", text, re.DOTALL)
    if found is not None:
        module = re.sub(r"\s", "", found[1])
        for name, alias in _split(found[2].replace("\\\n", " ").strip("() \n")):
            yield Import(alias, module, name)
        return
    for name, alias in _split(text.removeprefix("import")):
        yield Import(alias, name)


_JS_FROM = re.compile(r"""(?:from|import|require\s*\(|import\s*\()\s*["'`]([^"'`]+)["'`]""")
_JS_NAMES = re.compile(r"\{([^{}]*)\}")


def _read_javascript(text: str) -> Iterator[Import]:
    source = _JS_FROM.search(text)
    if source is None:
        return
    module, head = source[1], text[: source.start()].strip()
    if head.startswith("export"):
        yield from _read_export(head, module)
        return
    is_required = not text.startswith("import")
    names = _JS_NAMES.search(head)
    if names is not None:
        for part in names[1].split(","):
            yield from _read_js_name(part, module)
        head = head.replace(names[0], " ")
    rest = re.sub(r"^(import|const|let|var)\b|\btype\b|[=,]|\bawait\b|:.*", " ", head).strip()
    space = re.search(r"\*\s*as\s+([\w$]+)", rest)
    if space is not None:
        yield Import(space[1], module, is_passed_on=False)
        rest = rest.replace(space[0], " ").strip()
    if re.fullmatch(r"[\w$]+", rest):
        member = re.match(r"\)\.([\w$]+)", text[source.end() :])
        name = member[1] if member else "" if is_required else "default"
        yield Import(rest, module, name, is_passed_on=False)


def _read_go(text: str) -> Iterator[Import]:
    found = re.fullmatch(r'([\w.]+)?\s*["`]([^"`]+)["`]', text.strip())
    if found is not None:
        folder = re.sub(r"/v\d+$", "", found[2]).rsplit("/", 1)[-1]
        guessed = re.sub(r"^go-|[.-]go$|\.v\d+$", "", folder).replace("-", "_")
        is_dot = found[1] == "."
        yield Import(EVERYTHING if is_dot else found[1] or guessed, found[2], EVERYTHING if is_dot else "")


def _read_java(text: str) -> Iterator[Import]:
    found = re.match(r"import\s+(static\s+)?([\w.]+?)(\.\*)?\s*;", text)
    if found is None:
        return
    if found[3]:
        yield Import(EVERYTHING, found[2], EVERYTHING)
        return
    module, _, name = found[2].rpartition(".")
    yield Import(name, module if found[1] else found[2], name)


def _read_csharp(text: str) -> Iterator[Import]:
    found = re.match(r"(?:global\s+)?using\s+(static\s+)?(?:(\w+)\s*=\s*)?([\w.]+)", text)
    if found is None:
        return
    if found[2]:
        module, _, name = found[3].rpartition(".")
        yield Import(found[2], module, name)
    else:
        yield Import(EVERYTHING, found[3], EVERYTHING)


def _read_php(text: str) -> Iterator[Import]:
    plain = re.sub(r"^use\s+(function\s+|const\s+)?", "", text.strip().rstrip(";"))
    group = re.match(r"([\w\\]+)\\\{(.*)\}", plain, re.DOTALL)
    prefix, names = (group[1] + "\\", group[2]) if group else ("", plain)
    for name, alias in _split(names):
        module, _, last = f"{prefix}{name}".strip("\\").rpartition("\\")
        yield Import(alias.rsplit("\\", 1)[-1], module, last)


def _read_rust(text: str) -> Iterator[Import]:
    found = re.match(r"(pub(?:\([^)]*\))?\s+)?use\s+(.*?);?\s*$", text, re.DOTALL)
    for path in _expand(re.sub(r"\s+", " ", found[2]).strip(), 0) if found else ():
        whole, _, alias = path.partition(" as ")
        module, _, name = whole.strip().rpartition("::")
        if name == "self":
            module, _, name = module.rpartition("::")
        yield Import(alias.strip() or name, module, name, is_passed_on=bool(found and found[1]))


def _read_c(text: str) -> Iterator[Import]:
    found = re.search(r'include\s*[<"]([^">]+)[">]', text)
    if found is not None:
        yield Import(EVERYTHING, found[1], EVERYTHING)


_READERS: Mapping[str, Callable[[str], Iterator[Import]]] = {
    "python": _read_python,
    "javascript": _read_javascript,
    "typescript": _read_javascript,
    "tsx": _read_javascript,
    "go": _read_go,
    "java": _read_java,
    "csharp": _read_csharp,
    "php": _read_php,
    "rust": _read_rust,
    "c": _read_c,
    "cpp": _read_c,
}

MANIFESTS = frozenset({"go.mod", "package.json", "Cargo.toml"})
"""Files that say what others call the folder they lie in."""
_FAMILY = {"typescript": "javascript", "tsx": "javascript", "cpp": "c"}
_JS_SUFFIXES = (".ts", ".tsx", ".js", ".jsx", ".mjs", ".cjs", ".mts", ".cts", ".d.ts")
_JS_ROOTS = ("", "src/", "app/", "lib/", "frontend/src/", "client/src/")
_PYTHON_SUFFIXES = (".py", "/__init__.py", ".pyi")
_RUST_CRATES = ("lib.rs", "main.rs")


def find_family(language: str) -> str:
    """The language whose files import one another: C++ includes those of C."""
    return _FAMILY.get(language, language)


class Modules:
    """The files of a repository as its imports see them.

    :param paths: all of its source files.
    :param manifests: the texts of its ``MANIFESTS``.
    """

    def __init__(self, paths: Iterable[str], manifests: Mapping[str, str]) -> None:
        self._paths = frozenset(paths)
        self._by_name: dict[str, list[str]] = defaultdict(list)
        for path in sorted(self._paths, key=lambda path: (path.count("/"), path)):
            self._by_name[path.rsplit("/", 1)[-1]].append(path)
        self._folders = {posixpath.dirname(path) for path in self._paths}
        self._packages = dict(_read_manifests(manifests))

    def find(self, importer: str, language: str, module: str) -> tuple[str, ...]:
        """The files that a module stands for: one, or those of a folder; none if it is not of this repository.

        :param importer: the path of the file that imports it.
        :param module: as it is written there.
        """
        match find_family(language):
            case "python":
                return self._find_python(importer, module)
            case "javascript":
                return self._find_javascript(importer, module)
            case "go":
                return self._find_go(module)
            case "java":
                return self._find_suffix(f"{module.replace('.', '/')}.java")
            case "rust":
                return self._find_rust(importer, module)
            case "c":
                return self._find_header(importer, module)
            case _:
                return ()

    def find_package(self, folder: str, package: str, language: str) -> tuple[str, ...]:
        """The files of one package: of a folder, and in Java of the same package in other roots."""
        if language != "java" or not package:
            return tuple(path for path in self._paths if posixpath.dirname(path) == folder)
        tail = package.replace(".", "/")
        return tuple(path for path in self._paths if f"/{posixpath.dirname(path)}".endswith(f"/{tail}"))

    def _find_suffix(self, path: str) -> tuple[str, ...]:
        named = self._by_name.get(path.rsplit("/", 1)[-1], ())
        return tuple(each for each in named if each == path or each.endswith(f"/{path}"))

    def _find_python(self, importer: str, module: str) -> tuple[str, ...]:
        dots = len(module) - len(module.lstrip("."))
        parts = module.lstrip(".").replace(".", "/")
        if dots:
            folder = posixpath.dirname(importer)
            for _ in range(dots - 1):
                folder = posixpath.dirname(folder)
            stem = posixpath.join(folder, parts) if parts else folder
            found = [f"{stem}{suffix}" for suffix in _PYTHON_SUFFIXES if f"{stem}{suffix}".lstrip("/") in self._paths]
            return tuple(path.lstrip("/") for path in found[:1])
        named = [path for suffix in _PYTHON_SUFFIXES for path in self._find_suffix(f"{parts}{suffix}")]
        roots = [path for path in named if self._is_root(path, parts)]
        return tuple(sorted(roots, key=lambda path: -_count_shared(path, importer))[:1])

    def _is_root(self, path: str, parts: str) -> bool:
        """Whether Python would look for a module there: what stands before it is no package itself."""
        root = path[: path.rindex(parts)].rstrip("/")
        return f"{root}/__init__.py" not in self._paths if root else True

    def _find_javascript(self, importer: str, module: str) -> tuple[str, ...]:
        if module.startswith("."):
            return self._find_js_file(posixpath.normpath(posixpath.join(posixpath.dirname(importer), module)))
        alias = re.match(r"(?:@|~|#|\$lib|@app|@src)/(.+)", module)
        rest = alias[1] if alias else module
        near = _list_parents(importer)
        if alias or "/" in module:
            for root in (*_JS_ROOTS, *(f"{folder}/{each}" for folder in near for each in _JS_ROOTS)):
                if found := self._find_js_file(f"{root}{rest}"):
                    return found
        for name, folder in self._packages.items():
            if module == name or module.startswith(f"{name}/"):
                below = module[len(name) :].strip("/") or "index"
                tried = (f"{folder}/{below}", f"{folder}/src/{below}", f"{folder}/lib/{below}")
                return next((found for each in tried if (found := self._find_js_file(each.strip("/")))), ())
        return ()

    def _find_js_file(self, stem: str) -> tuple[str, ...]:
        plain = re.sub(r"\.(js|mjs|cjs|jsx)$", "", stem)
        tried = [
            stem,
            *(f"{each}{end}{suffix}" for each in (stem, plain) for end in ("", "/index") for suffix in _JS_SUFFIXES),
        ]
        return tuple(path for path in tried if path in self._paths)[:1]

    def _find_go(self, module: str) -> tuple[str, ...]:
        for name, folder in self._packages.items():
            if module == name or module.startswith(f"{name}/"):
                inner = posixpath.join(folder, module[len(name) :].strip("/")).strip("/")
                return tuple(
                    sorted(path for path in self._paths if posixpath.dirname(path) == inner and path.endswith(".go"))
                )
        return ()

    def _find_rust(self, importer: str, module: str) -> tuple[str, ...]:
        parts = [part for part in module.split("::") if part]
        folder = _find_rust_folder(importer)
        if not parts:
            return ()
        first = parts[0]
        if first == "crate":
            root = self._find_crate(importer)
            return self._find_rust_file(root, parts[1:])
        if first in {"self", "super"}:
            while parts and parts[0] in {"self", "super"}:
                folder = posixpath.dirname(folder) if parts[0] == "super" else folder
                parts = parts[1:]
            return self._find_rust_file(folder, parts)
        for name, place in self._packages.items():
            if name.replace("-", "_") == first:
                return self._find_rust_file(posixpath.join(place, "src").lstrip("/"), parts[1:])
        return self._find_rust_file(folder, parts)  # a module of this one

    def _find_crate(self, path: str) -> str:
        folders = [posixpath.dirname(path), *_list_parents(path)]
        return next(
            (each for each in folders if any(posixpath.join(each, name) in self._paths for name in _RUST_CRATES)), "src"
        )

    def _find_rust_file(self, folder: str, parts: list[str]) -> tuple[str, ...]:
        """The file of a module; of what is no module of its own, the file it stands in."""
        stem = posixpath.join(folder, *parts)
        tried = [f"{stem}.rs", f"{stem}/mod.rs", *(posixpath.join(stem, name) for name in _RUST_CRATES)]
        return tuple(path for path in tried if path in self._paths)[:1]

    def _find_header(self, importer: str, module: str) -> tuple[str, ...]:
        near = posixpath.normpath(posixpath.join(posixpath.dirname(importer), module))
        return (near,) if near in self._paths else self._find_suffix(module.lstrip("./"))


def _find_rust_folder(path: str) -> str:
    """The folder of the modules below the module of a file."""
    folder, _, name = path.rpartition("/")
    return folder if name in {"mod.rs", *_RUST_CRATES} else path.removesuffix(".rs")


def _list_parents(path: str) -> list[str]:
    """The folders around that of a file, the nearest first."""
    found: list[str] = []
    folder = posixpath.dirname(path)
    while folder:
        found.append(folder)
        folder = posixpath.dirname(folder)
    return [*found, ""]


def _count_shared(path: str, other: str) -> int:
    return len(posixpath.commonprefix([path.split("/"), other.split("/")]))


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


def read_imports(language: str, statements: Iterable[str]) -> Iterator[Import]:
    """The imports of some statements.

    :param language: one of :data:`agents.syntax.symbols.grammars.GRAMMARS`.
    """
    read = _READERS.get(language)
    if read is not None:
        for statement in statements:
            yield from read(_COMMENT.sub("", statement))


def _split(text: str) -> Iterator[tuple[str, str]]:
    """The names of a list, and what they are called here."""
    for part in text.split(","):
        name, _, alias = " ".join(part.split()).partition(" as ")
        if name:
            yield name, alias or name


def _read_js_name(part: str, module: str, *, is_passed_on: bool = False) -> Iterator[Import]:
    found = re.fullmatch(r"\s*(?:type\s+)?([\w$]+)(?:\s*(?:\bas\b|:)\s*([\w$]+))?\s*(?:=.*)?", part, re.DOTALL)
    if found is not None:
        yield Import(found[2] or found[1], module, found[1], is_passed_on)


def _read_export(head: str, module: str) -> Iterator[Import]:
    names = _JS_NAMES.search(head)
    for part in names[1].split(",") if names is not None else ():
        yield from _read_js_name(part, module, is_passed_on=True)
    if names is None and "*" in head:
        space = re.search(r"\*\s*as\s+([\w$]+)", head)
        yield Import(space[1], module) if space else Import(EVERYTHING, module, EVERYTHING)


def _expand(path: str, depth: int) -> Iterator[str]:
    """The single paths of ``a::{b, c::{d, e}}``."""
    start = path.find("{")
    if start < 0 or depth > 8:
        yield path
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
