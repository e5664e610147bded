"""Asks, at the moment somebody commands, who they are here and what they command about."""

from collections.abc import Awaitable, Callable, Collection
from datetime import datetime

from pydantic import BaseModel, ConfigDict

from domain.commands import Sender
from domain.github.pull_requests import PullRequest
from domain.github.seen import EventSnapshot
from domain.runs.run import RepositoryRef
from domain.slash.verbs import VERBS, Verb
from memory.deliveries import pushes
from memory.ledger import ledger
from memory.repositories import permits
from memory.runs import runs
from pipeline import consistent_reads
from pipeline.context import Services
from safety.authorization import AuthorizationFacts, Authorship, CommandRefusal, refuse_role

_WHOLE_HEAD_GATE = "human_review"  # asked where nothing blocks, so who approves there accepts the whole head


class CommandActor(BaseModel):
    """The live role of whoever commands, the live pull request, and whether its head got an ok before.

    :param has_pushed: they pushed to it what no other person has accepted as a whole since.
    :param is_production: what they command about is production, or not known.
    :param is_alone: they wrote it, and nobody else is left with the role that what they ask takes.
    """

    model_config = ConfigDict(frozen=True)

    sender: Sender
    role: str
    pull_request: PullRequest | None
    is_fork: bool
    has_ok: bool
    has_pushed: bool = False
    is_production: bool = True
    is_alone: bool = False

    @classmethod
    def without_role(cls, sender: Sender) -> "CommandActor":
        """An actor before GitHub was asked: nothing is allowed."""
        return cls(sender=sender, role="none", pull_request=None, is_fork=False, has_ok=False)

    @property
    def facts(self) -> AuthorizationFacts:
        """What the authorisation decides from."""
        author = None if self.pull_request is None else self.pull_request.author_id
        return AuthorizationFacts(
            role=self.role,
            is_app=self.sender.is_app,
            is_author=self.sender.id == author or self.has_pushed,
            needs_ok=self.is_fork and not self.has_ok,
            is_production=self.is_production,
            is_alone=self.is_alone,
        )

    @property
    def gives_ok(self) -> bool:
        """Whether asking for a review is also the ok for a stranger's head."""
        return self.is_fork and not self.has_ok and refuse_role(self.role, "write") is None


async def load_actor(
    services: Services, repository: RepositoryRef, number: int | None, sender: Sender, seen: EventSnapshot | None = None
) -> CommandActor:
    """Ask GitHub now. ``number`` is None where it is not about a pull request.

    :param seen: what an event showed of the pull request.
    :raises Behind: if GitHub answers with what was there before that.
    :raises CodeHostError: if GitHub does not say; that is never a permission.
    """
    role = await services.host.permission(repository, sender.login, sender.id)
    if number is None:
        return CommandActor(sender=sender, role=role, pull_request=None, is_fork=False, has_ok=False)
    pull_request = await consistent_reads.load_pull_request(services, repository, number, seen)
    wrote = await load_authorship(services, repository, pull_request, {_WHOLE_HEAD_GATE})
    return CommandActor(
        sender=sender,
        role=role,
        pull_request=pull_request,
        is_fork=pull_request.is_from_fork(repository.id),
        has_ok=await permits.has_ok(services.database, repository, number, pull_request.head_sha),
        has_pushed=wrote.includes(sender.id),
    )


async def load_actor_for(
    services: Services,
    verb: Verb,
    repository: RepositoryRef,
    number: int | None,
    sender: Sender,
    seen: EventSnapshot | None = None,
) -> CommandActor:
    """The same for a command, which the author of the change may be the only one left to give.

    :raises Behind: as above.
    :raises CodeHostError: as above.
    """
    actor = await load_actor(services, repository, number, sender, seen)
    needed = VERBS[verb].role
    return await find_out_if_alone(services, repository, actor, needed.least) if needed.not_author else actor


async def find_out_if_alone(
    services: Services, repository: RepositoryRef, actor: CommandActor, role: str
) -> CommandActor:
    """The actor, and whether nobody else is left with a role. GitHub is asked only where that could matter.

    :raises CodeHostError: if GitHub does not say.
    """
    pull_request, account = actor.pull_request, actor.sender.id
    if pull_request is None or not actor.facts.is_author or refuse_role(actor.role, role) is not None:
        return actor
    others = set(await services.host.accounts_with(repository, role)) - {account}
    wrote = await load_authorship(services, repository, pull_request, {_WHOLE_HEAD_GATE})
    return actor.model_copy(update={"is_alone": wrote.leaves_nobody_but(account, others)})


PermissionCheck = Callable[[], Awaitable[None]]
"""Asks right before an act, in the same step, whether somebody still may (T-P15).

It raises ``NotAllowed`` if not, and the ``CodeHostError`` family if GitHub does not say: that is never a permission.
"""


async def skip_check() -> None:
    """Nothing more to ask: the same step did, or no person asks."""


async def load_authorship(
    services: Services, repository: RepositoryRef, pull_request: PullRequest, accepting: Collection[str]
) -> Authorship:
    """Who wrote a pull request, as far as nobody else accepted that at one of these gates."""
    number, opener = pull_request.number, pull_request.author_id
    return await pushes.load_authorship(services.database, repository, number, opener, accepting)


async def record_refusal(services: Services, trace: str, sender: Sender, refused: CommandRefusal) -> None:
    """Keep for the audit that somebody was refused what they asked for.

    :param trace: the delivery.
    """
    payload = {
        "verb": refused.verb.value,
        "code": refused.code.value,
        "account": sender.id,
        "by_login": sender.login,
        "held": refused.held,
        "needed": refused.needed,
    }
    await ledger.record_refusal(services.database, trace, payload, services.clock.now())


async def give_ok(
    services: Services,
    repository: RepositoryRef,
    number: int,
    head_sha: str,
    sender: Sender,
    asked_at: datetime | None = None,
) -> bool:
    """Let exactly this head be looked at by everything, if it was there when they asked (T-F3); whether it was.

    GitHub cuts that moment to the second, so a run that began within that second does not count.

    :param asked_at: None for a button, which belongs to one head.
    """
    if asked_at is not None:
        past = await runs.list_for_pull_request(services.database, repository.id, number)
        if not any(each.run.head_sha == head_sha and each.began < asked_at for each in past):
            return False
    await permits.give_ok(services.database, repository, number, head_sha, sender, services.clock.now())
    return True
