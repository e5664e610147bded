"""The fields of the form for the configuration: made from the schema, filled from the file, read back into values."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pydantic import JsonValue

from domain.config import schema
from domain.config.mistakes import Mistake
from domain.config.presets import Values, flatten
from pipeline.config.editing import ABSENT, NewValue

PREFIX = "value:"
"""What the names of the fields begin with."""
GROUPS: Sequence[tuple[str, Sequence[str]]] = (
    ("Limits to start from", ("preset", "ladder.max_level", "ladder.pinned")),
    (
        "Review",
        (
            "review.on_pull_request",
            "review.drafts",
            "review.forks",
            "review.model",
            "review.unread",
            "review.max_comments",
            "review.dry_run",
            "review.paths.include",
            "review.paths.exclude",
            "review.never_send",
        ),
    ),
    ("Commands", ("commands.setup", "commands.test", "commands.lint", "commands.typecheck", "commands.build")),
    ("Money, in USD", ("budgets.run", "budgets.day")),
    ("Files with special care", ("paths.protected", "paths.sensitive")),
    ("Issues and labels", ("issues.run", "labels.run")),
    ("Memory and audit", ("memory.enabled", "memory.organisation", "audit.retention_days")),
)
"""What people change most; the rest is changed as text."""
_WHOLE = re.compile(r"[-+]?[0-9]{1,18}")
_NUMBER = re.compile(r"[-+]?[0-9]{1,18}\.[0-9]{1,18}")


@dataclass(frozen=True)
class FormField:
    """One field.

    :param kind: ``choice``, ``lines`` or ``text``.
    :param shown: what it holds; empty: the key is not in the file.
    :param holds: what holds now, whatever it comes from.
    :param choices: for a choice, without the empty one.
    :param mistakes: sentences about what was entered.
    """

    path: str
    kind: str
    shown: str
    holds: str
    description: str
    allowed: str
    choices: Sequence[str] = ()
    mistakes: Sequence[str] = ()

    @property
    def name(self) -> str:
        return PREFIX + self.path


def build_fields(
    own: Values, effective: Values, typed: Mapping[str, str] | None = None, mistakes: Sequence[Mistake] = ()
) -> Sequence[tuple[str, Sequence[FormField]]]:
    """All fields by group.

    :param own: the values of the file.
    :param effective: the values that hold.
    :param typed: what was entered, by path; None: nothing yet.
    """
    present, holding = flatten(own), flatten(effective)
    return [(title, [_build(path, present, holding, typed, mistakes) for path in paths]) for title, paths in GROUPS]


def read_changes(own: Values, typed: Mapping[str, str]) -> Mapping[str, NewValue]:
    """What was entered and is not in the file already, by path; a text that fits no kind stays text, for the checks."""
    present = flatten(own)
    changes: dict[str, NewValue] = {}
    for path, text in typed.items():
        node = schema.drop_null(schema.find_node(path.split(".")) or {})
        if text != _show(present.get(path, ABSENT), _name_kind(node)):
            changes[path] = _parse(text, path, node)
    return changes


def read_typed(form: Mapping[str, str]) -> Mapping[str, str]:
    """What was entered into the fields, by path, without what browsers add to line breaks."""
    known = [path for _, paths in GROUPS for path in paths]
    return {path: _tidy(form[PREFIX + path]) for path in known if PREFIX + path in form}


def list_elsewhere(mistakes: Sequence[Mistake]) -> Sequence[Mistake]:
    """The mistakes that belong to no field."""
    known = [path for _, paths in GROUPS for path in paths]
    return [one for one in mistakes if not any(_is_about(one, path) for path in known)]


def _build(
    path: str,
    present: Mapping[str, JsonValue],
    holding: Mapping[str, JsonValue],
    typed: Mapping[str, str] | None,
    mistakes: Sequence[Mistake],
) -> FormField:
    node = schema.drop_null(schema.find_node(path.split(".")) or {})
    kind = _name_kind(node)
    shown = _show(present.get(path, ABSENT), kind)
    if typed is not None:
        shown = typed.get(path, shown)
    choices = ["true", "false"] if node.get("type") == "boolean" else [str(each) for each in node.get("enum", ())]
    if kind == "choice" and shown and shown not in choices:
        choices.append(shown)
    found = [one.sentence for one in mistakes if _is_about(one, path)]
    holds = _show(holding.get(path), kind).replace("\n", ", ")
    allowed = schema.describe(schema.find_node(path.split(".")) or {})
    return FormField(path, kind, shown, holds, str(node.get("description", "")), allowed, choices, found)


def _is_about(mistake: Mistake, path: str) -> bool:
    return mistake.path == path or mistake.path.startswith((f"{path}[", f"{path}."))


def _name_kind(node: schema.Schema) -> str:
    if node.get("type") == "array":
        return "lines"
    return "choice" if node.get("type") == "boolean" or "enum" in node else "text"


def _show(value: NewValue, kind: str) -> str:
    if value is ABSENT:
        return ""
    if kind == "lines" and isinstance(value, list):
        return "\n".join(map(str, value)) or "[]"
    return value if isinstance(value, str) else json.dumps(value)


def _parse(text: str, path: str, node: schema.Schema) -> NewValue:
    if not text:
        return ABSENT
    is_nullable = "anyOf" in (schema.find_node(path.split(".")) or {})
    if text == "null" and is_nullable:
        return None
    if node.get("type") == "array":
        return [] if text == "[]" else [line for line in text.split("\n") if line]
    if node.get("type") == "boolean":
        return {"true": True, "false": False}.get(text, text)
    if node.get("type") in {"integer", "number"}:
        return int(text) if _WHOLE.fullmatch(text) else float(text) if _NUMBER.fullmatch(text) else text
    return text


def _tidy(text: str) -> str:
    return "\n".join(line.strip() for line in text.replace("\r\n", "\n").split("\n")).strip()
