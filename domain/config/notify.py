"""Where a repository wants to hear of what happens: gates that wait, budgets, levels and failures."""

from collections.abc import Collection, Iterator, Mapping
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import Field, JsonValue, StringConstraints

from domain.config.deploy import Address
from domain.config.values import Contradiction, Section
from domain.notices import NoticeSeverity
from domain.text.redaction import holds_secret

_OF_SECRETS = ("hooks.slack.com", "webhook.office.com", "logic.azure.com", "powerplatform.com", "discord.com")
"""Hosts whose addresses let everybody post who knows them."""


TargetName = Annotated[
    str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9_-]{0,49}$"), Field(examples=["ops", "security-team"])
]
EventPattern = Literal[
    "*",
    "gate.*",
    "budget.*",
    "model.*",
    "level.*",
    "repository.*",
    "run.*",
    "deployment.*",
    "delivery.*",
    "gate.opened",
    "gate.expiring",
    "gate.escalated",
    "gate.closed",
    "budget.warning",
    "budget.reached",
    "model.failing",
    "level.raised",
    "level.lowered",
    "repository.paused",
    "repository.unpaused",
    "run.failed",
    "deployment.failed",
    "deployment.rolled_back",
    "delivery.failed",
]


class NotifiedTarget(Section):
    """Who is told of what. It needs `target` or `url`."""

    target: TargetName | None = Field(
        default=None,
        description="A target that the operator defined (`FORGE_NOTIFY_TARGETS`), such as a channel of Slack.",
    )
    url: Address | None = Field(
        default=None,
        description="Or an address that takes signed JSON; nothing secret may be in it.",
        examples=["https://hooks.example.com/forge"],
    )
    events: tuple[EventPattern, ...] = Field(
        default=("*",),
        max_length=30,
        description="What it is told of; `gate.*` stands for a family.",
    )
    severity: Literal["info", "warning", "error"] = Field(
        default="info", description="Nothing below: `info`, `warning` or `error`."
    )

    @property
    def least(self) -> NoticeSeverity:
        """The least severity."""
        return NoticeSeverity(self.severity)


class NotifySettings(Section):
    """Who is told of gates that wait, budgets, levels and failures."""

    targets: tuple[NotifiedTarget, ...] = Field(default=(), max_length=10, description="Up to ten.")


def find_notify_mistakes(notify: NotifySettings) -> Iterator[Contradiction]:
    """Finds contradictions in the settings of notices."""
    for index, each in enumerate(notify.targets):
        place = ("notify", "targets", index)
        if (each.target is None) == (each.url is None):
            how = "names neither `target` nor `url`" if each.url is None else "names both `target` and `url`"
            yield Contradiction(place, how, "one of `target` and `url`")
        if not each.events:
            yield Contradiction((*place, "events"), "is empty, so nobody is told of anything", "`*` for all")
        if each.url is not None and _is_secret(each.url):
            what = "is a secret: whoever reads this file could post there"
            yield Contradiction((*place, "url"), what, "`target`, the name of one that the operator defined")


def _is_secret(url: str) -> bool:
    host = (urlsplit(url).hostname or "").lower()
    return holds_secret(url) or any(host == each or host.endswith(f".{each}") for each in _OF_SECRETS)


def find_unheard_targets(
    values: Mapping[str, JsonValue], allowed: Collection[str] | None = None
) -> Iterator[Contradiction]:
    """Finds targets that nothing can be sent to as things are.

    :param values: the file's own values.
    :param allowed: the names that the operator allows the repository; None: they are not known here.
    """
    section = values.get("notify")
    targets = section.get("targets") if isinstance(section, dict) else None
    for index, each in enumerate(targets if isinstance(targets, list) else ()):
        if not isinstance(each, dict):
            continue
        place, name, url = ("notify", "targets", index), each.get("target"), each.get("url")
        if isinstance(name, str) and allowed is not None and name not in allowed:
            what = "has no effect: the operator has no target of this name for this repository"
            yield Contradiction((*place, "target"), what, "")
        if isinstance(url, str) and url.lower().startswith("http://"):
            what = (
                "has no effect unless the operator allows this host by name (`FORGE_OUTBOUND_ALLOW`): it is not https"
            )
            yield Contradiction((*place, "url"), what, "")
