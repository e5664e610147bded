"""Reads untrusted JUnit reports: their size is bounded, and their paths stay inside the repository.

There is no standard. It accepts what pytest, unittest-xml-reporting, jest-junit, vitest, Node's runner,
go-junit-report, gotestsum, cargo-nextest and Surefire write.
"""

import json
import math
import re
from collections.abc import Collection, Iterable, Iterator, Sequence, Set
from xml.etree.ElementTree import Element
from xml.parsers import expat

from domain.errors import ToolError
from domain.runs.testing import (
    LAST_LINE,
    LONGEST_DETAILS,
    LONGEST_ID,
    LONGEST_MESSAGE,
    LONGEST_PATH,
    LONGEST_RUN,
    CaseOutcome,
    TestCase,
    keep_worst,
)
from domain.text.escaping import cut_text

MOST_BYTES = 16_000_000
_DEEPEST = 64
_MOST_ELEMENTS = 3_000_000
_MOST_TOGETHER = 300_000  # elements that are kept until the one around them closes
_AT_ONCE = 1 << 16  # bytes that are parsed before what closed in them is looked at
_KEPT = 10_000  # characters of one element's text, from its beginning and from its end
_TERMINAL = re.compile(r"\x1b\[[0-?]*+[ -/]*+[@-~]?|#x1B\[[0-9;]*m")

MOST_CASES = 20_000
MOST_NAMES = 12_000_000  # bytes of all names together, as JSON
MOST_TEXTS = 10_000_000  # of all messages and details

_SUITES = frozenset({"testsuites", "testsuite"})
_OUTCOMES = {"failure": CaseOutcome.failed, "error": CaseOutcome.error, "skipped": CaseOutcome.skipped}
_EXPECTED = frozenset({"pytest.xfail", "unittest.expectedFailure"})
"""The types of what is reported as skipped, and ran: it failed, as its author expects."""
_WEIGHT = {CaseOutcome.passed: 0, CaseOutcome.skipped: 1, CaseOutcome.error: 2, CaseOutcome.failed: 3}
_LOOKS_LIKE_A_FILE = re.compile(r"[^\s:]*[^\s:/]\.(py|[cm]?[jt]sx?|go|rs|java|kt|rb|php|bats)")


def parse(document: bytes, root: str) -> tuple[TestCase, ...]:
    """The tests of a report, each once, in its order.

    :param root: absolute path of the folder that the tests ran in, as they saw it.
    :raises ToolError: it is not a JUnit report, or is too large.
    """
    return keep_worst(_list_cases(document, root))


def _list_cases(document: bytes, root: str) -> Iterator[TestCase]:
    names, texts = Room(MOST_NAMES), Room(MOST_TEXTS)
    found = read_xml(document, "The JUnit report", ("testsuites", "testsuite"), {"testcase"})
    for count, (above, case) in enumerate(found):
        if count >= MOST_CASES:
            raise ToolError(f"The JUnit report has more than {MOST_CASES:,} tests.")
        suites = [each for each in above if each.tag in _SUITES]
        suite = suites[-1].get("name", "") if suites else ""
        path = _find_path(case, suites, root)
        identity = _identity(case, suite, path)
        if not names.takes(identity + (path or "")):
            raise ToolError(f"The names in the JUnit report take more than {MOST_NAMES:,} bytes.")
        result = _find_worst(case)
        told = "" if result is None else result.get("message") or result.get("type") or ""
        text = "" if result is None else result.text or ""
        message = to_one_line(told or text.strip().partition("\n")[0], LONGEST_MESSAGE)
        details = keep_ends(text, LONGEST_DETAILS)
        yield TestCase(
            id=identity,
            path=path,
            line=_line(case, suite),
            outcome=CaseOutcome.passed if result is None else _OUTCOMES[result.tag],
            is_expected=result is not None and result.tag == "skipped" and result.get("type") in _EXPECTED,
            seconds=_seconds(case.get("time", "")),
            message=message if texts.takes(message) else "",
            details=details if texts.takes(details) else "",
        )


def _find_worst(case: Element) -> Element | None:
    """The worst that is reported for a test, of equal ones the first; None if it passed."""
    results = [each for each in case.iter() if each.tag in _OUTCOMES]
    return max(results, key=lambda each: _WEIGHT[_OUTCOMES[each.tag]], default=None)


def _find_path(case: Element, suites: Sequence[Element], root: str) -> str | None:
    files = (each.get("file") or each.get("filepath") for each in reversed(suites))
    named = case.get("file") or next(filter(None, files), "")
    groups = (case.get("classname", ""), suites[-1].get("name", "") if suites else "")
    name = named or next((each for each in groups if _LOOKS_LIKE_A_FILE.fullmatch(each)), "")
    return to_repository_path(name, root, LONGEST_PATH) if name else None


class Room:
    """The room left in the answer of a worker.

    :param left: bytes.
    """

    def __init__(self, left: int) -> None:
        self._left = left

    def takes(self, text: str) -> bool:
        """Whether this text fits; if so, it uses up its part of the room."""
        size = len(json.dumps(text))
        if size > self._left:
            return False
        self._left -= size
        return True


def _identity(case: Element, suite: str, path: str | None) -> str:
    """A name of the test that is the same in every run: pytest's id for Python, otherwise all names there are."""
    group, name = case.get("classname", ""), case.get("name", "")
    module = path.removesuffix(".py").replace("/", ".") if path and path.endswith(".py") else None
    if path and module is not None and (group == module or group.startswith(module + ".")):
        parts = [path, *group[len(module) + 1 :].split("."), name]
    elif path:
        parts = [path, "" if group == path else group, name]
    else:
        parts = [group or suite, name]
    return join_names(parts, LONGEST_ID)


def _line(case: Element, suite: str) -> int | None:
    """pytest counts lines from 0 (``_pytest.junitxml`` writes ``TestReport.location``), the others from 1."""
    line = parse_number(case.get("line"), LAST_LINE - 1)
    if line is None:
        return None
    return line + 1 if suite == "pytest" else line or None


def _seconds(text: str) -> float:
    """A plausible time; 0 for anything else. Surefire groups thousands by commas."""
    try:
        seconds = float(text[:40].replace(",", ""))
    except ValueError:
        return 0.0
    return seconds if math.isfinite(seconds) and 0 <= seconds <= LONGEST_RUN else 0.0


def read_xml(
    document: bytes, what: str, roots: Collection[str], wanted: Set[str]
) -> Iterator[tuple[Sequence[Element], Element]]:
    """The elements of some names as each closes, with those it is in; no other is kept.

    All names are without a namespace. The text directly in an element is bounded.

    :param what: how an error names the document, e.g. ``The JUnit report``.
    :param roots: the names with which it may begin.
    :raises ToolError: it is not XML, begins otherwise, declares a document type, or is too large.
    """
    check_size(document, what)
    parser = expat.ParserCreate()
    parser.buffer_text = True
    walk = _Walk(what, roots, wanted)
    parser.StartElementHandler = walk.open_element
    parser.EndElementHandler = walk.close_element
    parser.CharacterDataHandler = walk.add_text
    parser.StartDoctypeDeclHandler = walk.refuse
    parser.EntityDeclHandler = walk.refuse
    try:
        for start in range(0, max(len(document), 1), _AT_ONCE):
            parser.Parse(document[start : start + _AT_ONCE], start + _AT_ONCE >= len(document))
            yield from walk.take_closed()
    except expat.ExpatError as error:
        raise ToolError(
            f"{what} is not well-formed XML: {expat.ErrorString(error.code)}, line {error.lineno}."
        ) from None
    except (LookupError, ValueError):  # an encoding that Python does not have, or that expat cannot use
        raise ToolError(f"{what} is in an encoding that cannot be read.") from None


def check_size(document: bytes, what: str) -> None:
    """Refuse a document that is too large.

    :raises ToolError: it is.
    """
    if len(document) > MOST_BYTES:
        raise ToolError(f"{what} has {len(document):,} bytes; more than {MOST_BYTES:,} are not read.")


class _Walk:
    """The state of a walk through a document."""

    def __init__(self, what: str, roots: Collection[str], wanted: Set[str]) -> None:
        self._what, self._roots, self._wanted = what, roots, wanted
        self._open: list[Element] = []
        self._kept = 0  # of the open ones those that are wanted
        self._together = 0  # elements in the outermost of these
        self._closed: list[tuple[Sequence[Element], Element]] = []
        self._elements = 0

    def open_element(self, name: str, attributes: dict[str, str]) -> None:
        self._elements += 1
        if self._elements > _MOST_ELEMENTS:
            raise ToolError(f"{self._what} has more than {_MOST_ELEMENTS:,} elements.")
        if len(self._open) >= _DEEPEST:
            raise ToolError(f"{self._what} is nested more than {_DEEPEST} elements deep.")
        element = Element(name.rpartition(":")[2], attributes)
        if not self._open and element.tag not in self._roots:
            raise ToolError(f"{self._what} does not begin with the element {' or '.join(self._roots)}.")
        self._together = self._together + 1 if self._kept else 0
        if self._together > _MOST_TOGETHER:
            raise ToolError(f"{self._what} has more than {_MOST_TOGETHER:,} elements in one.")
        self._kept += element.tag in self._wanted
        self._open.append(element)

    def close_element(self, _: str) -> None:
        element = self._open.pop()
        if element.tag in self._wanted:
            self._kept -= 1
            self._closed.append((tuple(self._open), element))
        elif self._kept:
            self._open[-1].append(element)

    def add_text(self, text: str) -> None:
        element = self._open[-1]
        whole = (element.text or "") + text
        element.text = whole if len(whole) <= 3 * _KEPT else f"{whole[:_KEPT]}\n…\n{whole[-_KEPT:]}"

    def take_closed(self) -> Iterator[tuple[Sequence[Element], Element]]:
        """The wanted elements that closed since the last time."""
        yield from self._closed
        self._closed.clear()

    def refuse(self, *_: object) -> None:
        raise ToolError(f"{self._what} declares a document type or entities, which are never read.")


def to_one_line(text: str, limit: int) -> str:
    """The beginning of a text as one line of at most ``limit`` characters; invisible ones are escaped."""
    return cut_text(_escape(" ".join(text[: 4 * limit].split())), limit)


def keep_ends(text: str, limit: int) -> str:
    """Beginning and end of a text, at most ``limit`` characters; invisible ones are escaped, line breaks stay."""
    shown = _escape(_cut_middle(text.strip(), 4 * limit))
    return _cut_middle(shown, limit)


def join_names(names: Iterable[str], limit: int) -> str:
    """The id of a test of its names, on one line; those that differ in spaces only stay two tests."""
    whole = "::".join(filter(None, names))
    return keep_ends(re.sub(r"[^\S ]", " ", whole[:100_000]), limit) or "unnamed"


def _cut_middle(text: str, limit: int) -> str:
    half = (limit - 1) // 2
    return text if len(text) <= limit else f"{text[:half]}…{text[-half:]}"


def _escape(text: str) -> str:
    if text.isprintable():
        return text
    plain = _TERMINAL.sub("", text)
    return "".join(char if char.isprintable() or char in "\n\t" else _escape_char(char) for char in plain)


def parse_number(text: str | None, most: int) -> int | None:
    """A whole number from 0 to ``most``; None for anything else."""
    if text is None or not re.fullmatch(r"[0-9]{1,9}", text, re.ASCII):
        return None
    value = int(text)
    return value if value <= most else None


def to_repository_path(path: str, root: str, longest: int) -> str | None:
    """The path relative to the repository; None if it leads elsewhere or is no valid name of a file.

    :param root: absolute path of the repository, as the program saw it.
    """
    name = path.removeprefix("file://").removeprefix(root.rstrip("/") + "/")
    if name.startswith(("/", "~")) or "\\" in name or ":" in name[:3] or not name.isprintable() or len(name) > longest:
        return None
    parts: list[str] = []
    for part in name.split("/"):
        if part == "..":
            if not parts:
                return None
            parts.pop()
        elif part not in ("", "."):
            parts.append(part)
    return "/".join(parts) or None


def _escape_char(char: str) -> str:
    return char.encode("unicode_escape").decode()
