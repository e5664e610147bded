"""Reads the tests of a file by their names, and how each is skipped or expected to fail whatever runs it."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from agents.review.avoidance.text import LONGEST, blank_literals

_JS = frozenset({".js", ".jsx", ".ts", ".tsx", ".mjs", ".cjs", ".mts", ".cts"})
_BODY = 3  # lines after the first one of a test, where it may skip itself
_ABOVE = 8  # lines of marks above a test


@dataclass(frozen=True)
class SkipSyntax:
    """How the tests of a language stand in its text.

    :param declares: the line of a test; the group ``name`` is its name, ``skip`` how the line itself skips it.
    :param mark: a line above a test that skips it.
    :param is_mark: any line that may stand between such a mark and the test.
    :param inside: a statement that skips the test it begins.
    """

    declares: str
    mark: str = "(?!)"
    is_mark: str = "(?!)"
    inside: str = "(?!)"


_PYTHON = SkipSyntax(
    r"^\s*(?:async\s+)?(?:def|class)\s+(?P<name>[tT]est\w*)\s*[(:]",
    r"^\s*@(?:pytest\.mark\.(?:skip|xfail)|unittest\.(?:skip|expectedFailure)|skip|expectedFailure)\b(?!\.)"
    r"(?!.*\b(?:condition|raises)\s*=)(?!\(\s*(?:sys|os|platform|not|[A-Z_]{3,}|is_|has_)\b)",
    r"^\s*@|^\s*\)\s*$",
    r"^\s*(?:pytest\.(?:skip|xfail)\(|self\.skipTest\(|raise\s+(?:unittest\.)?SkipTest\b)",
)
_SCRIPT = SkipSyntax(
    r"^\s*(?:[\w]+\.)?(?P<skip>(?:x(?=it|describe|test|context)))?(?:it|test|describe|context|specify|suite)\b"
    r"(?P<chain>(?:\.\w+)*)\s*(?:\([^()]*\)\s*)?\(\s*(?P<quote>[\"'`])(?P<name>.+?)(?P=quote)",
)
_GO = SkipSyntax(
    r"^func\s+(?:\([^)]*\)\s*)?(?P<name>(?:Test|Fuzz)\w*)\s*\(", inside=r"^\s*\w+\.(?:Skip|Skipf|SkipNow)\("
)
_RUST = SkipSyntax(
    r"^\s*(?:pub\s+)?(?:async\s+)?fn\s+(?P<name>\w+)\s*(?:<[^>]*>)?\(", r"^\s*#\[ignore\b", r"^\s*#\[|^\s*\)\]|^\s*///?"
)
_JAVA = SkipSyntax(
    r"^\s*(?:(?:public|private|protected|internal|static|final|abstract|async|suspend|open|override)\s+)*"
    r"(?:[\w<>\[\].?,]+\s+|fun\s+)(?P<name>`[^`]+`|\w+)\s*(?:\([^;]*$|\{\s*$)",
    r"^\s*@(?:.*\s@)?(?:Disabled|Ignore)\b(?!For|If|On)|^\s*\[.*\b(?:Ignore|Explicit)\b|^\s*\[.*\bSkip\s*=",
    r"^\s*@|^\s*\[|^\s*\)\s*$|^\s*//",
)
_RUBY = SkipSyntax(
    r"^\s*(?:(?P<skip>x(?=it|describe|specify|context|example))?(?:it|describe|context|specify|example|should|test)\s*\(?"
    r"\s*(?P<quote>[\"'])(?P<quoted>.+?)(?P=quote)|def\s+(?P<name>test_\w+[?!]?))",
    inside=r"^\s*(?:skip|pending|omit)(?:\s*\(?[\"'].*[\"']\)?)?\s*$",
)
_PHP = SkipSyntax(
    r"^\s*(?:(?:public|final|static)\s+)*function\s+(?P<name>\w+)\s*\(",
    inside=r"^\s*(?:\$this->|self::|static::)markTest(?:Skipped|Incomplete)\(",
)
_BATS = SkipSyntax(r"^\s*@test\s+[\"'](?P<name>.+?)[\"']\s*\{", inside=r"^\s*skip(?:\s|$)")
_BY_SUFFIX: Mapping[str, SkipSyntax] = {
    **dict.fromkeys([".py"], _PYTHON),
    **dict.fromkeys(_JS, _SCRIPT),
    **dict.fromkeys([".java", ".kt", ".cs", ".scala"], _JAVA),
    ".go": _GO,
    ".rs": _RUST,
    ".rb": _RUBY,
    ".php": _PHP,
    ".bats": _BATS,
}
_CHAIN_SKIPS = re.compile(r"\.(?:skip|todo|fails|failing|fixme)\b(?!If)")
_CONDITION = re.compile(r"\b(?:skipif|skip_?If|skipUnless|runIf)\b", re.IGNORECASE)


@dataclass(frozen=True)
class NamedTest:
    """A test of a file.

    :param line: from 1.
    :param skip: the line that skips it; empty if it runs.
    """

    name: str
    line: int
    skip: str = ""


def list_tests(path: str, text: str) -> list[NamedTest]:
    """The tests of a file; functions of a test file that are none count as some that run."""
    syntax = _BY_SUFFIX.get(PurePosixPath(path).suffix)
    return [] if syntax is None else list(_read_tests(syntax, text.split("\n"), blank_literals(path, text).split("\n")))


def find_newly_skipped(path: str, before: str, after: str) -> Iterator[NamedTest]:
    """The tests that ran and are skipped now; a name that several tests have tells nothing."""
    old, new = (_index(list_tests(path, text)) for text in (before, after))
    return (test for name, test in new.items() if test.skip and name in old and not old[name].skip)


def _index(tests: Sequence[NamedTest]) -> dict[str, NamedTest]:
    found: dict[str, list[NamedTest]] = {}
    for each in tests:
        found.setdefault(each.name, []).append(each)
    return {name: there[0] for name, there in found.items() if len(there) == 1}


def _read_tests(syntax: SkipSyntax, lines: Sequence[str], bare: Sequence[str]) -> Iterator[NamedTest]:
    declares = re.compile(syntax.declares)
    for index, line in enumerate(lines):
        if len(line) > LONGEST or not bare[index].strip() or (found := declares.match(line)) is None:
            continue
        names = found.groupdict()
        name = next((names[key] for key in ("name", "quoted") if names.get(key)), "")
        by_itself = names.get("skip") or _CHAIN_SKIPS.search(names.get("chain") or "")
        skip = line if by_itself else _find_mark(syntax, lines, bare, index) or _find_inside(syntax, lines, bare, index)
        yield NamedTest(name, index + 1, skip.strip()[:120])


def _find_mark(syntax: SkipSyntax, lines: Sequence[str], bare: Sequence[str], at: int) -> str:
    for index in range(at - 1, max(-1, at - 1 - _ABOVE), -1):
        if re.match(syntax.mark, bare[index]) and not _CONDITION.search(bare[index]):
            return lines[index]
        if not re.match(syntax.is_mark, lines[index]):
            return ""
    return ""


def _find_inside(syntax: SkipSyntax, lines: Sequence[str], bare: Sequence[str], at: int) -> str:
    indent = len(lines[at]) - len(lines[at].lstrip())
    depths = set[int]()
    for index in range(at + 1, min(len(lines), at + 1 + _BODY)):
        line = bare[index]
        if not line.strip() or line.strip() in {"{", "begin"}:
            continue
        depth = len(line) - len(line.lstrip())
        depths.add(depth)
        if depth <= indent or depth > min(depths) or re.match(r"\s*(if|unless|when|case|for|while|with)\b", line):
            return ""
        if re.match(syntax.inside, line):
            return lines[index]
    return ""
