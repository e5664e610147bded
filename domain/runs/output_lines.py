"""What a command said, so that two of its runs can be compared however much they said.

Left out is only what plainly varies: when a line was logged, how long something took, addresses, names of temporary
folders. Tests must say the same then. What a check says is compared line by line, without places in files; how many a
line counts is kept as a number, so that fewer of them are no news.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Sequence

from domain.text.escaping import strip_invisible

_MOST = 20_000  # different lines that are kept
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
      (?<=[\w)\]"']):\d+(?:[:,]\ ?\d+)?
    | (?<=\.\w)\w{0,4}\(\d+(?:,\ ?\d+)?\)
    | \b\w*(?:line|col|column|row)(?:_?number|_?no)?["']?\s?[:=]?\s{0,3}\d+(?:[-,]\d+)?
    | ^\s*\d+:\d+(?=\s)  # before a message
    """,
    re.IGNORECASE | re.VERBOSE,
)
_ALSO_VARYING = re.compile(
    rf"""
      \d{{4}}-\d\d-\d\d[T\ ]\d\d:\d\d(?::\d\d)?(?:[.,]\d{{1,9}})?(?:Z|[+-]\d\d:?\d\d)?  # when
    | ^\d{{1,2}}:\d\d\s?[AP]M\b
    | \b(?:in|after|took|time:?)\ \d[\d.,]{{0,12}}\ ?{_UNIT}\b
    | \b(?:checked|scanned|analy[sz]ed|inspected|linted|lines\ of\ code)\W{{1,3}}\d[\d.,]*(?:\ bytes\ \([^)]*\))?
    | (?<![\w.])\d[\d.,]*(?=\ (?:\w+\ ){{0,3}}(?:checked|scanned|analy[sz]ed|inspected|unchanged|already\ formatted)\b)
    | (?<=\bin\ )\d+(?=\ (?:source\ )?files?\b)
    | \brated\ at\ .*                                                       # by pylint, of all that was checked
    """,
    re.IGNORECASE | re.VERBOSE,
)
"""Where something was looked at, and how much of it; what was found is said beside that."""
_NUMBER = re.compile(r"(?<!\S)\d{1,9}(?=[,;:.]?(?:\s|$))|(?<=\s\()\d{1,9}(?=[\s)])")
"""A count stands on its own; in ``chmod(755)`` or ``CVE-2024-35195`` a number is what is said."""
_PLURAL = re.compile(r"s(?=[\s,;:)]|\.?$)")
_IS_FINDING = re.compile(r"\s*[\w./\\@+-]{1,300}[:(]\d+(?:[:,]\s?\d+)?\)?:?\s+\S")
_ARROW = re.compile(r"\s*(?:-->|╭─\[|┌─)\s*(?P<place>[^\s\]]+:\d+)")  # as rustc and ruff point below what they say
_BELOW_FILE = re.compile(r"\s+\d+:\d+\s+\S")  # as eslint lists what it found in a file
_AT = re.compile(r"[\w)\]\"'][:(](\d+)|\bline (\d+)", re.IGNORECASE)
_AROUND = re.compile(r"\s{0,20}[>❯]?\s{0,9}(?P<number>\d{1,7})(?:\s?[|│┃]|\t|\s[-+](?=\s))(?P<code>.*)")
_GRADED = re.compile(r"\s*(?:error|warning)\b", re.IGNORECASE)  # in a table of mistakes by line, not in code
_MOST_NUMBERS = 20  # of a line that sums up
_FAR = 20  # lines from a mistake, which no tool shows of the code around


def digest_output(output: str) -> str:
    """A digest of all that an output says, in its order; empty if it says nothing.

    Which of its lines tell of a failure is not guessed: a test that fails may look like one that passes.
    """
    lines = [_VARYING.sub("#", line) for line in _split(output)]
    return _digest("\n".join(lines)) if lines else ""


def count_mistakes(output: str) -> dict[str, int] | None:
    """The digests of the lines of an output → how often each is there, and of their numbers → the sum of each.

    None if there are too many. Which lines tell of a mistake is not guessed: only the code around the place of one is
    left out.

    :param output: all of it, of a build, a linter or a type checker.
    """
    counted = Counter[str]()
    for line in _list_told(_split(output)):
        for said, times in _read(line):
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
        counted[what] = max(counted.get(what, 0), int(found["before"] or found["after"]))
    return counted


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


def _list_told(lines: Sequence[str]) -> Iterator[str]:
    """The lines without the code around a place; with their file and their text, where these stand on their own."""
    file = before = ""
    place = -_FAR
    for line in lines:
        if around := _AROUND.fullmatch(line):
            number = int(around["number"])
            if number == place or _GRADED.match(around["code"]):
                yield around["code"]
            elif abs(number - place) > _FAR:
                yield line
            continue
        if arrow := _ARROW.match(line):
            yield f"{arrow['place']}: {before}"
        elif _BELOW_FILE.match(line):
            yield f"{file}:{line.strip()}"
        else:
            yield line
        if at := _AT.search(line):
            place = int(at[1] or at[2])
        file = line if " " not in line else file
        before = line.strip()


def _read(line: str) -> Iterator[tuple[str, int]]:
    """What a line says, once, and its numbers; those of a mistake itself belong to what is said."""
    plain = _VARYING.sub("#", line)
    if _IS_FINDING.match(line) or len(_NUMBER.findall(plain)) > _MOST_NUMBERS:
        yield " ".join(_PLACE.sub("", plain).split()), 1
        return
    for part in _PLACE.sub("", _ALSO_VARYING.sub("#", plain)).split("; "):
        numbers = _NUMBER.findall(part)
        said = " ".join(_NUMBER.sub("#", part).split())
        said = _PLURAL.sub("", said) if numbers else said
        if re.search(r"\w", said):
            yield said, 1
        for index, number in enumerate(numbers):
            yield f"{index} {said}", int(number)
