"""What a command said, line by line, so that two of its runs can be compared however much they said.

Only what plainly varies is left out of a line: times, addresses, temporary folders, positions in files. Lines in which
runners say what passed, and those that only count, measure or seed, are left out: a new one is no failure. Those that
name or count what passed are counted apart, as one that is missing may be a failure. How many failures a line
counts is kept as a number, so that fewer of them are no news.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from domain.text.escaping import strip_invisible

_MOST = 20_000  # different lines that are kept
_BAD = r"(?:errors?|fail(?:s|ed|ures?|ing)?|problems?|issues?|warnings?|violations?)\b"
_COUNTED = re.compile(
    rf"\b(?P<before>\d{{1,9}})(?=\s{{1,3}}(?:\w{{1,30}}\s{{1,3}}){{0,2}}{_BAD})"
    rf"|(?P<word>\b{_BAD}\s{{0,3}}[:=]?\s{{0,3}})(?P<after>\d{{1,9}})\b(?![:,(]\d)",
    re.IGNORECASE,
)
_SUMS = re.compile(
    r"\b(?P<before>\d{1,9})\s+(?:tests?\s+|specs?\s+|examples?\s+)?(?P<what>fail|err)(?:ed|ing|ures?|ors?)\b"
    r"|\b(?P<word>fail|err)(?:ed|ing|ures?|ors?)?\s{0,3}[:=]?\s{0,3}(?P<after>\d{1,9})\b(?!\.)",
    re.IGNORECASE,
)
_FAILED_TEST = r"\s*(?:\d+\) (?=\S)|not ok (?:\d+(?= +-? *(?!\#)\S))?|-{3} FAIL|[✗✕×✘] |FAIL(?:ED)?[ :])"
_NAMES_A_FAILED_TEST = re.compile(_FAILED_TEST)
_NAMES_A_FAILURE = re.compile(
    rf"^{_FAILED_TEST}"
    r"|^\S*(?:Error|Exception|Failure)\b|^(?:error|panic|fatal)\b"
)
_ENDS = re.compile(r"exit (code|status)", re.IGNORECASE)
_COUNTS = re.compile(
    r"^[=\s]*\d+ (failed|failing|errors?|passed)\b|^(FAIL|FAILED|fail \d+)$|^Tests?:|test summary",
    re.IGNORECASE,
)
_TELLS = re.compile(r"error|fail|assert|exception|panic|expected|undefined|not found|missing", re.IGNORECASE)
_RAISED = re.compile(r"(?:E\s+)?((?:\w+\.)*\w*(?:Error|Exception)(?: \[\w+\])?: \S.*)")
_VARYING = re.compile(
    r"""
      \b0x[0-9a-f]+\b
    | \b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d{1,9})?)?(?:Z|[+-]\d\d:?\d\d)?)?
    | \b\d\d?:\d\d:\d\d(?:[.,]\d{1,9})?\b
    | \b\d{1,9}(?:\.\d{1,9})?\ ?(?:ns|µs|us|ms|s|secs?|seconds?|m|min|minutes?)\b
    | \b\d{1,9}\ (?:passed|passing|skipped|total)\b
    | (?<=/tmp/)[^/\s:'"]+
    | (?<=[\w)\]"'])[:(]\d+(?:[:,]\ ?\d+)?  # a place in a file
    | \b(?:line|column)\ \d+
    | ^\s*\d+(?=:\d+\s|\s?[|│])             # before a message, or the code around
    | (?<=^not\ ok\ )\d+(?=\ +-?\ *(?!\#)\S)   # the order of tests in TAP; it is all there is of one without a name
    """,
    re.IGNORECASE | re.VERBOSE,
)
_DURATION = re.compile(r"\s*[(\[]?\b\d{1,9}(?:\.\d{1,9})?\s?(?:ns|µs|us|ms|s|m)\b[)\]]?$")
_DENIES = r"(?i:false|no|none|not|nothing|nobody|never|null|nil|nok|n/a|fail(?:s|ed|ures?)?|errors?)(?![\w./:\[-])"
_TEST = rf"(?=\S*[A-Za-z])(?!{_DENIES})[\w./\\:@+\[\]-]+"
_NAMES_A_PASS = re.compile(
    rf"""
      ^\s*ok\ +\d+\ +-?\ *(?P<tap>(?!\#)\S.*)                                 # TAP
    | ^\s*[✓✔√]\s*(?P<ticked>\S.*)                                            # mocha, jest, node
    | ^\s*---\ PASS:\ (?P<go>\S+)\ \([\d.]+s\)$
    | ^\s*PASS(?:ED)?:?\s+(?P<file>{_TEST})(?:\s+\([\d.,]+\ ?m?s\))?$         # automake, jest, pytest -rA
    | ^\s*PASS:\s+(?P<part>{_TEST}\ \d+(?:\ -\ .*)?|(?=\S*[/.]){_TEST}\s.*)$  # automake with TAP, DejaGnu
    | ^\s*Passed\s+(?P<dotnet>{_TEST}.*?)\ \[(?:<\ )?\d+\ m?s\]$
    | ^ok\s+(?P<package>\S+)\s+(?:[\d.]+s|\(cached\))                         # Go
    | ^(?:test\ )?(?P<before>{_TEST}(?:\ \([\w.]+\))?)\ \.{{3}}\ ok$          # unittest, cargo
    | ^(?P<long>(?=\S*[.:/(]){_TEST})\ (?i:ok|pass(?:ed)?)\s*(?:\[\s*\d{{1,3}}%\])?$  # pytest -v
    """,
    re.VERBOSE,
)
"""The lines by which runners name what passed: what else stands behind such a word may tell a failure."""
_SAYS_NO_FAILURE = re.compile(
    r"""
      ^\s*(?:ok\s+\d+(?:\s*\#.*)?|\d+\.\.\d+|pass(?:ed)?|ok)\s*$
    | ^\W*(?:collect(?:ed|ing)|running)\s+\d+\s+(?:items?|tests?)\b
    """,
    re.IGNORECASE | re.VERBOSE,
)
"""Lines of tests that say that something without a name passed, or count: new ones are no failure."""
_SUM_OF_PASSES = re.compile(
    r"\b(?P<before>\d{1,9})(?:\s*(?:of|/)\s*\d{1,9})?\s+(?:\w{1,30}\s+)?pass(?:ed|ing|es)?\b"
    r"|\bpass(?:ed|ing|es)?\s{0,3}[:=]?\s{0,3}(?P<after>\d{1,9})\b(?!\.)",
    re.IGNORECASE,
)
_MERE_WORDS = frozenset(
    [
        "tests",
        "test",
        "suites",
        "pass",
        "passed",
        "passing",
        "skipped",
        "total",
        "duration",
        "duration_ms",
        "time",
        "coverage",
        "ms",
        "s",
        "of",
        "in",
        "and",
        "assertions",
        "random",
        "randomized",
        "using",
        "with",
        "seed",
        "listening",
        "on",
        "port",
    ]
)
_FIGURE = re.compile(r"[\d.]*(?:ms|s)?")
_NUMBER = re.compile(r"(?<![\w.])\d+(?:\.\d+)?(?!\w)")
_PLURAL = re.compile(r"s\b")
_IS_FINDING = re.compile(r"\s*[\w./\\@+-]{1,300}[:(]\d+(?:[:,]\s?\d+)?\)?:?\s+\S")
_NAMES_A_PLACE = re.compile(r"[:(]\d+")
_ARROW = re.compile(r"\s*(?:-->|╭─\[|┌─)\s*(?P<place>[^\s\]]+:\d+)")  # as rustc and ruff point below what they say
_BELOW_FILE = re.compile(r"\s+\d+:\d+\s+\S")  # as eslint lists what it found in a file
_HEADLINE = re.compile(
    r"[^\w\s]{0,4}\s?(?:\w{1,30}[ :]\s?)?(?:fatal|error|fail|panic|exception|traceback)"
    r"|.*\b(?:undefined (?:reference|symbol)|unresolved external|multiple definition|duplicate symbol|cannot find -l)",
    re.IGNORECASE,
)


def count_lines(output: str, *, is_check: bool) -> dict[str, int] | None:
    """The digests of the lines of an output → how often each is there; None if there are too many.

    :param output: all of it.
    :param is_check: whether it comes from a build, a linter or a type checker. They show the code around a mistake and
        sum up, so that only lines count that name a place or begin with an error; all lines if there is none.
    """
    lines = [line.rstrip() for line in strip_invisible(output).splitlines() if line.strip()]
    counted = Counter[str]()
    told = _choose_mistakes(lines) or lines if is_check else [*filter(_may_tell_failure, lines)]
    for said, times in _read(told, is_check):
        counted[_digest(said)] += times
        if len(counted) > _MOST:
            return None
    return dict(counted)


def count_passes(output: str) -> dict[str, int] | None:
    """The digests of the names of tests that an output says to have passed → how often; None if there are too many.

    How many it counts to have passed is one of them.

    :param output: all that a command printed which runs tests.
    """
    counted = Counter[str]()
    for line in strip_invisible(output).splitlines():
        if named := _NAMES_A_PASS.search(line.rstrip()):
            counted[_digest(_name_test(named[named.lastgroup or 0]))] += 1
            if len(counted) > _MOST:
                return None
        elif summed := _SUM_OF_PASSES.search(line):
            counted[_digest("passed")] += _count(summed)
    return dict(counted)


def name_failures(output: str) -> Counter[str]:
    """The failed tests that an output names, each with how often; without their order and how long they took."""
    lines = (line.rstrip() for line in strip_invisible(output).splitlines())
    return Counter(
        f"{found[0].strip(' 0123456789')} {_name_test(line[found.end() :])}"
        for line in lines
        if (found := _NAMES_A_FAILED_TEST.match(line))
    )


def _name_test(said: str) -> str:
    """The name of a test, whose numbers are a part of it: only how long it took varies."""
    return _DURATION.sub("", said).strip(" -")


def count_failures(output: str) -> dict[str, int]:
    """How many failures and errors what runs tests says that there are: what is counted → the largest number."""
    counted: dict[str, int] = {}
    for found in _SUMS.finditer(output):
        what = (found["what"] or found["word"]).lower()
        counted[what] = max(counted.get(what, 0), _count(found))
    return counted


def _count(found: re.Match[str]) -> int:
    return int(found["before"] or found["after"])


def pick_telling_line(said: str) -> str:
    """The last line that names an error, and not only how many; else the last that says more than that it ended.

    Empty if nothing was said.
    """
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    more = [line for line in lines if not _ENDS.search(line)]
    telling = [line for line in more if _TELLS.search(line) and not _COUNTS.search(line)]
    return [*lines, *more, *telling][-1] if lines else ""


def list_errors(said: str) -> list[str]:
    """The lines by which an error ended something, as Python and JavaScript print them, each once."""
    found = (_RAISED.match(line.strip()) for line in said.splitlines())
    return list(dict.fromkeys(line[1] for line in found if line))


def pick_sum(said: str) -> str:
    """The last line that counts failures; else the most telling one. Empty if nothing was said."""
    lines = [line.strip() for line in said.splitlines() if any(count_failures(line).values())]
    return lines[-1] if lines else pick_telling_line(said)


def pick_failures(said: str, most: int) -> str:
    """What was said, if it is short; else first the lines that name failures, each once, and then its end.

    :param most: characters.
    """
    if len(said) <= most:
        return said
    lines = said.split("\n")
    named: dict[str, None] = {}
    for at, line in enumerate(lines):
        if _NAMES_A_FAILURE.search(line) or any(count_failures(line).values()):
            below = lines[at + 1].strip() if line.endswith(":") and at + 1 < len(lines) else ""
            named[f"{line.strip()} {below}".rstrip()[:200]] = None
    first = "\n".join([*named, ""])[: most // 2].rpartition("\n")[0]
    return f"{first}\n…\n{said[len(first) + 3 - most :]}" if first else f"…{said[1 - most :]}"


def _digest(said: str) -> str:
    return hashlib.sha256(said.encode(errors="replace")).hexdigest()[:16]


def _choose_mistakes(lines: Sequence[str]) -> list[str]:
    placed = list(_list_placed(lines))
    headlines = (line for line in lines if not _NAMES_A_PLACE.search(line) and _HEADLINE.match(line))
    return [*placed, *(part for line in headlines for part in line.split("; "))]


def _list_placed(lines: Sequence[str]) -> Iterator[str]:
    """The lines that name a place; with their file and their text, where these stand on lines of their own."""
    file = before = ""
    for line in lines:
        if arrow := _ARROW.match(line):
            yield f"{arrow['place']}: {before}"
        elif _BELOW_FILE.match(line):
            yield f"{file}:{line.strip()}"
        elif _NAMES_A_PLACE.search(line):
            yield line
        file = line if " " not in line else file
        before = line.strip()


def _may_tell_failure(line: str) -> bool:
    if _NAMES_A_PASS.match(line) or _SAYS_NO_FAILURE.match(line):
        return False
    if (summed := _SUM_OF_PASSES.fullmatch(line.strip())) and not _count(summed):
        return True
    words = re.split(r"[^\w.]+", line.lower())
    return not any(map(str.isdigit, line)) or not all(word in _MERE_WORDS or _FIGURE.fullmatch(word) for word in words)


def _read(lines: Iterable[str], is_check: bool) -> Iterator[tuple[str, int]]:
    """What each line says, and how often: as often as it counts failures, once if it counts none."""
    for line in lines:
        if not is_check and (named := name_failures(line)):
            yield from named.items()
            continue
        counts = [_count(found) for found in _COUNTED.finditer(line)]
        said = _VARYING.sub("", _COUNTED.sub(lambda found: f"{found['word'] or ''}#", line)).strip()
        is_finding = _IS_FINDING.match(line) is not None  # a file and a place, then rule and text: all of it counts
        said = _NUMBER.sub("#", said) if is_check and not is_finding else said
        if not counts:
            yield said, 1
        for index, count in enumerate(counts):
            yield f"{index} {_PLURAL.sub('', said)}", count
