"""What a command said, so that two of its runs can be compared however much they said.

Left out is only what plainly varies: when a line was logged, how long something took, addresses, names of temporary
folders. Tests must say the same then. What a check found is compared line by line, without its place in the file; how
many a line counts is kept as a number, so that fewer of them are no news.
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
_NAMES_A_FAILURE = re.compile(
    r"^\s*(?:\d+\) (?=\S)|not ok (?:\d+(?= +-? *(?!\#)\S))?|-{3} FAIL|[✗✕×✘] |FAIL(?:ED)?[ :])"
    r"|^\S*(?:Error|Exception|Failure)\b|^(?:error|panic|fatal)\b"
)
_ENDS = re.compile(r"exit (code|status)", re.IGNORECASE)
_COUNTS = re.compile(
    r"^[=\s]*\d+ (failed|failing|errors?|passed)\b|^(FAIL|FAILED|fail \d+)$|^Tests?:|test summary",
    re.IGNORECASE,
)
_TELLS = re.compile(r"error|fail|assert|exception|panic|expected|undefined|not found|missing", re.IGNORECASE)
_RAISED = re.compile(r"(?:E\s+)?((?:\w+\.)*\w*(?:Error|Exception)(?: \[\w+\])?: \S.*)")
_UNIT = r"(?:ns|µs|us|ms|s|secs?|seconds?|m|min|minutes?)"
_VARYING = re.compile(
    rf"""
      ^[\[(]?(?:\d{{4}}-\d\d-\d\d[T\ ])?\d\d:\d\d:\d\d(?:[.,]\d{{1,9}})?(?:Z|[+-]\d\d:?\d\d)?\b[\])]?  # when
    | [(\[](?:<\ )?\d[\d.,]{{0,12}}\ ?{_UNIT}[)\]]$                      # how long, at the end as runners write it
    | (?<=\ in\ )\d{{1,9}}\.\d{{1,9}}\ ?{_UNIT}(?=,|\ =+$|\ \(|$)
    | (?:(?<=^Time:)|(?<=^Duration)|(?<=duration_ms)|(?<=\t)(?=[\d.]+s$)):?\s*[\d.]+(?:\ ?{_UNIT})?\b
    | (?:(?<=^Randomized\ with\ seed\ )|(?<=-seed[=\ ]))\d+
    | (?<=\bat\ 0x)[0-9a-f]{{6,16}}\b
    | (?<=/tmp/)(?:tmp\.?\w{{8,10}}|[\w.-]*-\w{{6}}|go-build\d+)(?![\w.-])
    """,
    re.VERBOSE,
)
"""Not every number with a unit: a test may be called by one, and it would be another test."""
_PLACE = re.compile(
    r"""
      (?<=[\w)\]"'])[:(]\d+(?:[:,]\ ?\d+)?
    | \b(?:line|column)\ \d+
    | ^\s*\d+(?=:\d+\s|\s?[|│])  # before a message, or the code around
    """,
    re.IGNORECASE | re.VERBOSE,
)
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


def digest_output(output: str) -> str:
    """A digest of all that an output says, in its order; empty if it says nothing.

    Which of its lines tell of a failure is not guessed: a test that fails may look like one that passes.
    """
    lines = [_VARYING.sub("#", line) for line in _split(output)]
    return _digest("\n".join(lines)) if lines else ""


def count_mistakes(output: str) -> dict[str, int] | None:
    """The digests of the lines of an output → how often each is there; None if there are too many.

    :param output: all of it, of a build, a linter or a type checker. They show the code around a mistake and sum up, so
        that only lines count that name a place or begin with an error; all lines if there is none.
    """
    lines = _split(output)
    counted = Counter[str]()
    for said, times in _read(_choose_mistakes(lines) or lines):
        counted[_digest(said)] += times
        if len(counted) > _MOST:
            return None
    return dict(counted)


def _split(output: str) -> list[str]:
    return [line.rstrip() for line in strip_invisible(output).splitlines() if line.strip()]


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


def _read(lines: Iterable[str]) -> Iterator[tuple[str, int]]:
    """What each line says, and how often: as often as it counts failures, once if it counts none."""
    for line in lines:
        counts = [_count(found) for found in _COUNTED.finditer(line)]
        said = _COUNTED.sub(lambda found: f"{found['word'] or ''}#", _VARYING.sub("#", line))
        said = _PLACE.sub("", said).strip()
        is_finding = _IS_FINDING.match(line) is not None  # a file and a place, then rule and text: all of it counts
        said = said if is_finding else _NUMBER.sub("#", said)
        if not counts:
            yield said, 1
        for index, count in enumerate(counts):
            yield f"{index} {_PLURAL.sub('', said)}", count
