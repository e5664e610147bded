"""Reads which groups, tags, features and paths of tests a runner is set to leave out, and which it is told to run."""

import re
from collections.abc import Iterator
from pathlib import PurePosixPath

from agents.review.avoidance.facts import ChoiceFact
from agents.review.avoidance.lines import LONGEST


def find_choices(path: str, text: str) -> tuple[ChoiceFact, ...]:
    """What one file leaves out, or tells a runner to run."""
    lines = [line[:LONGEST] for line in text.split("\n") if not _COMMENT.match(line)]
    bare = "\n".join(lines)
    found = [*_find_groups(bare), *_find_conditions(path, bare)]
    if PurePosixPath(path).name == "conftest.py":
        found = [*_find_in_hooks(bare), *(each for each in found if not each.is_run)]
    return tuple(dict.fromkeys((*found, *_find_paths(path, bare))))


_COMMENT = re.compile(r"^\s*(#(?!!)|//|<!--.*-->\s*$)")


# --- groups --------------------------------------------------------------------------------------------------

_MARK_EXPRESSION = re.compile(
    r"""(?:^|[\s"',\[=])-m(?:["'],\s*|\s*=?\s*)(?:\\?["']([^"'\n\\]{1,200})|(\w+))|\bmarkers?\s*=\s*["']([^"'\n]+)"""
)
_NEGATED = re.compile(r"\bnot\s+(?:\(([^()]*)\)|(\w+))")
_WORDS = re.compile(r"[\w.-]+")
_NO_NAME = frozenset({"not", "and", "or", "true", "false"})
_LEFT_OUT = (
    re.compile(r"--exclude-group[s]?[= ]+[\"']?([\w,.-]+)"),
    re.compile(r"--exclude-tag[= ]+[\"']?([\w.-]+)"),
    re.compile(r"excluded?Groups\W{1,4}([\w,. -]+)"),
    re.compile(r"\bexclude(?:Tags|Groups|Categories)[( =]+([^)\n]+)"),
    re.compile(r"\b(?:Test)?[Cc]at(?:egory)?\s*!(?:=|~)\s*([\w-]+)"),
    re.compile(r"-notrait[ =]+[\"']?\w+=([\w-]+)"),
    re.compile(r"\b(?:filter_run_excluding|exclusion_filter)\W+([\w-]+)"),
    re.compile(r"--tag[ =]+[\"']?~@?:?([\w-]+)"),
    re.compile(r"(?:--grep-invert|\bgrepInvert)\W+@([\w-]+)"),
    re.compile(r"(?:--grep|-g)[ =]+[\"']?@?([\w-]+)\b[^\n]{0,80}--invert"),
    re.compile(r"--invert[^\n]{0,80}(?:--grep|-g)[ =]+[\"']?@?([\w-]+)"),
    re.compile(r"--filter-tags[ =]+[\"']?!([\w:-]+)"),
    re.compile(r"-a[ =]+[\"']!([\w-]+)"),
)
_TOLD_TO_RUN = (
    re.compile(r"--group[s]?[= ]+[\"']?([\w,.-]+)"),
    re.compile(r"(?<!exclude-)--?-tag[= ]+[\"']?@?:?([\w-]+)"),
    re.compile(r"(?:-D|<|\b)groups\W{1,3}([\w,. -]+)"),
    re.compile(r"\binclude(?:Tags|Groups|Categories)[( =]+([^)\n]+)"),
    re.compile(r"\b(?:Test)?[Cc]at(?:egory)?\s*(?:=|~)\s*[\"']?([\w-]+)"),
    re.compile(r"--grep[ =]+[\"']?@([\w-]+)(?![^\n]*--invert)"),
    re.compile(r"--filter-tags[ =]+[\"']?([\w:-]+)"),
    re.compile(r"--run[-_]?(\w+)"),
)
_XML_GROUPS = re.compile(r"<(exclude|include)>((?:\s*<group>[^<]{1,100}</group>){1,50})\s*</\1>")
_GROUP = re.compile(r"<group>\s*([^<\s]+)\s*</group>")


def _find_groups(text: str) -> Iterator[ChoiceFact]:
    for found in _MARK_EXPRESSION.finditer(text):
        expression = next(filter(None, found.groups()), "")
        out = [word for each in _NEGATED.finditer(expression) for word in _WORDS.findall(each[1] or each[2])]
        yield from _describe("group", out, is_run=False)
        yield from _describe("group", _WORDS.findall(_NEGATED.sub("", expression)), is_run=True)
    for patterns, is_run in ((_LEFT_OUT, False), (_TOLD_TO_RUN, True)):
        for pattern in patterns:
            for found in pattern.finditer(text):
                yield from _describe("group", _WORDS.findall(found[1]), is_run=is_run)
    for found in _XML_GROUPS.finditer(text):
        yield from _describe("group", _GROUP.findall(found[2]), is_run=found[1] == "include")
    if re.search(r"[\"']?\binvert[\"']?\s*:\s*true", text):
        yield from _describe("group", re.findall(r"\bgrep[\"']?\s*:\s*[\"'/]?@?([\w-]+)", text), is_run=False)


_TAKES_OUT = re.compile(r"\bskip\b|deselect|items\.remove|items\[:\]")
_ASKED_FOR = re.compile(r"[\"'](\w+)[\"'] (?:not )?in \w+\.keywords|get_closest_marker\(\s*[\"'](\w+)")


def _find_in_hooks(text: str) -> Iterator[ChoiceFact]:
    """Marks by which a hook leaves tests out."""
    if _TAKES_OUT.search(text):
        for found in _ASKED_FOR.finditer(text):
            yield from _describe("group", [found[1] or found[2]], is_run=False)


def _describe(kind: str, names: list[str], *, is_run: bool) -> Iterator[ChoiceFact]:
    for name in names:
        last = name.rpartition(".")[2] if kind == "group" else name
        if last and last not in _NO_NAME and not last.isdigit():
            yield ChoiceFact(kind=kind, name=last, is_run=is_run)


# --- conditions of compilation, and variables ----------------------------------------------------------------

_TAGS = re.compile(
    r"(?<![\w-])-tags(?:[= ]|[\"'],\s*)[\"']?([\w, .-]+?)(?=[\"' \t]{0,20}(?:$|[\"'\n]|\s-|\s\.|\s\w+/))", re.MULTILINE
)
_FEATURES = re.compile(r"(?:--features|-F)[= ]+[\"']?([\w,/ -]+)")
_DEFINES = re.compile(r"DefineConstants\W+([\w;$() %.]+)")
_DEFAULT = re.compile(r"^default\s*=\s*\[([^\]]{0,5000})\]", re.MULTILINE)
_VARIABLES = re.compile(r"\b([A-Z][A-Z0-9_]{2,})[ \t]*[:=](?![ \t]*[\"']?(?:0\b|false\b|[\"']))[ \t]*\S")


def _find_conditions(path: str, text: str) -> Iterator[ChoiceFact]:
    """What is set where tests are compiled: tags of Go, features of Rust, symbols of C#, variables."""
    if path.endswith(".go"):
        return
    for pattern in (_TAGS, _FEATURES, _DEFINES):
        for found in pattern.finditer(text):
            yield from _describe("set", re.findall(r"[\w.-]+", found[1]), is_run=True)
    if "--all-features" in text:
        yield ChoiceFact(kind="set", name=EVERY_FEATURE, is_run=True)
    if PurePosixPath(path).name == "Cargo.toml":
        for found in _DEFAULT.finditer(text):
            yield from _describe("set", re.findall(r"[\w-]+", found[1]), is_run=True)
    yield from _describe("variable", _VARIABLES.findall(text), is_run=True)


EVERY_FEATURE = "--all-features"


# --- paths ---------------------------------------------------------------------------------------------------

_IGNORED_PATHS = (
    re.compile(r"--ignore(?:-glob)?[= ]+[\"']?([\w./*-]+)"),
    re.compile(r"\bnorecursedirs\s*=\s*\[([^\]]{0,5000})\]"),
    re.compile(r"\bnorecursedirs\s*=\s*([^\[\n]+(?:\n[ \t]+[^\n]+)*)"),
    re.compile(r"\bcollect_ignore(?:_glob)?\s*=\s*\[([^\]]{0,5000})\]"),
    re.compile(r"\btestPathIgnorePatterns[\"']?\s*:\s*\[([^\]]{0,5000})\]"),
    re.compile(r"--testPathIgnorePatterns[= ]+[\"']?([^\s\"']+)"),
)
_COLLECTED_PATHS = (
    re.compile(r"^[ \t]*testpaths[ \t]*=\s*\[([^\]]{0,5000})\]", re.MULTILINE),
    re.compile(r"^[ \t]*testpaths[ \t]*=\s*([^\[\n]+(?:\n[ \t]+[^\n]+)*)", re.MULTILINE),
)
_PATH = re.compile(r"[\w./*@-]+")
_RUNS = re.compile(r"\b(?:pytest|jest|vitest|phpunit|unittest|mocha|rspec|ava|bats)\b([^\n]*)")
_IS_PATH = re.compile(r"[\w.@]+(/[\w.*@-]*)+")
_PHPUNIT_PATHS = re.compile(r"<(directory|file|exclude)\b[^>]{0,200}>([^<]{1,300})</\1>")


def _find_paths(path: str, text: str) -> Iterator[ChoiceFact]:
    """Paths in which a runner looks for tests, and in which it does not."""
    folder = str(PurePosixPath(path).parent).removeprefix(".")
    prefix = f"{folder}/" if folder and not path.startswith(".") else ""
    for pattern in _IGNORED_PATHS:
        for found in pattern.finditer(text):
            yield from (ChoiceFact(kind="path", name=_tidy(each), is_run=False) for each in _PATH.findall(found[1]))
    for pattern in _COLLECTED_PATHS:
        for found in pattern.finditer(text):
            yield from _collect(_PATH.findall(found[1]), prefix)
    if re.match(r"(.*/)?phpunit[\w.-]*\.xml", path):
        suites = "".join(re.findall(r"<testsuites?\b.{0,20000}?</testsuites?>", text, re.DOTALL))
        for found in _PHPUNIT_PATHS.finditer(suites):
            if found[1] == "exclude":
                yield ChoiceFact(kind="path", name=_tidy(found[2]), is_run=False)
            else:
                yield from _collect([found[2]], prefix)
    for found in _RUNS.finditer(text):
        named = [each for each in found[1].split() if _IS_PATH.fullmatch(each)]
        yield from (ChoiceFact(kind="named", name=_tidy(each), is_run=True) for each in named)


def _collect(paths: list[str], prefix: str) -> Iterator[ChoiceFact]:
    yield from (ChoiceFact(kind="root", name=f"{prefix}{_tidy(each)}".strip("/"), is_run=True) for each in paths)


def _tidy(path: str) -> str:
    return path.strip().replace("<rootDir>", "").removeprefix("./").strip("/ \"'")


def is_ignored(path: str, pattern: str) -> bool:
    """Whether a path lies in what a runner leaves out."""
    if "*" in pattern:
        return re.search(rf"(^|/){re.escape(pattern).replace(re.escape('*'), '[^/]*')}($|/)", path) is not None
    return bool(pattern) and re.search(rf"(^|/){re.escape(pattern)}($|[/.])", path) is not None
