"""Every text of notices, as their targets read them: JSON for programs, a few lines for chats.

Texts of others are put where nothing acts upon them, and what still might is broken: ``@``, ``<``, ``://``.
"""

import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple

from domain.events import Event, EventType
from domain.gates import Gate, GateState
from domain.notices import Notice, NoticeFormat, NoticeType, TargetState
from domain.runs.run import ReasonCode, RepositoryRef, Run, Trigger
from domain.text.escaping import cut_text, flatten_text, format_moment
from domain.text.redaction import redact_outgoing
from domain.value import shorten_id
from messages.gates import name_deciders, name_retry, render_title

_LONGEST = 1000  # characters of a text
_LOOK_ALIKE = str.maketrans(
    {
        "@": "\N{FULLWIDTH COMMERCIAL AT}",
        "<": "\N{SINGLE LEFT-POINTING ANGLE QUOTATION MARK}",
        ">": "\N{SINGLE RIGHT-POINTING ANGLE QUOTATION MARK}",
    }
)
_ACTS = re.compile(r"://|(?<=www)\.|(?<=mailto):", re.IGNORECASE)
_TOLD_BY_GATE = frozenset({ReasonCode.gate_rejected.value, ReasonCode.gate_timeout.value})
_OF_MONEY = frozenset({"cost.day", "cost.installation"})


class _Told(NamedTuple):
    """What is told of an event.

    :param once: names what is told once; empty: each event is.
    """

    type: NoticeType
    title: str
    text: str
    facts: Mapping[str, str | int]
    once: str = ""


def build_notice(
    event: Event, repository: RepositoryRef | None, run: Run | None, gate: Gate | None, page: str
) -> Notice | None:
    """What people are told of an event; None: nothing.

    :param page: the address of the repository on GitHub; empty without one.
    """
    if event.type.value.startswith("gate."):
        told = None if gate is None else _tell_of_gate(event, gate)
    else:
        tell = _TELLERS.get(event.type)
        told = None if tell is None else tell(event, repository, run)
    if told is None:
        return None
    number = run.number if run is not None else None if gate is None else gate.number
    where = "" if repository is None else f" in {repository.full_name}{'' if number is None else f'#{number}'}"
    return Notice(
        type=told.type,
        at=event.time,
        cause=f"{told.type} {told.once or event.id}",
        title=plain(told.title + where, 200),
        text=plain(told.text, _LONGEST),
        repository=repository,
        number=number,
        run="" if run is None else run.id,
        url=_find_page(page, run, gate),
        facts={name: plain(value, 300) if isinstance(value, str) else value for name, value in told.facts.items()},
    )


def build_test(at: datetime, name: str) -> Notice:
    """What somebody sends who tries a target."""
    text = f"The operator tries the target {plain(name, 100)}. There is nothing to do."
    return Notice(NoticeType.test, at, "", "A test of Forge's notices", text)


def say_enough(text: str, until: datetime) -> str:
    """The text of the last notice that a target gets in an hour."""
    return f"{text} That is enough: until {format_moment(until)} nothing more is told here. GitHub has all of it."


def describe_state(state: TargetState) -> str:
    """How a target is, in one line."""
    if not state.problem:
        return f"{state.name} took the last notice, {format_moment(state.at)}"
    return f"{state.name} fails and is left alone until {format_moment(state.rest_until)}: {state.problem}"


def plain(text: str, limit: int) -> str:
    """One line without credentials and invisible characters, of at most ``limit`` characters."""
    return cut_text(redact_outgoing(flatten_text(text[: 8 * limit + 1000])), limit)


# --- what happens ------------------------------------------------------------------------------------------


def _tell_of_gate(event: Event, gate: Gate) -> _Told | None:
    facts: dict[str, str | int] = {
        "gate": gate.short_id,
        "name": gate.name,
        "state": gate.state.value,
        "role": gate.request.role,
        "until": gate.until.astimezone(UTC).isoformat(),
        "head": gate.head_sha,
    }
    if event.type is not EventType.gate_requested:
        return _Told(NoticeType.gate_closed, *_describe_end(gate), facts, gate.id)
    if not gate.is_waiting:
        return None
    why = " ".join(_end(reason.text) for reason in gate.request.reasons[:3])
    who = f"Who may decide it: anyone with the role {name_deciders(gate.request)}."
    by = f"Without an answer by {format_moment(gate.until)} it expires, which lets nothing pass."
    text = f"{_end(gate.request.prompt)} {why} {who} {by}"
    return _Told(NoticeType.gate_opened, f"{gate.name} waits for a person", text, facts, gate.id)


def _describe_end(gate: Gate) -> tuple[str, str]:
    decision = gate.decision
    by = f" by {decision.deciders}" if decision is not None and decision.by_login else ""
    words = f" {decision.by_login} wrote: {decision.words}" if decision is not None and decision.words else ""
    if gate.state is GateState.expired:
        again = name_retry(gate)
        return f"{gate.name} expired", f"{render_title(gate)}.{f' {again} asks again.' if again else ''}"
    if gate.state is GateState.void:
        return f"{gate.name} is void", "There is nothing left to decide."
    return f"{gate.name} was {gate.state}{by}", f"It is decided.{words}"


def _tell_of_breaker(event: Event, repository: RepositoryRef | None, run: Run | None) -> _Told:
    name, code, why = (str(event.payload.get(key) or "") for key in ("name", "code", "text"))
    shared = 0 if repository is None else repository.id
    if name == "error_rate":
        provider = str(event.payload.get("provider") or "")
        title = f"Calls of models{f' of {provider}' if provider else ''} fail"
        text = f"{_end(why)} Forge asks again after a pause; until then reviews do without a model."
        once = f"{shared} {event.time:%Y-%m-%d %H}"
        return _Told(NoticeType.model_failing, title, text, {"provider": provider}, once)
    limit = code or name
    once = f"{limit} {f'{shared} {event.time:%Y-%m-%d}' if limit in _OF_MONEY else event.trace}"
    text = f"{_end(why)} `forge costs` shows where it went; a person can allow more at the gate, where there is one."
    return _Told(NoticeType.budget_reached, f"The limit {limit} is reached", text, {"limit": limit}, once)


def _tell_of_level(event: Event, repository: RepositoryRef | None, run: Run | None) -> _Told | None:
    before, level = event.payload.get("before"), event.payload.get("level")
    if not isinstance(before, int) or not isinstance(level, int) or before == level:
        return None
    title = f"The automation level {'rose' if level > before else 'fell'} from {before} to {level}"
    text = f"{_end(str(event.payload.get('text') or ''))} `/forge level` shows what it allows, and sets another."
    return _Told(NoticeType.level_changed, title, text, {"before": before, "level": level})


def _tell_of_run(event: Event, repository: RepositoryRef | None, run: Run | None) -> _Told | None:
    reason, detail = str(event.payload.get("reason", "")), str(event.payload.get("detail", ""))
    if reason in _TOLD_BY_GATE or (run is not None and run.trigger is Trigger.deployment):
        return None
    text = f"{_end(detail or reason or 'nobody knows why')} `forge runs --events {event.trace[-6:]}` shows how it came "
    text += "there; `/forge review full` or `/forge run` begins anew."
    return _Told(NoticeType.run_failed, "A run failed", text, {"reason": reason})


def _tell_of_deployment(event: Event, repository: RepositoryRef | None, run: Run | None) -> _Told | None:
    state, environment, detail = (str(event.payload.get(key) or "") for key in ("state", "environment", "detail"))
    title = f"The deployment {shorten_id('D', event.trace)} to {environment}"
    facts = {"deployment": shorten_id("D", event.trace), "environment": environment}
    if state == "failed":
        text = f"{_end(detail)} Nobody knows for certain what runs there: look, and deploy again with `/forge deploy`."
        return _Told(NoticeType.deployment_failed, f"{title} failed", text, facts, event.trace)
    if state == "rolled_back":
        text = f"{_end(detail)} What ran there before runs again."
        return _Told(NoticeType.deployment_rolled_back, f"{title} was rolled back", text, facts, event.trace)
    return None


def _tell_of_delivery(event: Event, repository: RepositoryRef | None, run: Run | None) -> _Told:
    guid, name, action, why = (str(event.payload.get(key) or "") for key in ("delivery", "event", "action", "why"))
    named = f"{name}.{action}".strip(".")
    title = f"What GitHub reported ({named}) could not be handled"
    text = f"{_end(why)} The operator can repeat it: `forge replay {guid}`."
    return _Told(NoticeType.delivery_failed, title, text, {"delivery": guid, "event": named}, guid)


def _tell_of_halt(event: Event, repository: RepositoryRef | None, run: Run | None) -> _Told:
    why, facts = str(event.payload.get("why", "")), {"by": str(event.payload.get("by", ""))}
    if event.type is EventType.resumed:
        text = "The operator ended the halt, and what waited continues."
        return _Told(NoticeType.forge_resumed, "Forge goes on", text, facts)
    text = f"{_end(why)} No model is called and nothing is written to GitHub until `forge resume`."
    return _Told(NoticeType.forge_halted, "Forge is halted", text, {**facts, "why": why})


_TELLERS = {
    EventType.breaker_tripped: _tell_of_breaker,
    EventType.ladder_changed: _tell_of_level,
    EventType.run_failed: _tell_of_run,
    EventType.deployment_moved: _tell_of_deployment,
    EventType.delivery_failed: _tell_of_delivery,
    EventType.halted: _tell_of_halt,
    EventType.resumed: _tell_of_halt,
}


def _find_page(page: str, run: Run | None, gate: Gate | None) -> str:
    """Where on GitHub one sees what happened."""
    if page and gate is not None:
        anchor = "" if gate.comment_id is None else f"#issuecomment-{gate.comment_id}"
        return f"{page}/{'issues' if gate.request.on_issue else 'pull'}/{gate.number}{anchor}"
    if not page or run is None:
        return page
    if run.trigger is Trigger.deployment:
        return f"{page}/commit/{run.head_sha}"
    return f"{page}/{'issues' if run.is_of_issue else 'pull'}/{run.number}"


def _end(sentence: str) -> str:
    """A sentence with its full stop."""
    text = sentence.strip()
    return text[:1].upper() + text[1:] + ("" if not text or text[-1] in ".?!" else ".")


# --- what is sent ------------------------------------------------------------------------------------------


def render(notice: Notice, form: NoticeFormat) -> bytes:
    """The body of the request."""
    if form is NoticeFormat.json:
        content = _to_json(notice)
    elif form is NoticeFormat.slack:
        content = _to_slack(notice)
    else:
        content = _to_teams(notice)
    return json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


def _to_json(notice: Notice) -> dict[str, Any]:
    """As Standard Webhooks advises: type, timestamp, data."""
    repository = notice.repository
    return {
        "type": notice.type.value,
        "timestamp": notice.at.isoformat(),
        "data": {
            "title": notice.title,
            "text": notice.text,
            "url": notice.url or None,
            "repository": None if repository is None else {"id": repository.id, "name": repository.full_name},
            "number": notice.number,
            "run": notice.run or None,
            "facts": dict(notice.facts),
        },
    }


def _to_slack(notice: Notice) -> dict[str, Any]:
    """https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks, which other chats understand, too."""
    said = "\n".join(filter(None, (defuse(notice.title), defuse(notice.text), notice.url)))
    return {"text": said.replace("&", "&amp;"), "parse": "none", "link_names": False, "unfurl_links": False}


def _to_teams(notice: Notice) -> dict[str, Any]:
    """https://learn.microsoft.com/connectors/teams: a card whose text is a run, in which Teams reads no Markdown."""
    run = {"type": "TextRun", "text": f"{defuse(notice.title)}: {defuse(notice.text)}"}
    card: dict[str, Any] = {
        "type": "AdaptiveCard",
        "version": "1.4",
        "body": [{"type": "RichTextBlock", "inlines": [run]}],
    }
    if notice.url:
        card["actions"] = [{"type": "Action.OpenUrl", "title": "See it on GitHub", "url": notice.url}]
    content_type = "application/vnd.microsoft.card.adaptive"
    return {"type": "message", "attachments": [{"contentType": content_type, "content": card}]}


def defuse(text: str) -> str:
    """Text in which no service finds a person, a channel or an address."""
    return _ACTS.sub(lambda match: match[0].replace(".", " .").replace(":", ": "), text.translate(_LOOK_ALIKE))
