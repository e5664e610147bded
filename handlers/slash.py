"""Reads slash commands from a comment: what does not match the grammar (docs/commands.md) exactly is a mistake."""

import re
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from functools import cache
from itertools import islice

from pydantic import ValidationError

from domain.slash import MOST_COMMANDS, SLASH, Problem, SlashCommand, SlashMistake
from domain.text.escaping import flatten_text, strip_invisible
from domain.verbs import FINDING, INSTRUCTING, MEANT, OPTIONAL_FINDING, VERBS, Verb
from handlers import markdown
from handlers.markdown import CommandLine, find_command_lines, is_exact

LONGEST_QUOTE = 200  # characters of a wrong line that the answer quotes
_NEAR = 0.75  # how similar a verb must be to suggest it

_LINE = re.compile(r"\S+[ \t]*(?P<verb>\S*)[ \t]*(?P<rest>.*)", re.DOTALL)

_WITHOUT_SLASH = re.compile(r"forge do[ \t]+\S.*", re.IGNORECASE)  # no sentence begins a comment so

_TEXTS = frozenset({"reason", "conditions", "text"})
_NAMES = frozenset({"finding"})
_PATH = re.compile(r"`([^`]+)`|\"([^\"]+)\"|(\S+)")


def read(body: str, in_thread: bool = False) -> tuple[SlashCommand | SlashMistake, ...]:
    """The commands and mistakes of a comment, in order.

    :param body: Markdown as the author wrote it.
    :param in_thread: whether it is a reply in a review thread, where the finding's id may be left out.
    """
    found = tuple(_parse_lines(find_command_lines(body), in_thread))
    bare = None if found else _WITHOUT_SLASH.match(body)
    return found if bare is None else (_mistake(Problem.near_miss, bare[0], Verb.do),)


def _parse_lines(lines: Iterator[CommandLine], in_thread: bool) -> Iterator[SlashCommand | SlashMistake]:
    found = ((line.text, made) for line in lines if (made := _read_any(line, in_thread)) is not None)
    for _, made in islice(found, MOST_COMMANDS):
        yield made
    for line, _ in islice(found, 1):
        yield _mistake(Problem.too_many, line)


def _read_any(line: CommandLine, in_thread: bool) -> SlashCommand | SlashMistake | None:
    if not is_exact(line.text):
        return _read_near_miss(line.text, in_thread)
    return read_line(line.text, in_thread, line.written)


def _read_near_miss(line: str, in_thread: bool) -> SlashMistake | None:
    """The mistake in a line that is a command but for its first characters; None if it is a sentence like any other."""
    seen, meant = markdown.unify(line).strip(), read_line(markdown.complete(line) or "", in_thread)
    if not isinstance(meant, SlashMistake):
        return _mistake(Problem.near_miss, seen, meant.verb)
    is_unknown = meant.problem is Problem.unknown_verb and meant.verb is None
    return _mistake(Problem.unknown_verb, seen) if is_unknown else None


def read_line(line: str, in_thread: bool = False, written: str = "") -> SlashCommand | SlashMistake:
    """The command of one line, which begins with ``/forge``.

    :param written: the same with what stands below it, which belongs to a free text at its end.
    """
    parts = _LINE.fullmatch(line)
    word = parts["verb"] if parts else ""
    if parts is None or not word:
        return _mistake(Problem.no_verb, line)
    verb = _BY_NAME.get(word.lower()) if word.isascii() else None
    meant = _find_meant(f"{word} {parts['rest']}") if verb in {None, Verb.fix} else None
    if verb is None or meant is not None:
        return _diagnose_verb(word, line, meant)
    whole = _LINE.fullmatch(written)
    is_same = whole is not None and whole["verb"].lower() == word.lower()
    return _parse_arguments(verb, parts["rest"], in_thread, line, whole["rest"] if whole and is_same else "")


def _diagnose_verb(word: str, line: str, meant: Verb | None) -> SlashMistake:
    if meant is None and word.lower() == "merge":
        return _mistake(Problem.merges, line, Verb.update)
    near = get_close_matches(word.lower()[:40], _BY_NAME, n=1, cutoff=_NEAR)
    return _mistake(Problem.unknown_verb, line, meant or (_BY_NAME[near[0]] if near else None))


def _find_meant(words: str) -> Verb | None:
    """The verb for what people write in place of one."""
    said = " ".join(words.lower().split())[:LONGEST_QUOTE]
    return next((verb for verb, pattern in MEANT if re.match(rf"(?:{pattern})\b", said)), None)


_BY_NAME = {verb.value: verb for verb in VERBS}


def _parse_arguments(verb: Verb, rest: str, in_thread: bool, line: str, whole: str) -> SlashCommand | SlashMistake:
    pattern = _pattern(verb, in_thread)
    found = (pattern.fullmatch(whole) if _TEXTS & {*pattern.groupindex} else None) or pattern.fullmatch(rest)
    if found is None or "<!" in rest:  # GitHub hides an HTML comment from readers
        return _mistake(_diagnose(verb, rest, in_thread), line, verb)
    try:
        return SLASH.validate_python({"verb": verb, **_values(verb, found.groupdict())})
    except ValidationError as error:
        too_long = any(each["type"] == "string_too_long" for each in error.errors(include_url=False))
        return _mistake(Problem.too_long if too_long else Problem.malformed, line, verb)


@cache
def _pattern(verb: Verb, in_thread: bool) -> re.Pattern[str]:
    finding = OPTIONAL_FINDING if in_thread else FINDING
    return re.compile(VERBS[verb].arguments.replace("{finding}", finding) + r"[ \t]*", re.DOTALL)


def _values(verb: Verb, groups: Mapping[str, str | None]) -> dict[str, object]:
    return {name: _value(verb, name, text) for name, text in groups.items() if text is not None}


def _value(verb: Verb, name: str, text: str) -> object:
    if name in _TEXTS and verb in INSTRUCTING:
        return _keep_lines(strip_invisible(text))
    if name in _TEXTS:
        return flatten_text(text)
    if name in _NAMES:
        return text.upper()
    if name in ("mode", "effort", "about", "scope"):
        return text.lower()
    if name == "path":
        return text.strip().strip('`"')
    if name == "paths":
        return tuple(next(filter(None, found.groups())) for found in _PATH.finditer(text))
    return True if name in ("full", "here", "everything", "apply") else text


def _keep_lines(text: str) -> str:
    first, *below = text.strip().split("\n")
    return "\n".join([" ".join(first.split()), *map(str.rstrip, below)])


def _diagnose(verb: Verb, rest: str, in_thread: bool) -> Problem:
    needs_finding = VERBS[verb].needs_finding and not in_thread
    return Problem.no_finding if needs_finding and not re.match(FINDING, rest) else Problem.malformed


def _mistake(problem: Problem, line: str, verb: Verb | None = None) -> SlashMistake:
    written = flatten_text(line)
    shown = written if len(written) <= LONGEST_QUOTE else written[: LONGEST_QUOTE - 1] + "…"
    return SlashMistake(problem=problem, written=shown, verb=verb)
