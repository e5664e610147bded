"""A notice: what Forge tells a chat, a pager or a program of somebody's own, and the targets that it is sent to."""

import hashlib
import hmac
from base64 import b64encode
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from fnmatch import fnmatchcase

from domain.events import EventType
from domain.runs.run import RepositoryRef
from domain.value import Value


class NoticeSeverity(StrEnum):
    """How much a notice matters, from the least on."""

    info = "info"
    warning = "warning"
    error = "error"

    def reaches(self, least: "NoticeSeverity") -> bool:
        """Whether it is at least as severe as ``least``."""
        order = list(NoticeSeverity)
        return order.index(self) >= order.index(least)


class NoticeType(StrEnum):
    """What a notice is about (docs/notices.md)."""

    gate_opened = "gate.opened"
    gate_expiring = "gate.expiring"
    gate_escalated = "gate.escalated"
    gate_closed = "gate.closed"
    budget_warning = "budget.warning"
    budget_reached = "budget.reached"
    model_failing = "model.failing"
    level_raised = "level.raised"
    level_lowered = "level.lowered"
    repository_paused = "repository.paused"
    repository_unpaused = "repository.unpaused"
    run_failed = "run.failed"
    deployment_failed = "deployment.failed"
    deployment_rolled_back = "deployment.rolled_back"
    delivery_failed = "delivery.failed"
    forge_halted = "forge.halted"
    forge_resumed = "forge.resumed"
    more = "notices.more"  # stands for notices that were too many to send
    test = "notices.test"  # somebody tries a target


NOTICED = frozenset(
    {
        EventType.gate_requested,
        EventType.gate_expiring,
        EventType.gate_escalated,
        EventType.gate_approved,
        EventType.gate_rejected,
        EventType.gate_expired,
        EventType.gate_voided,
        EventType.breaker_warning,
        EventType.breaker_tripped,
        EventType.ladder_changed,
        EventType.paused,
        EventType.unpaused,
        EventType.run_failed,
        EventType.deployment_moved,
        EventType.delivery_failed,
        EventType.halted,
        EventType.resumed,
    }
)
"""Events of the ledger that a notice may follow from."""


class Notice(Value):
    """What is told. All texts are plain, in one line, and without credentials.

    :param cause: equal for what must be told only once.
    :param repository: None: it is about all of Forge.
    :param number: of the issue or pull request.
    :param run: the id of its run; may be empty.
    :param url: where it is decided, or seen, on GitHub; may be empty.
    :param facts: what a program may want to know, by name.
    """

    type: NoticeType
    severity: NoticeSeverity
    at: datetime
    cause: str
    title: str
    text: str
    repository: RepositoryRef | None = None
    number: int | None = None
    run: str = ""
    url: str = ""
    facts: Mapping[str, str | int] = {}


class NoticeFormat(StrEnum):
    """What a target understands."""

    json = "json"
    slack = "slack"
    teams = "teams"

    @property
    def is_chat(self) -> bool:
        """Whether people read it; such services take about one message a second, and check no signature."""
        return self is not NoticeFormat.json


@dataclass(frozen=True)
class NoticeTarget:
    """A target that the operator defines. Its address is a secret.

    :param secret: with which what is sent there is signed; None: one that is made of the App's key.
    :param repositories: ``owner/name`` patterns of those that may name it.
    :param events: patterns of what it gets of every repository without being named.
    :param severity: the least one of these.
    """

    name: str
    url: str = field(repr=False)
    format: NoticeFormat = NoticeFormat.json
    secret: bytes | None = field(default=None, repr=False)
    repositories: tuple[str, ...] = ()
    events: tuple[str, ...] = ()
    severity: NoticeSeverity = NoticeSeverity.info

    def allows(self, repository: RepositoryRef) -> bool:
        """Whether a repository may name it."""
        return _fits(repository.full_name, self.repositories)

    def wants(self, kind: NoticeType, severity: NoticeSeverity) -> bool:
        """Whether it gets this of every repository."""
        return chooses(self.events, kind) and severity.reaches(self.severity)


@dataclass(frozen=True)
class NoticeAccess:
    """What the operator gives to the sending of notices.

    :param targets: by name.
    :param key: of which the secrets of other targets are made.
    """

    targets: Mapping[str, NoticeTarget] = field(default_factory=dict[str, NoticeTarget])
    key: bytes = field(default=b"", repr=False)

    def list_allowed(self, repository: RepositoryRef) -> Collection[str]:
        """The names of the targets that a repository may name."""
        return {name for name, target in self.targets.items() if target.allows(repository)}

    def make_secret(self, target: str) -> bytes:
        """The secret of a target that has none of its own.

        :param target: its key, see :func:`make_key`.
        """
        return hmac.new(self.key, f"forge notices\0{target}".encode(), hashlib.sha256).digest()


NO_NOTICES = NoticeAccess()


def make_key(repository: RepositoryRef, url: str) -> str:
    """What a target of a repository is known by, for its place in the queue and its secret. A named one by its name."""
    return f"{repository.id} {url}"


def parse_key(key: str) -> tuple[int, str]:
    """The id of the repository that names an address, and that; of a target of the operator 0 and its name."""
    number, space, url = key.partition(" ")
    return (int(number), url) if space else (0, key)


def show_secret(secret: bytes) -> str:
    """A secret as the specification of Standard Webhooks writes it."""
    return f"whsec_{b64encode(secret).decode()}"


def chooses(patterns: Collection[str], kind: NoticeType) -> bool:
    """Whether patterns of events choose this one."""
    return _fits(kind.value, patterns)


def _fits(name: str, patterns: Collection[str]) -> bool:
    return any(fnmatchcase(name.lower(), pattern.lower()) for pattern in patterns)


def sign(secret: bytes, notice_id: str, at: datetime, body: bytes) -> dict[str, str]:
    """The headers by which a receiver knows the sender, after https://www.standardwebhooks.com.

    :param notice_id: the same in every attempt.
    :param at: the time of this attempt.
    """
    moment = f"{int(at.timestamp())}"
    digest = hmac.new(secret, b".".join([notice_id.encode(), moment.encode(), body]), hashlib.sha256).digest()
    return {
        "webhook-id": notice_id,
        "webhook-timestamp": moment,
        "webhook-signature": f"v1,{b64encode(digest).decode()}",
    }
