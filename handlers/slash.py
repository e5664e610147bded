"""Reads slash commands from a comment (docs/contract.md): exactly the grammar, or a mistake."""

import re
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from functools import cache
from itertools import islice

from pydantic import ValidationError

from domain.gates import STANDARD_GATES
from domain.slash import ENTRIES, MOST_COMMANDS, SLASH, Problem, SlashCommand, SlashMistake, Verb
from domain.text.escaping import strip_invisible
from handlers.markdown import find_command_lines

LONGEST_QUOTE = 200  # characters of a mistaken line that are repeated to its author
_NEAR = 0.6  # how alike two words must be for one to be offered for the other

_LINE = re.compile(r"\S+[ \t]*(?P<verb>\S*)[ \t]*(?P<rest>.*)", re.DOTALL)
_ULID_END = "[0-9A-HJKMNP-TV-Z]{6}"
_ULID = f"(?:[0-9A-HJKMNP-TV-Z]{{20}})?{_ULID_END}"  # or its end, by which it is shown
_GATES = "|".join(STANDARD_GATES)
_END = r"(?:[ \t]+|$)"
_SHA = "[0-9a-f]{7,64}"
_GATE = rf"(?:(?!{_SHA}{_END})(?P<gate>G-{_ULID_END}|[a-z][a-z0-9_-]{{0,49}}){_END})?"
_REJECTED = rf"(?:(?P<gate>G-{_ULID_END}|{_GATES}){_END})?(?P<reason>(?!(?:G-{_ULID_END}|{_GATES})$).+)"
_ENVIRONMENT = r"(?P<environment>[A-Za-z0-9][A-Za-z0-9_./-]{0,99})"

_FINDING = rf"(?P<finding>[Ff]-[A-Za-z2-7]{{6}}){_END}"
# In its own thread a finding needs no name. A name counts there only in capitals, so that "f-string" stays a word;
# and what looks like one but is none is not taken for the beginning of a reason.
_OPTIONAL_FINDING = rf"(?:(?P<finding>F-[A-Z2-7]{{6}}){_END})?(?!F-[^a-z \t]*{_END})"

_JUDGE = rf"{_OPTIONAL_FINDING}(?P<justification>.+)?"
_ARGUMENTS: Mapping[Verb, str] = {
    Verb.view: _GATE,
    Verb.suggest: _GATE,
    Verb.approve: rf"{_GATE}(?:(?P<sha>{_SHA}){_END})?(?:with:[ \t]*(?P<conditions>.+))?",
    Verb.reject: _REJECTED,
    Verb.delegate: rf"{_GATE}@(?P<account>[A-Za-z0-9][A-Za-z0-9_-]{{0,99}})",
    Verb.review: "(?P<full>full)?",
    Verb.why: "{finding}",
    Verb.explain: "{finding}",
    Verb.fix: "{finding}",
    Verb.undismiss: "{finding}",
    Verb.dismiss: "{finding}(?P<reason>.+)",
    Verb.legitimate: _JUDGE,
    Verb.violation: _JUDGE,
    Verb.needs_review: _JUDGE,
    Verb.whitelist: r"{finding}(?P<scope>file|repository)[ \t]+(?P<justification>.+)",
    Verb.remember: "(?P<text>.+)",
    Verb.missed: "(?P<text>.+)",
    Verb.forget: f"(?P<memory>M-{_ULID})",
    Verb.more: r"(?:(?P<usd>[0-9]{1,4}(?:\.[0-9]{1,2})?)[ \t]*usd|(?P<iterations>[0-9]{1,3})[ \t]*it)",
    Verb.rollback: rf"(?:(?P<checkpoint>C-{_ULID_END})|(?!C-){_ENVIRONMENT})",
    Verb.deploy: _ENVIRONMENT,
    Verb.level: "(?P<level>[0-4])?",
}
"""What follows each verb; one that is not named here takes nothing."""

_TEXTS = frozenset({"reason", "conditions", "justification", "text"})
_NAMES = frozenset({"finding"})


def read(body: str, in_thread: bool = False) -> tuple[SlashCommand | SlashMistake, ...]:
    """The commands and mistakes of a comment, in order.

    :param body: Markdown as the author wrote it.
    :param in_thread: whether it is a reply in a review thread, where a finding needs no name.
    """
    return tuple(_parse_lines(find_command_lines(body), in_thread))


def _parse_lines(lines: Iterator[str], in_thread: bool) -> Iterator[SlashCommand | SlashMistake]:
    for line in islice(lines, MOST_COMMANDS):
        yield read_line(line, in_thread)
    for line in islice(lines, 1):
        yield _mistake(Problem.too_many, line)


def read_line(line: str, in_thread: bool = False) -> SlashCommand | SlashMistake:
    """The command of one line, which begins with ``/forge``."""
    parts = _LINE.fullmatch(line)
    word = parts["verb"] if parts else ""
    if parts is None or not word:
        return _mistake(Problem.no_verb, line)
    verb = _VERBS.get(word.lower()) if word.isascii() else None
    if verb is None:
        near = get_close_matches(word.lower()[:40], _VERBS, n=1, cutoff=_NEAR)
        return _mistake(Problem.unknown_verb, line, _VERBS[near[0]] if near else None)
    return _parse_arguments(verb, parts["rest"], in_thread, line)


_VERBS = {verb.value: verb for verb in ENTRIES}


def _parse_arguments(verb: Verb, rest: str, in_thread: bool, line: str) -> SlashCommand | SlashMistake:
    found = _pattern(verb, in_thread).fullmatch(rest)
    if found is None or "<!" in rest:  # an HTML comment is not shown to those who read along
        return _mistake(_diagnose(verb, rest, in_thread), line, verb)
    try:
        return SLASH.validate_python({"verb": verb, **_values(found.groupdict())})
    except ValidationError as error:
        too_long = any(each["type"] == "string_too_long" for each in error.errors(include_url=False))
        return _mistake(Problem.too_long if too_long else Problem.malformed, line, verb)


@cache
def _pattern(verb: Verb, in_thread: bool) -> re.Pattern[str]:
    finding = _OPTIONAL_FINDING if in_thread else _FINDING
    return re.compile(
        _ARGUMENTS.get(verb, "").replace("{finding}", finding) + r"[ \t]*", re.IGNORECASE if verb in _ANY_CASE else 0
    )


_ANY_CASE = frozenset({Verb.more, Verb.review})


def _values(groups: Mapping[str, str | None]) -> dict[str, object]:
    return {name: _value(name, text) for name, text in groups.items() if text is not None}


def _value(name: str, text: str) -> object:
    if name in _TEXTS:
        return " ".join(strip_invisible(text).split())
    if name in _NAMES:
        return text.upper()
    return True if name == "full" else text


def _diagnose(verb: Verb, rest: str, in_thread: bool) -> Problem:
    needs_finding = "{finding}" in _ARGUMENTS.get(verb, "") and not in_thread
    return Problem.no_finding if needs_finding and not re.match(_FINDING, rest) else Problem.malformed


def _mistake(problem: Problem, line: str, verb: Verb | None = None) -> SlashMistake:
    written = " ".join(strip_invisible(line).split())
    shown = written if len(written) <= LONGEST_QUOTE else written[: LONGEST_QUOTE - 1] + "…"
    return SlashMistake(problem=problem, written=shown, verb=verb)
