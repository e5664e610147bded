"""Tells where a change gives up in disguise in a way that running its tests cannot tell, from both versions of a file.

What counted before the change counts no more: tests, assertions, checkers, and the commands and settings of checks.
"""

import re
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from domain.paths import is_document, is_test
from domain.review.avoidance import Avoidance, AvoidanceKind
from domain.text.line_diff import list_changes

_COMMANDS = re.compile(
    r"(^|/)\.(github/workflows|circleci|buildkite|woodpecker)/.*\.ya?ml$|"
    r"(^|/)(\.gitlab-ci|\.travis|\.cirrus|\.drone|appveyor|\.appveyor|azure-pipelines|bitbucket-pipelines)\.ya?ml$|"
    r"(^|/)(Makefile|makefile|GNUmakefile|[jJ]ustfile|Jenkinsfile|Rakefile|tox\.ini|package\.json|composer\.json|noxfile\.py)$|"
    r"\.(sh|ps1|mk|cmd|bat|gradle|kts)$|(^|/)pom\.xml$"
)
_CHECKS = re.compile(
    r"test|lint|check|mypy|pyright|ruff|flake8|black|tsc\b|eslint|jest|mocha|phpunit|phpstan|psalm|rubocop|rspec|clippy|"
    r"verify|cover|bats|vet\b|audit|spec\b|prettier|biome|nox\b|tox\b|mvn|gradle",
    re.IGNORECASE,
)
_STEP = re.compile(r"^(\s*)-\s+\S")
_SETTINGS = re.compile(
    r"\.(toml|cfg|ini|ya?ml|json|xml|neon|dist|gradle|kts|rb|js|ts|cjs|mjs|props|csproj)$|(^|/)\.\w+rc$"
)
_NUMBER = r"[\"']?\s*(?:[:=>, ]|\s)\s*[\"'{]?\s*(\d+(?:\.\d+)?)"
_THRESHOLD = re.compile(
    rf"(fail[_-]under|cov-fail-under|min(?:imum)?_coverage(?:_by_file)?|covered[A-Z]\w+|coveredratio){_NUMBER}",
    re.IGNORECASE,
)
_THRESHOLD_NEAR = re.compile(rf"\b(branches|functions|lines|statements|minimum|min-?[mM]si|minCoveredMsi){_NUMBER}")
_ABOUT_COVERAGE = re.compile(r"coverageThreshold|check-coverage|\bthresholds?\b|jacoco|\"?nyc\"?|c8\b|infection")
_SWITCH = re.compile(
    r"^\s*[\"'<]?(strict|noImplicit\w+|strictNullChecks|check_untyped_defs|disallow_\w+|warn_\w+|no_implicit_optional|"
    r"noUnused\w+|TreatWarningsAsErrors|warnings_as_errors|failOnWarning|failOnRisky|allWarningsAsErrors)"
    r"[\"']?\s*[:=>]\s*[\"']?(true|false)\b",
    re.IGNORECASE,
)

LONGEST = 1_000
"""Characters of a line that is read."""
_BLANK = "\ue001"
"""Stands for a character of a literal; no expression of ours asks for it."""
_TRIPLE = r'"""(?:[^\\]|\\.)*?"""' + r"|'''(?:[^\\]|\\.)*?'''"
_DOUBLE, _SINGLE, _TICKS = r'"(?:[^"\\\n]|\\.)*"', r"'(?:[^'\\\n]|\\.)*'", r"`(?:[^`\\]|\\.)*`"
_HASHES, _SLASHES = r"(?<![\w$&{])\#[^\n]*", r"//[^\n]*|/\*.*?\*/"
_HASH_LANGUAGES = frozenset({".py", ".pyi", ".rb", ".sh", ".bash", ".bats"})
_NO_SINGLE = frozenset({".rs"})  # where it begins a lifetime
_TICKED = frozenset({".js", ".jsx", ".ts", ".tsx", ".mjs", ".cjs", ".mts", ".cts", ".go"})


def blank_literals(path: str, text: str) -> str:
    """The text with as many lines and columns, in which literals and comments hold nothing."""
    suffix = PurePosixPath(path).suffix.lower()
    quotes = [_TRIPLE, _DOUBLE, *([] if suffix in _NO_SINGLE else [_SINGLE]), *([_TICKS] if suffix in _TICKED else [])]
    comments = _HASHES if suffix in _HASH_LANGUAGES else _SLASHES
    return re.sub("|".join((*quotes, f"(?P<comment>{comments})")), _blank, text, flags=re.DOTALL)


def _blank(found: re.Match[str]) -> str:
    whole = found[0]
    if found["comment"] is not None:
        return re.sub(r"[^\n]", " ", whole)
    return whole[0] + re.sub(r"[^\n]", _BLANK, whole[1:-1]) + whole[-1]


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


_SURE = 0.9
_MOST = 20  # of one kind in a file
_TABLES: Mapping[str, Mapping[str, Any]] = tomllib.loads((Path(__file__).parent / "avoidance.toml").read_text())


@dataclass(frozen=True)
class _Line:
    """What a line does, and how it is recognised.

    :param is_comment: a comment does it; else what begins in a comment or a literal does not count.
    """

    what: str
    suffixes: frozenset[str]
    expression: re.Pattern[str]
    is_comment: bool

    @classmethod
    def load(cls, section: str) -> "Sequence[_Line]":
        return [
            cls(
                what.strip(),
                frozenset(f".{each}" for each in rule["suffixes"].split()),
                re.compile(rule["expression"]),
                rule.get("comment", False),
            )
            for what, rule in _TABLES[section].items()
        ]


_FOCUS, _VACUOUS, _DETECTED, _DISABLED = map(_Line.load, ("focus", "vacuous", "detected", "disabled"))
_ASSERTS = re.compile(r"assert|expect|should|verify|require\.|\bCHECK|REQUIRE|t\.(?:Error|Fatal)|\bfail", re.IGNORECASE)
_INLINE_TESTS = re.compile(r"#\[cfg\(test\)\]|#\[test\]")
_IS_AROUND_TESTS = re.compile(
    r"(^|/)(test|tests|testing|testdata|testutil\w*|spec|specs|__tests__|__mocks__|fixtures?|examples?|benchmarks?|e2e|"
    r"playground|docs?|bin|scripts?|tools?)/|conftest|(^|/)[\w.-]*(config|setup|test|spec)[\w.-]*\.\w+$",
    re.IGNORECASE,
)


def find_avoidance(path: str, old_path: str, before: str | None, after: str | None) -> list[Avoidance]:
    """Where one file gives up in disguise.

    :param before: its text at the merge base; None if it is new. ``after``: at head; None if it is gone.
    """
    if after is None or is_document(path):
        return []
    old = before or ""
    found: list[Avoidance] = [
        *_find_skipped(path, old_path, before, after),
        *_find_added(AvoidanceKind.test_skipped, _FOCUS, path, old, after),
        *_find_vacuous(path, before, after),
        *_find_detected(path, old, after),
    ]
    if before is not None:
        found += _find_added(AvoidanceKind.checker_disabled, _DISABLED, path, old, after)
        found += _find_lowered_demands(path, before, after)
    seen = Counter[AvoidanceKind]()
    kept: list[Avoidance] = []
    for each in found:
        seen[each.kind] += 1
        if seen[each.kind] <= _MOST:
            kept.append(each)
    return kept


def _find_skipped(path: str, old_path: str, before: str | None, after: str) -> Iterator[Avoidance]:
    holds = is_test(path) or (path.endswith(".rs") and _INLINE_TESTS.search(after) is not None)
    if before is None or not holds or PurePosixPath(path).suffix != PurePosixPath(old_path).suffix:
        return
    for test in find_newly_skipped(path, before, after):
        yield Avoidance(
            kind=AvoidanceKind.test_skipped,
            path=path,
            line=test.line,
            what=f"The test `{test.name[:80]}` does not count any more: `{test.skip.replace('`', '')}`.",
            confidence=_SURE,
            name=test.name[:200],
        )


def _find_added(kind: AvoidanceKind, rules: Sequence[_Line], path: str, before: str, after: str) -> Iterator[Avoidance]:
    known = Counter(each.what for each, _, _ in _match(rules, path, before))
    found = list(_match(rules, path, after))
    if sum(known.values()) >= len(found):
        return
    old = {line.strip() for line in before.split("\n")}
    for rule, number, line in found:
        if line.strip() not in old:
            yield _describe(kind, path, number, line, f"{_BEGINS[kind]}{rule.what}")


def _find_detected(path: str, before: str, after: str) -> Iterator[Avoidance]:
    if _IS_AROUND_TESTS.search(path) or is_test(path):
        return iter(())
    return _find_added(AvoidanceKind.test_detected, _DETECTED, path, before, after)


_BEGINS = {
    AvoidanceKind.test_skipped: "All other tests are left out by ",
    AvoidanceKind.test_detected: "The code ",
    AvoidanceKind.checker_disabled: "A checker is switched off: ",
}


def _find_vacuous(path: str, before: str | None, after: str) -> Iterator[Avoidance]:
    """Assertions that cannot fail in the place of such as could."""
    found = {} if before is None else {number: (rule, line) for rule, number, line in _match(_VACUOUS, path, after)}
    if before is None or not found:
        return
    old, new = before.split("\n"), after.split("\n")
    was_vacuous = {number for _, number, _ in _match(_VACUOUS, path, before)}
    for first, last, begin, end in list_changes(old, new):
        gone = [old[at] for at in range(first, last) if _ASSERTS.search(old[at]) and at + 1 not in was_vacuous]
        kept = [new[at] for at in range(begin, end) if _ASSERTS.search(new[at]) and at + 1 not in found]
        if not gone or kept:
            continue
        for number in found.keys() & set(range(begin + 1, end + 1)):
            rule, line = found[number]
            what = f"In place of `{_show(gone[0])}` stands {rule.what}, which cannot fail"
            yield _describe(AvoidanceKind.assertion_vacuous, path, number, line, what)


def _match(rules: Sequence[_Line], path: str, text: str) -> Iterator[tuple[_Line, int, str]]:
    """The lines that rules recognise, each with the first one that does."""
    suffix, lines = PurePosixPath(path).suffix, text.split("\n")
    known = [each for each in rules if suffix in each.suffixes]
    hits = [
        (index, each, found)
        for index, line in enumerate(lines)
        if len(line) <= LONGEST
        for each in known
        if (found := each.expression.search(line)) is not None
    ]
    bare = blank_literals(path, text).split("\n") if hits else []
    seen = set[int]()
    for index, rule, found in hits:
        at = found.start() + len(found[0]) - len(found[0].lstrip())
        is_code = rule.is_comment or bare[index][at : at + 1] == lines[index][at : at + 1]
        if is_code and index not in seen:
            seen.add(index)
            yield rule, index + 1, lines[index]


def _describe(kind: AvoidanceKind, path: str, number: int, line: str, what: str) -> Avoidance:
    shown = _show(line)
    return Avoidance(kind=kind, path=path, line=number, what=f"{what}: `{shown}`.", confidence=_SURE, name=shown)


def _show(line: str) -> str:
    return line.strip().replace("`", "")[:100]


def _find_lowered_demands(path: str, before: str, after: str) -> Iterator[Avoidance]:
    """Where a file of commands or settings demands less."""
    if _COMMANDS.search(path):
        yield from _find_ignored(path, before.split("\n"), after.split("\n"), _TABLES["ignored"])
        yield from _find_allowed(path, before, after, _TABLES["allowed"])
    if _SETTINGS.search(path) or _COMMANDS.search(path):
        yield from _find_lowered(path, before, after)
        yield from _find_switched(path, before, after)


def _find_ignored(
    path: str, before: Sequence[str], after: Sequence[str], rules: Mapping[str, str]
) -> Iterator[Avoidance]:
    """Commands that are the same but for what makes them succeed."""
    there = {_squeeze(line) for line in before}
    is_make = PurePosixPath(path).name.lower() in {"makefile", "gnumakefile"} or path.endswith(".mk")
    for number, line in enumerate(after, 1):
        if _squeeze(line) in there or line.lstrip().startswith("#"):
            continue
        for what, expression in rules.items():
            rest = re.sub(expression, "", line)
            is_same = rest != line and _squeeze(rest) in there and _CHECKS.search(rest)
            if is_same and (is_make or what != "`-`"):
                text = f"The failure of this command has no effect any more, by {what}"
                yield _describe(AvoidanceKind.failure_ignored, path, number, line, text)
                break


def _find_allowed(path: str, before: str, after: str, rules: Mapping[str, str]) -> Iterator[Avoidance]:
    """Steps that are the same but may fail now."""
    for what, expression in rules.items():
        allows = re.compile(expression)
        strict = {_join(block, allows) for _, block in _split(before) if not any(map(allows.search, block))}
        for start, block in _split(after):
            allowed = [number for number, line in enumerate(block, start) if allows.search(line)]
            if allowed and _join(block, allows) in strict and _CHECKS.search("\n".join(block)):
                text = f"The failure of this step has no effect any more, by {what}"
                line = block[allowed[0] - start]
                yield _describe(AvoidanceKind.failure_ignored, path, allowed[0], line, text)


def _split(text: str) -> Iterator[tuple[int, Sequence[str]]]:
    """The steps of a list, or of a file without one its parts between empty lines, each with its first line."""
    lines = text.split("\n")
    starts = [index for index, line in enumerate(lines) if _STEP.match(line) or not line.strip()]
    for first, last in zip([0, *starts], [*starts, len(lines)], strict=True):
        yield first + 1, lines[first:last]


def _join(block: Sequence[str], allows: re.Pattern[str]) -> str:
    return "\n".join(_squeeze(line) for line in block if line.strip() and not allows.search(line))


def _find_lowered(path: str, before: str, after: str) -> Iterator[Avoidance]:
    old, new = _list_numbers(before), _list_numbers(after)
    for key, values in new.items():
        was = old.get(key, [])
        if len(was) != len(values):
            continue
        for (_, low, _), (number, high, line) in zip(was, values, strict=True):
            if high < low:
                text = f"`{key}` is {high:g} instead of {low:g}"
                yield _describe(AvoidanceKind.threshold_lowered, path, number, line, text)


def _list_numbers(text: str) -> dict[str, list[tuple[int, float, str]]]:
    found: dict[str, list[tuple[int, float, str]]] = {}
    is_about = _ABOUT_COVERAGE.search(text) is not None
    for number, line in enumerate(text.split("\n"), 1):
        for each in (*_THRESHOLD.finditer(line), *(_THRESHOLD_NEAR.finditer(line) if is_about else ())):
            found.setdefault(each[1].lower(), []).append((number, float(each[2]), line))
    return found


def _find_switched(path: str, before: str, after: str) -> Iterator[Avoidance]:
    old, new = _list_switches(before), _list_switches(after)
    for key, (number, is_on, line) in new.items():
        if not is_on and key in old and old[key][1]:
            yield _describe(AvoidanceKind.checker_disabled, path, number, line, f"`{key}` is switched off")


def _list_switches(text: str) -> dict[str, tuple[int, bool, str]]:
    lines = enumerate(text.split("\n"), 1)
    found = ((number, line, _SWITCH.match(line)) for number, line in lines)
    return {each[1]: (number, each[2].lower() == "true", line) for number, line, each in found if each is not None}


def _squeeze(line: str) -> str:
    return re.sub(r"\s+", " ", line).strip().strip(",\"'")
