"""Writes notices as their targets read them: JSON for programs, blocks for Slack, an Adaptive Card for Teams.

Texts of others are put where neither service reads any markup, and what might still act is broken: ``@``, ``<``, ``://``.
"""

import json
import re
from typing import Any

from domain.notices import Notice, NoticeFormat, NoticeSeverity

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
