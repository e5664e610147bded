"""Says in words what an event of the audit tells, writes events as JSON Lines or CSV, and words figures and ages."""

import csv
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from io import StringIO
from typing import Any, cast

from domain.events import Event, EventType
from domain.gates import join_deciders
from domain.money import BudgetExtension, format_usd
from domain.runs.metrics import Measure, Series
from domain.text.escaping import strip_invisible
from domain.text.redaction import PROCESS_REDACTOR, redact_outgoing
from domain.value import shorten_id

_FAMILIES = ("gate.", "breaker.", "guard.", "ladder.", "safety.", "feedback.")
SAFETY_EVENTS: Sequence[EventType] = tuple(
    kind
    for kind in EventType
    if kind.value.startswith(_FAMILIES)
    or kind
    in {
        EventType.budget_granted,
        EventType.budget_refused,
        EventType.permission_refused,
        EventType.checkpoint_failed,
        EventType.memory_stored,
        EventType.memory_edited,
        EventType.memory_archived,
    }
)
"""What is a safety decision, tells of one, or changes what mutes findings."""
RUN_EVENTS: Sequence[EventType] = tuple(kind for kind in EventType if kind.value.startswith("run."))
"""What moves a run: part of a run's story and of a gate's."""
_WAIVED = "nobody else has the role, so the rule on authors was waived"


@dataclass(frozen=True)
class EventDescription:
    """An event in words. Plain text, of which ``words`` are a person's own and ``why`` may quote tools and models.

    :param subject: the name of a gate, breaker or guard.
    :param gate: the id of a gate.
    """

    what: str
    subject: str = ""
    gate: str = ""
    who: str = ""
    how: str = ""
    why: str = ""
    words: str = ""


def _gate(event: Event, kind: str, facts: Mapping[str, Any]) -> EventDescription:
    name, gate_id = str(facts.get("name", "")), str(facts.get("gate", ""))
    named = f"gate {name} ({shorten_id('G', gate_id)})"
    match event.type:
        case EventType.gate_requested:
            why = "; ".join(map(str, facts.get("reasons", ())))
            return EventDescription(
                f"{named} asked, for {format_duration(float(facts.get('until', 0)))}", name, gate_id, why=why
            )
        case EventType.gate_escalated:
            return EventDescription(
                f"{named} passed on to {', '.join(facts.get('to', ()))}: nobody answered", name, gate_id
            )
        case EventType.gate_delegated:
            what = f"{named} passed on to {facts.get('to', '')}"
        case EventType.gate_expired:
            return EventDescription(f"{named} expired unanswered", name, gate_id, how="timeout")
        case EventType.gate_voided:
            return EventDescription(f"{named} became void", name, gate_id, why=str(facts.get("via", "")))
        case EventType.gate_contested:
            what = f"{named}: {facts.get('said', 'an answer')} came after the decision and does not count"
        case _:
            what = f"{named} {kind}"
    waived = _WAIVED if facts.get("waived") else ""
    granted = BudgetExtension.model_validate(facts.get("grants") or {}).label
    return EventDescription(
        what + (f", granting {granted}" if granted else ""),
        name,
        gate_id,
        who=join_deciders(facts.get("seconded_by", ()), str(facts.get("by_login", ""))),
        how=str(facts.get("via", "")),
        why=waived,
        words=str(facts.get("words", "")),
    )


def _breaker(_event: Event, kind: str, facts: Mapping[str, Any]) -> EventDescription:
    name = str(facts.get("name", ""))
    what = {"tripped": "tripped", "warning": "warns", "trial": "lets one trial through", "closed": "closed again"}
    provider = f" of {facts['provider']}" if facts.get("provider") else ""
    return EventDescription(f"breaker {name}{provider} {what.get(kind, kind)}", name, why=str(facts.get("text", "")))


def _guard(_event: Event, kind: str, facts: Mapping[str, Any]) -> EventDescription:
    name = str(facts.get("name", ""))
    return EventDescription(
        f"guard {name} {kind} before turn {int(facts.get('turn', 0)) + 1}", name, why=str(facts.get("text", ""))
    )


def _budget(event: Event, _kind: str, facts: Mapping[str, Any]) -> EventDescription:
    if event.type is EventType.budget_granted:
        slice_ = BudgetExtension(amount=facts.get("amount", 0), calls=facts.get("calls", 0))
        return EventDescription(f"another slice granted: {slice_.label or 'nothing'}")
    check = cast(Mapping[str, Any], facts.get("check") or {})
    name, reason = str(check.get("name", "")), cast(Mapping[str, Any], check.get("reason") or {})
    return EventDescription(f"call of a model refused by {name or 'a limit'}", name, why=str(reason.get("text", "")))


def _ladder(event: Event, kind: str, facts: Mapping[str, Any]) -> EventDescription:
    why = str(facts.get("text") or facts.get("why") or "")
    who = str(facts.get("by", ""))
    match event.type:
        case EventType.ladder_changed:
            return EventDescription(
                f"ladder: level {facts.get('before', '?')} to {facts.get('level', '?')}", who=who, why=why
            )
        case EventType.ladder_acted:
            rule = f" by rule {facts['rule']}" if facts.get("rule") else ""
            return EventDescription(
                f"ladder: {facts.get('act', 'acted')} at level {facts.get('level', '?')}{rule}", why=why
            )
        case _:
            return EventDescription(f"ladder: {kind}", who=who, why=why)


def _permission(_event: Event, _kind: str, facts: Mapping[str, Any]) -> EventDescription:
    asked = f"gate {facts['name']}" if facts.get("gate") else f"/forge {facts.get('verb', '')}".strip()
    needed = f", needs {facts['needed']}" if facts.get("needed") else ""
    why = f"{facts.get('code', '')}: has {facts.get('held', 'no role')}{needed}"
    gate_id, name = str(facts.get("gate", "")), str(facts.get("name", ""))
    return EventDescription(
        f"refused: {asked}",
        name,
        gate_id,
        who=str(facts.get("by_login") or f"account {facts.get('account', '?')}"),
        why=why,
    )


def _safety(event: Event, kind: str, facts: Mapping[str, Any]) -> EventDescription:
    who, words = str(facts.get("by", "")), str(facts.get("why", ""))
    if event.type in {EventType.halted, EventType.resumed}:
        return EventDescription(f"Forge {kind} by the operator", who=who, how="command line", words=words)
    if event.type is EventType.ok_given:
        return EventDescription(f"ok for head {str(facts.get('head', ''))[:7]} of a stranger", who=who)
    return EventDescription(f"repository {kind}", who=who)


def _feedback(event: Event, kind: str, facts: Mapping[str, Any]) -> EventDescription:
    who, words = str(facts.get("by", "")), str(facts.get("description", ""))
    if event.type is EventType.feedback_missed:
        return EventDescription("a critical bug was missed", who=who, words=words)
    if event.type is EventType.feedback_merged:
        return EventDescription(f"#{facts.get('number', '?')} was merged")
    if event.type is EventType.feedback_decided:
        return EventDescription(f"merged {'with' if facts.get('approved') else 'against'} the verdict", who=who)
    if event.type is EventType.feedback_reacted:
        thumb = "up" if facts.get("content") == "+1" else "down"
        return EventDescription(f"thumb {thumb} for finding {facts.get('finding', '')}", who=who)
    why = _WAIVED if facts.get("waived") else ""
    return EventDescription(f"finding {facts.get('finding', '')} {kind}", who=who, why=why, words=words)


def _run(_event: Event, kind: str, facts: Mapping[str, Any]) -> EventDescription:
    why = ": ".join(str(facts[name]) for name in ("reason", "detail") if facts.get(name))
    what = {"waiting": "waits", "resumed": "goes on", "started": "begins", "admitted": "is admitted"}
    return EventDescription(f"run {what.get(kind, kind)}", why=why)


def _checkpoint(event: Event, _kind: str, facts: Mapping[str, Any]) -> EventDescription:
    name = str(facts.get("id", ""))
    if event.type is EventType.checkpoint_failed:
        return EventDescription("an agent's work could not be kept", why=str(facts.get("why", "")))
    if facts.get("cause") != "rollback":
        return EventDescription(f"checkpoint {name}", name)
    paths: Sequence[object] = facts.get("paths") or ()
    what = ", ".join(map(str, paths)) if paths else "an agent's work"
    return EventDescription(
        f"{what} taken back to {facts.get('restores', 'a checkpoint')}", name, who=str(facts.get("by", ""))
    )


def _memory(event: Event, kind: str, facts: Mapping[str, Any]) -> EventDescription:
    who, name = str(facts.get("by", "")), shorten_id("M", str(facts.get("memory", "")))
    match event.type:
        case EventType.memory_edited:
            before = cast(Mapping[str, Any], facts.get("before") or {})
            after = cast(Mapping[str, Any], facts.get("after") or {})
            changed = [part for part in before if before[part] != after.get(part)]
            was = "; ".join(f"{part} was: {_join(before[part])}" for part in changed)
            now = "; ".join(f"{part} is: {_join(after.get(part, ''))}" for part in changed)
            return EventDescription(f"memory {name} corrected", name, who=who, why=was, words=now)
        case _:
            return EventDescription(f"memory {name} {kind}", name, who=who, why=str(facts.get("why", "")))


UNKNOWN = "–"
"""What stands where there is no data."""


def format_value(series: Series, value: float | None) -> str:
    """A value as text for people."""
    if value is None:
        return UNKNOWN
    if series.metric.unit == "s":
        return format_duration(value)
    if series.metric.measure is Measure.share:
        return f"{value:.0%}"
    return f"{value:.2f}"


_STEPS = ((timedelta(days=1), "d"), (timedelta(hours=1), "h"), (timedelta(minutes=1), "min"))


def describe_age(at: datetime, now: datetime) -> str:
    """How long ago it was, in its largest unit, e.g. ``3 h ago``; of the future, ``in 3 h``."""
    passed = abs(now - at)
    found = next(((passed // unit, name) for unit, name in _STEPS if passed >= unit), None)
    if found is None:
        return "just now"
    told = f"{found[0]} {found[1]}"
    return f"in {told}" if at > now else f"{told} ago"


def render_spent(spent: int, words: str = "") -> str:
    """The line; empty where there is nothing to say.

    :param spent: micro-USD.
    :param words: what else it says.
    """
    told = f"Spent by this run so far: {format_usd(spent)}." if spent else ""
    line = " ".join(filter(None, (told, words)))
    return f"<sub>{line}</sub>" if line else ""


def end_with_spent(spent: int) -> str:
    """The line as the last paragraph of a text, with what parts it from the one before."""
    line = render_spent(spent)
    return f"\n\n{line}" if line else ""


@dataclass(frozen=True)
class AuditEntry:
    """An event with where it happened.

    :param run: the id of its run; empty if it belongs to none.
    :param repository: ``owner/name``; empty if it belongs to none, e.g. what the operator does.
    """

    event: Event
    run: str
    repository: str
    number: int | None


_DESCRIBERS = {
    "gate": _gate,
    "breaker": _breaker,
    "guard": _guard,
    "budget": _budget,
    "ladder": _ladder,
    "permission": _permission,
    "safety": _safety,
    "feedback": _feedback,
    "run": _run,
    "checkpoint": _checkpoint,
    "memory": _memory,
}
COLUMNS = (
    "time",
    "id",
    "type",
    "repository",
    "number",
    "run",
    "phase",
    "what",
    "subject",
    "gate",
    "who",
    "account_id",
    "how",
    "why",
    "words",
    "value",
    "threshold",
    "seconds",
    "cost_usd",
)
"""Of the export as CSV."""
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")


def describe_event(event: Event) -> EventDescription:
    """What an event says."""
    family, _, kind = event.type.value.partition(".")
    return _DESCRIBERS.get(family, _other)(event, kind, event.payload)


def _join(value: Any) -> str:
    return ", ".join(map(str, cast(Sequence[object], value))) if isinstance(value, list) else str(value)


def _other(event: Event, _kind: str, _facts: Mapping[str, Any]) -> EventDescription:
    return EventDescription(event.type.value)


def format_duration(seconds: float) -> str:
    """A length of time for people, in its two largest units."""
    whole = round(seconds)
    if whole < 1:
        return f"{seconds * 1000:.0f} ms" if seconds > 0 else "no time"
    parts = [(whole // 86_400, "d"), (whole // 3_600 % 24, "h"), (whole // 60 % 60, "min"), (whole % 60, "s")]
    first = next(index for index, (count, _) in enumerate(parts) if count)
    return " ".join(f"{count} {unit}" for count, unit in parts[first : first + 2] if count)


def to_row(entry: AuditEntry) -> tuple[str, ...]:
    """An entry as one row of :data:`COLUMNS`."""
    event, told, facts = entry.event, describe_event(entry.event), entry.event.payload
    account = facts.get("by_id", facts.get("account"))
    values: tuple[object, ...] = (
        event.time.isoformat(),
        event.id,
        event.type.value,
        entry.repository,
        entry.number,
        entry.run,
        None if event.phase is None else event.phase.value,
        told.what,
        told.subject,
        told.gate,
        told.who,
        account,
        told.how,
        told.why,
        told.words,
        facts.get("value"),
        facts.get("threshold"),
        event.duration,
        event.cost or None,
    )
    return tuple("" if value is None else str(value) for value in values)


def to_json(entry: AuditEntry) -> dict[str, Any]:
    """An entry with everything the ledger knows of it, for JSON Lines."""
    return {
        **entry.event.model_dump(mode="json"),
        "run": entry.run or None,
        "repository": entry.repository or None,
        "number": entry.number,
        "told": describe_event(entry.event).what,
    }


class ExportForm(StrEnum):
    jsonl = "jsonl"  # everything the ledger knows
    csv = "csv"  # the columns that people read


def export_head(form: ExportForm) -> str:
    """What an export begins with."""
    return _to_line(COLUMNS) if form is ExportForm.csv else ""


def export_entry(entry: AuditEntry, form: ExportForm) -> str:
    """One event, with the end of its line."""
    if form is ExportForm.csv:
        return _to_line([escape_cell(cell) for cell in to_row(entry)])
    return json.dumps(PROCESS_REDACTOR.redact_values(to_json(entry))) + "\n"  # ASCII, so it cannot control a terminal


def escape_cell(cell: str) -> str:
    """Makes a cell safe: no spreadsheet reads it as a formula (OWASP, CSV injection), no terminal as a command."""
    plain = strip_invisible(redact_outgoing(cell))
    return f"'{plain}" if plain.startswith(_FORMULA) else plain


def _to_line(cells: Sequence[str]) -> str:
    line = StringIO()
    csv.writer(line).writerow(cells)
    return line.getvalue()
