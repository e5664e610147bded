"""Every text of notices, as their targets read them: JSON for programs, blocks for Slack, a card for Teams.

Texts of others are put where neither service reads any markup, and what might still act is broken: ``@``, ``<``, ``://``.
"""

import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit

from domain.events import Event, EventType
from domain.gates import Gate, GateState
from domain.notices import Notice, NoticeFormat, NoticeSeverity, NoticeType, parse_key
from domain.runs.run import ReasonCode, RepositoryRef, Run, Trigger
from domain.text.escaping import flatten_text, format_moment, strip_invisible
from domain.text.redaction import redact_outgoing
from domain.value import shorten_id
from messages.gates import name_deciders, name_retry, render_title

_HEADER = 150  # characters, the most that Slack takes
_TOLD = 2000  # characters of the text; Slack takes 3,000 in a block, Teams 28 KB in all
_SIGNS = {NoticeSeverity.info: "", NoticeSeverity.warning: "⚠ ", NoticeSeverity.error: "⛔ "}
_LOOK_ALIKE = str.maketrans(
    {
        "@": "\N{FULLWIDTH COMMERCIAL AT}",
        "<": "\N{SINGLE LEFT-POINTING ANGLE QUOTATION MARK}",
        ">": "\N{SINGLE RIGHT-POINTING ANGLE QUOTATION MARK}",
    }
)
_ACTS = re.compile(r"://|(?<=www)\.|(?<=mailto):", re.IGNORECASE)


_LONGEST = 1000  # characters of a text

_TOLD_BY_GATE = frozenset({ReasonCode.gate_rejected.value, ReasonCode.gate_timeout.value})
_OF_MONEY = frozenset({"cost.day", "cost.installation"})


def describe_target(key: str) -> str:
    """A target for people: its name, or the host of its address and the repository."""
    number, name = parse_key(key)
    return strip_invisible(f"{urlsplit(name).hostname} (repository {number})" if number else name)


def build_notice(
    event: Event, repository: RepositoryRef | None, run: Run | None, gate: Gate | None, page: str
) -> Notice | None:
    """What people are told of an event; None: nothing.

    :param page: the address of the repository on GitHub; empty without one.
    """
    family, _, _ = event.type.value.partition(".")
    if family == "gate":
        return None if gate is None else _tell_of_gate(event, gate, page)
    told = _TELLERS[event.type](event, repository, run)
    if told is None:
        return None
    kind, severity, cause, title, text, facts = told
    return Notice(
        type=kind,
        severity=severity,
        at=event.time,
        cause=cause,
        title=plain(f"{title}{_place(repository, run)}", 200),
        text=plain(text, _LONGEST),
        repository=repository,
        number=None if run is None else run.number,
        run="" if run is None else run.id,
        url=_find_page(page, run),
        facts={name: plain(value, 300) if isinstance(value, str) else value for name, value in facts.items()},
    )


def build_test(at: datetime, name: str) -> Notice:
    """What somebody sends who tries a target."""
    return Notice(
        type=NoticeType.test,
        severity=NoticeSeverity.info,
        at=at,
        cause=f"test {at.isoformat()}",
        title="A test of Forge's notices",
        text=f"The operator tries the target {plain(name, 100)}. There is nothing to do.",
    )


def sum_up(notice: Notice, more: Mapping[str, int]) -> Notice:
    """The notice that stands for those that were too many.

    :param more: how many by type.
    """
    count, where = sum(more.values()), _place(notice.repository, None)
    listed = ", ".join(f"{number} {kind}" for kind, number in sorted(more.items()))
    return notice.model_copy(
        update={
            "title": f"And {count} more{where}",
            "text": f"There was too much to tell one by one: {listed}. `forge audit` and GitHub have all of it.",
            "facts": {**more, "count": count},
        }
    )


def plain(text: str, limit: int) -> str:
    """One line without credentials and invisible characters, of at most ``limit`` characters."""
    flat = redact_outgoing(flatten_text(text[: 8 * limit + 1000]))
    return flat if len(flat) <= limit else flat[: limit - 1].rstrip() + "…"


# --- gates -------------------------------------------------------------------------------------------------


def _tell_of_gate(event: Event, gate: Gate, page: str) -> Notice | None:
    told = _describe_gate(event, gate)
    if told is None:
        return None
    kind, severity, title, text = told
    anchor = "" if gate.comment_id is None else f"#issuecomment-{gate.comment_id}"
    return Notice(
        type=kind,
        severity=severity,
        at=event.time,
        cause=f"{kind} {gate.id}",
        title=plain(f"{title} in {gate.repository.full_name}#{gate.number}", 200),
        text=plain(text, _LONGEST),
        repository=gate.repository,
        number=gate.number,
        run=gate.run_id,
        url=page and f"{page}/{'issues' if gate.request.on_issue else 'pull'}/{gate.number}{anchor}",
        facts={
            "gate": gate.short_id,
            "name": gate.name,
            "state": gate.state.value,
            "role": gate.request.role,
            "until": gate.until.astimezone(UTC).isoformat(),
            "head": gate.head_sha,
        },
    )


def _describe_gate(event: Event, gate: Gate) -> tuple[NoticeType, NoticeSeverity, str, str] | None:
    who = f"Who may decide it: anyone with the role {name_deciders(gate.request)}."
    by = f"{who} Without an answer by {format_moment(gate.until)} it expires, which lets nothing pass."
    why = " ".join(_end(reason.text) for reason in gate.request.reasons[:3])
    match event.type:
        case EventType.gate_requested if gate.is_waiting:
            text = f"{_end(gate.request.prompt)} {why} {by}"
            return NoticeType.gate_opened, NoticeSeverity.warning, f"{gate.name} waits for a person", text
        case EventType.gate_expiring if gate.is_waiting:
            title = f"{gate.name} is about to expire"
            return NoticeType.gate_expiring, NoticeSeverity.warning, title, f"Nobody has answered yet. {by}"
        case EventType.gate_escalated:
            text = f"{_tell_expired(gate)} {', '.join(event.payload.get('to', ()))} were told."
            return NoticeType.gate_escalated, NoticeSeverity.error, f"{gate.name} was passed on: nobody answered", text
        case EventType.gate_approved | EventType.gate_rejected | EventType.gate_expired | EventType.gate_voided:
            return _describe_end(gate)
        case _:
            return None


def _tell_expired(gate: Gate) -> str:
    again = name_retry(gate)
    return f"{render_title(gate)}.{f' {again} asks again.' if again else ''}"


def _describe_end(gate: Gate) -> tuple[NoticeType, NoticeSeverity, str, str]:
    decision = gate.decision
    by = f" by {decision.deciders}" if decision is not None and decision.by_login else ""
    words = f" {decision.by_login} wrote: {decision.words}" if decision is not None and decision.words else ""
    if gate.state is GateState.expired:
        return NoticeType.gate_closed, NoticeSeverity.error, f"{gate.name} expired", _tell_expired(gate)
    if gate.state is GateState.void:
        return NoticeType.gate_closed, NoticeSeverity.info, f"{gate.name} is void", "There is nothing left to decide."
    return NoticeType.gate_closed, NoticeSeverity.info, f"{gate.name} was {gate.state}{by}", f"It is decided.{words}"


# --- what else happens -------------------------------------------------------------------------------------

_Told = tuple[NoticeType, NoticeSeverity, str, str, str, dict[str, str | int]]
"""Type, severity, cause, title, text, facts."""


def _tell_of_warning(event: Event, repository: RepositoryRef | None, run: Run | None) -> _Told | None:
    facts = event.payload
    name, code = str(facts.get("name", "")), str(facts.get("code", ""))
    scope = name if name.startswith("cost.") else code or name
    if not name.startswith("cost") and name not in {"iteration", "time"}:
        return None
    text = f"{_end(str(facts.get('text') or 'Four fifths of it are used'))} Forge asks a person when it is reached."
    cause = _name_limit("budget.warning", event, repository, scope)
    told: dict[str, str | int] = {"limit": scope}
    return NoticeType.budget_warning, NoticeSeverity.warning, cause, f"The limit {scope} is close", text, told


def _tell_of_breaker(event: Event, repository: RepositoryRef | None, run: Run | None) -> _Told | None:
    facts = event.payload
    name, code = str(facts.get("name", "")), str(facts.get("code", ""))
    why = _end(str(facts.get("text") or ""))
    if name == "error_rate":
        provider = str(facts.get("provider") or "")
        cause = f"model.failing {0 if repository is None else repository.id} {event.time:%Y-%m-%d %H}"
        title = f"Calls of models{f' of {provider}' if provider else ''} fail"
        text = f"{why} Forge asks again after a pause; until then reviews do without a model."
        return NoticeType.model_failing, NoticeSeverity.error, cause, title, text, {"provider": provider}
    scope = code or name
    cause = _name_limit("budget.reached", event, repository, scope)
    text = f"{why} `forge costs` shows where it went; a person can allow more at the gate, where there is one."
    told: dict[str, str | int] = {"limit": scope}
    return NoticeType.budget_reached, NoticeSeverity.error, cause, f"The limit {scope} is reached", text, told


def _name_limit(kind: str, event: Event, repository: RepositoryRef | None, scope: str) -> str:
    """What is told once: a limit of a run, or one that many runs share, once a day."""
    shared = f"{0 if repository is None else repository.id} {event.time:%Y-%m-%d}"
    return f"{kind} {scope} {shared if scope in _OF_MONEY else event.trace}"


def _tell_of_level(event: Event, repository: RepositoryRef | None, run: Run | None) -> _Told | None:
    before, level = event.payload.get("before"), event.payload.get("level")
    if not isinstance(before, int) or not isinstance(level, int) or before == level:
        return None
    is_up = level > before
    kind = NoticeType.level_raised if is_up else NoticeType.level_lowered
    severity = NoticeSeverity.info if is_up else NoticeSeverity.warning
    title = f"The automation level {'rose' if is_up else 'fell'} from {before} to {level}"
    text = f"{_end(str(event.payload.get('text') or ''))} `/forge level` shows what it allows, and sets another."
    return kind, severity, f"{kind} {event.id}", title, text, {"before": before, "level": level}


def _tell_of_pause(event: Event, repository: RepositoryRef | None, run: Run | None) -> _Told | None:
    who = str(event.payload.get("by", ""))
    if event.type is EventType.unpaused:
        text = f"{who} ended the pause: Forge acts here again."
        kind, severity, title = NoticeType.repository_unpaused, NoticeSeverity.info, "Forge goes on"
    else:
        text = f"{who} paused Forge here. `/forge unpause` of an admin ends that."
        kind, severity, title = NoticeType.repository_paused, NoticeSeverity.warning, "Forge is paused"
    return kind, severity, f"{kind} {event.id}", title, text, {"by": who}


def _tell_of_run(event: Event, repository: RepositoryRef | None, run: Run | None) -> _Told | None:
    reason, detail = str(event.payload.get("reason", "")), str(event.payload.get("detail", ""))
    if reason in _TOLD_BY_GATE or (run is not None and run.trigger is Trigger.deployment):
        return None
    why = _end(detail or reason or "nobody knows why")
    text = f"{why} `forge runs --events {event.trace[-6:]}` shows how it came there; `/forge review full` or `/forge "
    text += "run` begins anew."
    kind, title = NoticeType.run_failed, "A run failed"
    return kind, NoticeSeverity.error, f"{kind} {event.id}", title, text, {"reason": reason}


def _tell_of_deployment(event: Event, repository: RepositoryRef | None, run: Run | None) -> _Told | None:
    facts = event.payload
    state, environment = str(facts.get("state", "")), str(facts.get("environment", ""))
    deployment = shorten_id("D", event.trace)
    why = _end(str(facts.get("detail") or ""))
    told: dict[str, str | int] = {"deployment": deployment, "environment": environment}
    if state == "failed":
        kind, title = NoticeType.deployment_failed, f"The deployment {deployment} to {environment} failed"
        text = f"{why} Nobody knows for certain what runs there: look, and deploy again with `/forge deploy`."
    elif state == "rolled_back":
        kind, title = NoticeType.deployment_rolled_back, f"The deployment {deployment} to {environment} was rolled back"
        text = f"{why} What ran there before runs again."
    else:
        return None
    return kind, NoticeSeverity.error, f"{kind} {event.trace}", title, text, told


def _tell_of_delivery(event: Event, repository: RepositoryRef | None, run: Run | None) -> _Told | None:
    facts = event.payload
    guid, name = str(facts.get("delivery", "")), f"{facts.get('event', '')}.{facts.get('action', '')}".strip(".")
    text = f"{_end(str(facts.get('why', '')))} The operator can repeat it: `forge replay {guid}`."
    kind, title = NoticeType.delivery_failed, f"What GitHub reported ({name}) could not be handled"
    return kind, NoticeSeverity.warning, f"{kind} {guid}", title, text, {"delivery": guid, "event": name}


def _tell_of_halt(event: Event, repository: RepositoryRef | None, run: Run | None) -> _Told | None:
    why, who = str(event.payload.get("why", "")), str(event.payload.get("by", ""))
    if event.type is EventType.resumed:
        kind, severity, title = NoticeType.forge_resumed, NoticeSeverity.info, "Forge goes on"
        text = "The operator ended the halt, and what waited continues."
    else:
        kind, severity, title = NoticeType.forge_halted, NoticeSeverity.error, "Forge is halted"
        text = f"{_end(why)} No model is called and nothing is written to GitHub until `forge resume`."
    return kind, severity, f"{kind} {event.id}", title, text, {"by": who, "why": why}


_TELLERS = {
    EventType.breaker_warning: _tell_of_warning,
    EventType.breaker_tripped: _tell_of_breaker,
    EventType.ladder_changed: _tell_of_level,
    EventType.paused: _tell_of_pause,
    EventType.unpaused: _tell_of_pause,
    EventType.run_failed: _tell_of_run,
    EventType.deployment_moved: _tell_of_deployment,
    EventType.delivery_failed: _tell_of_delivery,
    EventType.halted: _tell_of_halt,
    EventType.resumed: _tell_of_halt,
}


def _find_page(page: str, run: Run | None) -> str:
    """Where on GitHub one sees what happened."""
    if not page or run is None:
        return page
    if run.trigger is Trigger.deployment:
        return f"{page}/commit/{run.head_sha}"
    return f"{page}/{'issues' if run.is_of_issue else 'pull'}/{run.number}"


def _place(repository: RepositoryRef | None, run: Run | None) -> str:
    if repository is None:
        return ""
    return f" in {repository.full_name}" + ("" if run is None else f"#{run.number}")


def _end(sentence: str) -> str:
    """A sentence with its full stop."""
    text = sentence.strip()
    return text[:1].upper() + text[1:] + ("" if not text or text[-1] in ".?!" else ".")


def render(notice: Notice, form: NoticeFormat) -> bytes:
    """The body of the request."""
    rendered = {NoticeFormat.json: _to_json, NoticeFormat.slack: _to_slack, NoticeFormat.teams: _to_teams}[form](notice)
    return json.dumps(rendered, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


def _to_json(notice: Notice) -> dict[str, Any]:
    """As Standard Webhooks advises: type, timestamp, data."""
    repository = notice.repository
    return {
        "type": notice.type.value,
        "timestamp": notice.at.isoformat(),
        "data": {
            "severity": notice.severity.value,
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
    """https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks: plain text but for the link."""
    title, text = f"{_SIGNS[notice.severity]}{defuse(notice.title)}", defuse(notice.text)
    blocks: list[dict[str, Any]] = [
        {"type": "header", "text": _plain_text(title, _HEADER)},
        {"type": "section", "text": _plain_text(text or "-", _TOLD)},
    ]
    if notice.url:
        link = {"type": "mrkdwn", "text": f"<{_escape(notice.url)}|See it on GitHub>"}
        blocks.append({"type": "context", "elements": [link]})
    return {
        "text": _escape(f"{title}: {text}"[:_TOLD]),  # of notifications, and where no block is shown
        "mrkdwn": False,
        "parse": "none",
        "link_names": False,
        "unfurl_links": False,
        "unfurl_media": False,
        "blocks": blocks,
    }


def _plain_text(text: str, limit: int) -> dict[str, Any]:
    return {"type": "plain_text", "text": text if len(text) <= limit else text[: limit - 1] + "…", "emoji": False}


def _escape(text: str) -> str:
    """What Slack asks to be escaped; after it nothing mentions, links or calls a channel."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _to_teams(notice: Notice) -> dict[str, Any]:
    """https://learn.microsoft.com/connectors/teams: a card whose texts are runs, in which Teams reads no Markdown."""
    colour = {NoticeSeverity.info: "Default", NoticeSeverity.warning: "Warning", NoticeSeverity.error: "Attention"}
    title = {"type": "TextRun", "text": defuse(notice.title), "weight": "Bolder", "color": colour[notice.severity]}
    text = {"type": "TextRun", "text": defuse(notice.text)[:_TOLD] or "-"}
    card: dict[str, Any] = {
        "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
        "type": "AdaptiveCard",
        "version": "1.4",
        "body": [{"type": "RichTextBlock", "inlines": [run]} for run in (title, text)],
    }
    if notice.url:
        card["actions"] = [{"type": "Action.OpenUrl", "title": "See it on GitHub", "url": notice.url}]
    content_type = "application/vnd.microsoft.card.adaptive"
    return {"type": "message", "attachments": [{"contentType": content_type, "contentUrl": None, "content": card}]}


def defuse(text: str) -> str:
    """Text in which no service finds a person, a channel or an address."""
    return _ACTS.sub(lambda match: match[0].replace(".", " .").replace(":", ": "), text.translate(_LOOK_ALIKE))
