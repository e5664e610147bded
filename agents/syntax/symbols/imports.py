"""Reads what a file imports, from the text of its import statements."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

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


def read_imports(language: str, statements: Iterable[str]) -> Iterator[Import]:
    """The imports of some statements.

    :param language: one of :data:`agents.syntax.symbols.grammars.GRAMMARS`.
    """
    read = _READERS.get(language)
    if read is not None:
        for statement in statements:
            yield from read(_COMMENT.sub("", statement))


_COMMENT = re.compile(r"/\*.*?\*/|(?<=[\s,{(])//[^\n]*|(?<=[\s,(])# [^\n]*", re.DOTALL)


def _split(text: str) -> Iterator[tuple[str, str]]:
    """The names of a list, and what they are called here."""
    for part in text.split(","):
        name, _, alias = " ".join(part.split()).partition(" as ")
        if name:
            yield name, alias or name


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
