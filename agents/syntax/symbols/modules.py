"""Finds the files of a repository that an import means; none if it means something outside."""

import json
import posixpath
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, cast

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
