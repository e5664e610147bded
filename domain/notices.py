"""A notice: what Forge tells a chat or a program of somebody's own, and the targets that it is sent to."""

import hashlib
import hmac
from base64 import b64encode
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from fnmatch import fnmatchcase
from urllib.parse import urlsplit

from domain.events import EventType
from domain.runs.run import RepositoryRef


class NoticeType(StrEnum):
    """What a notice is about (docs/notices.md)."""

    gate_opened = "gate.opened"
    gate_closed = "gate.closed"
    budget_reached = "budget.reached"
    model_failing = "model.failing"
    level_changed = "level.changed"
    run_failed = "run.failed"
    deployment_failed = "deployment.failed"
    deployment_rolled_back = "deployment.rolled_back"
    delivery_failed = "delivery.failed"
    forge_halted = "forge.halted"
    forge_resumed = "forge.resumed"
    test = "notices.test"  # somebody tries a target


NOTICED = frozenset(
    {
        EventType.gate_requested,
        EventType.gate_approved,
        EventType.gate_rejected,
        EventType.gate_expired,
        EventType.gate_voided,
        EventType.breaker_tripped,
        EventType.ladder_changed,
        EventType.run_failed,
        EventType.deployment_moved,
        EventType.delivery_failed,
        EventType.halted,
        EventType.resumed,
    }
)
"""Events of the ledger that a notice may follow from."""


@dataclass(frozen=True)
class Notice:
    """What is told. All texts are plain, in one line, and without credentials.

    :param cause: equal for what must be told only once.
    :param repository: None: it is about all of Forge.
    :param number: of the issue or pull request.
    :param run: the id of its run; may be empty.
    :param url: where it is decided, or seen, on GitHub; may be empty.
    :param facts: what a program may want to know, by name.
    """

    type: NoticeType
    at: datetime
    cause: str
    title: str
    text: str
    repository: RepositoryRef | None = None
    number: int | None = None
    run: str = ""
    url: str = ""
    facts: Mapping[str, str | int] = field(default_factory=dict[str, str | int])


class NoticeFormat(StrEnum):
    """What a target understands."""

    json = "json"
    slack = "slack"
    teams = "teams"


@dataclass(frozen=True)
class NoticeTarget:
    """Who is told.

    :param id: by which Forge knows it: the name that the operator gave it, or of what and how a repository names it.
    :param name: for people; without the path of an address.
    :param secret: with which JSON is signed.
    :param events: patterns of what it gets.
    :param repositories: ``owner/name`` patterns of whose notices it gets; ``*`` stands for what is about none, too.
    :param repository_id: whose configuration names it, and whose notices alone it gets; 0: it is the operator's.
    """

    id: str
    name: str
    url: str = field(repr=False)
    secret: bytes = field(repr=False)
    format: NoticeFormat = NoticeFormat.json
    events: Collection[str] = ("*",)
    repositories: Collection[str] = ("*",)
    repository_id: int = 0

    def wants(self, notice: Notice) -> bool:
        """Whether it gets a notice."""
        where = "" if notice.repository is None else notice.repository.full_name
        return _fits(notice.type.value, self.events) and _fits(where, self.repositories)


def _fits(name: str, patterns: Collection[str]) -> bool:
    return any(fnmatchcase(name.lower(), pattern.lower()) for pattern in patterns)


@dataclass(frozen=True)
class NoticeAccess:
    """What the operator gives to the sending of notices.

    :param targets: its own.
    :param key: of which the secrets of all targets are made.
    """

    targets: Sequence[NoticeTarget] = ()
    key: bytes = field(default=b"", repr=False)

    def build_target(self, repository: RepositoryRef, url: str, events: Collection[str] = ("*",)) -> NoticeTarget:
        """A target that a repository names."""
        name = f"{urlsplit(url).hostname} of {repository.full_name}"
        known_as = f"{repository.id}/{hashlib.sha256(url.encode()).hexdigest()[:20]}"
        secret = make_secret(self.key, f"{repository.id} {url}")
        return NoticeTarget(known_as, name, url, secret, events=events, repository_id=repository.id)


NO_NOTICES = NoticeAccess()


def make_secret(key: bytes, target: str) -> bytes:
    """The secret of a target.

    :param target: the name that the operator gave it, or the id of the repository that names it and its address.
    """
    return hmac.new(key, f"forge notices\0{target}".encode(), hashlib.sha256).digest()


def show_secret(secret: bytes) -> str:
    """A secret as the specification of Standard Webhooks writes it."""
    return f"whsec_{b64encode(secret).decode()}"


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


@dataclass(frozen=True)
class TargetState:
    """How a target is.

    :param at: of the last attempt.
    :param failures: in a row.
    :param problem: of the last attempt; empty if it took what was sent.
    :param rest_until: before which nothing is sent to it.
    :param hour: when the hour began in which it took ``told`` notices.
    """

    id: str
    name: str
    repository_id: int
    at: datetime
    rest_until: datetime
    hour: datetime
    told: int = 0
    failures: int = 0
    problem: str = ""
