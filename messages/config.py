"""Every text Forge writes on GitHub about a repository's configuration, in one place."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pydantic import JsonValue

from domain.config.values import Mistake, count_in_words, render_table
from domain.text.escaping import escape, inline_code, strip_invisible
from domain.text.redaction import redact_outgoing
from messages.review import CheckText

PATH = ".github/forge.yml"
CHECK_NAME = "Forge / config"
_SHOWN = 40  # changed values in the summary

_LATER = "The version of this pull request takes effect only once it is on the default branch."


def combine_checks(one: CheckText, other: CheckText) -> CheckText:
    """Two files in one check."""
    return CheckText(f"{one.title}; {other.title}"[:255], f"{one.summary}\n\n{other.summary}")


@dataclass(frozen=True)
class ValueChange:
    """One value that a new version changes; None stands for a value that is not there."""

    path: str
    before: JsonValue
    after: JsonValue


def list_changes(before: Mapping[str, JsonValue], after: Mapping[str, JsonValue]) -> list[ValueChange]:
    """What differs between two configurations, by dotted path."""
    paths = [*after, *(path for path in before if path not in after)]
    compared = [ValueChange(path, _drop_empty(before.get(path)), _drop_empty(after.get(path))) for path in paths]
    return [one for one in compared if one.before != one.after]


def _drop_empty(value: JsonValue) -> JsonValue:
    """An empty list or section says as much as none."""
    return None if value in ([], {}) else value


def not_used(mistakes: Sequence[Mistake], last_valid: str | None, organisation: bool = False) -> str:
    """Says that a broken file is put aside, why, and what holds instead.

    :param last_valid: the SHA of the version that holds; None if there never was a valid one.
    """
    where = "of the organisation's `.github` repository" if organisation else "on the default branch"
    first, others = mistakes[0], len(mistakes) - 1
    more = f" ({others} more {'mistake' if others == 1 else 'mistakes'})" if others else ""
    instead = (
        "no version was ever valid, so the preset `conservative` applies"
        if last_valid is None
        else f"Forge uses its last valid version ({last_valid[:7]})"
    )
    return f"`{PATH}` {where} is not used, {instead}. Line {first.line}: {first.brief}{more}"


def still_holds(protects: Mapping[str, JsonValue]) -> str:
    """Says what goes on holding of a file that was put aside; a sentence to append, empty where nothing does."""
    if not protects:
        return ""
    named = ", ".join(
        f"`{path}` ({len(value)} pattern{'' if len(value) == 1 else 's'})"
        if isinstance(value, list)
        else f"`{path}: {json.dumps(value)}`"
        for path, value in protects.items()
    )
    return f" Its prohibitions and protections still apply, as far as Forge can read them: {named}."


def report_hidden_file(last_valid: str | None) -> str:
    """Says that the organisation's file, which was valid before, cannot be read at the moment, and what holds.

    :param last_valid: the SHA of the version that holds; None if it is not valid any more.
    """
    instead = (
        "and its last version is no longer valid, so the preset `conservative` applies"
        if last_valid is None
        else f"so Forge uses its last valid version ({last_valid[:7]})"
    )
    return (
        f"`{PATH}` of the organisation's `.github` repository cannot be read: GitHub hides that repository from Forge, "
        f"{instead}. Let the App read it, or delete the file there so that it no longer applies."
    )


def render_broken(mistakes: Sequence[Mistake], hint: str = "") -> CheckText:
    """The check of a version with mistakes.

    :param hint: how an editor would have found them.
    """
    told = (
        f"{render_table(mistakes)}\n\n**Next:** fix {'it' if len(mistakes) == 1 else 'them'} and "
        "push. If merged as it is, Forge would ignore the file and keep using the last valid version."
    )
    return CheckText(f"{count_in_words(mistakes)} in {PATH}", f"{told}\n\n{hint}" if hint else told)


def explain_misplaced(path: str) -> str:
    """For a file that Forge does not read; also in annotations, so in plain words."""
    return f"Forge does not read `{path}`, only `{PATH}`. Rename it if it is meant for Forge."


def render_misplaced(path: str) -> CheckText:
    return CheckText(f"{path} is not read", explain_misplaced(path))


def name_schema(address: str) -> str:
    """How an editor checks and completes the file.

    :param address: of the schema.
    """
    line = inline_code(f"# yaml-language-server: $schema={address}", 400)
    return f"Editors complete and check the file if it begins with {line}."


def render_valid(changed: Sequence[ValueChange], removed: bool, notes: Sequence[str] = ()) -> CheckText:
    """The check of a version without mistakes, or of its removal."""
    head = (
        "Without the file the organisation's default applies, or the preset `standard`."
        if removed
        else f"`{PATH}` is valid."
    )
    parts = [head, _table(changed), *notes, _LATER]
    return CheckText("Removed" if removed else "Valid", "\n\n".join(part for part in parts if part))


LINTERS_NEED_SANDBOX = (
    "Your own linters run only where Forge has a sandbox of level 2 or better; the check says if they did not run."
)


def warn_without_effect(idle: Sequence[Mistake]) -> str:
    """What a valid version says in vain."""
    lines = [f"- line {one.line}: {escape(one.sentence)}" for one in idle]
    return "\n".join(["No effect in this version of Forge:", *lines])


def render_annotation(mistake: Mistake) -> tuple[str, str]:
    """Title and message of an annotation; GitHub shows them as plain text."""
    title = f"Forge: {mistake.path or 'configuration'}"
    return redact_outgoing(strip_invisible(title))[:255], redact_outgoing(strip_invisible(mistake.sentence))[:4000]


def _table(changed: Sequence[ValueChange]) -> str:
    if not changed:
        return "It changes nothing."
    rows = [f"| {inline_code(one.path)} | {_value(one.before)} | {_value(one.after)} |" for one in changed[:_SHOWN]]
    left = len(changed) - len(rows)
    tail = [f"\nand {left} more"] if left else []
    return "\n".join(["| changes | now | then |", "| --- | --- | --- |", *rows, *tail])


def _value(value: JsonValue) -> str:
    return "–" if value is None else inline_code(json.dumps(value, ensure_ascii=False), 100)
