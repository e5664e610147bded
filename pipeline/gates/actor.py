"""Asks, at the moment somebody commands, who they are here, what it is about, and whether they do so too often."""

from collections.abc import Awaitable, Callable
from datetime import datetime

from domain.commands import Sender
from domain.github.installations import EventSnapshot
from domain.github.pull_requests import PullRequest
from domain.runs.run import RepositoryRef
from domain.slash import SlashCommand
from domain.value import Value
from domain.verbs import VERBS, Verb
from memory import ledger
from memory.deliveries import deliveries
from memory.repositories import permits
from memory.runs import runs
from pipeline import consistent_reads
from pipeline.context import Services
from pipeline.gates.authorship import load_authorship
from safety.authorization import (
    AuthorizationFacts,
    CommandRefusal,
    RefusalCode,
    authorise,
    name_assent,
    needs_authorship,
    refuse_role,
)
from safety.authorship import Authorship, Doubt
from safety.eligibility import over_comment_quota

_WHOLE_HEAD_GATE = "human_review"  # asked where nothing blocks, so who approves there accepts the whole head


class CommandActor(Value):
    """The live role of whoever commands, the live pull request, and whether its head got an ok before.

    :param has_written: they wrote part of it that no other person has accepted as a whole since.
    :param is_production: what they command about is production, or not known.
    :param is_alone: they wrote it, and too few others are left with the role that what they ask takes.
    :param doubt: why it takes a second person.
    :param seconds: the logins of those who said the same before and are as entitled to it.
    :param assent: the name of what they ask.
    """

    sender: Sender
    role: str
    pull_request: PullRequest | None
    is_fork: bool
    has_ok: bool
    has_written: bool = False
    is_production: bool = True
    is_alone: bool = False
    doubt: Doubt | None = None
    seconds: tuple[str, ...] = ()
    assent: str = ""

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
            is_author=self.sender.id == author or self.has_written,
            needs_ok=self.is_fork and not self.has_ok,
            is_production=self.is_production,
            is_alone=self.is_alone,
            doubt=self.doubt,
            has_second=bool(self.seconds),
            assent=self.assent,
        )

    @property
    def gives_ok(self) -> bool:
        """Whether asking for a review is also the ok for a stranger's head."""
        return self.is_fork and not self.has_ok and refuse_role(self.role, "write") is None


async def load_actor(
    services: Services,
    repository: RepositoryRef,
    number: int | None,
    sender: Sender,
    seen: EventSnapshot | None = None,
    *,
    judges: bool = True,
) -> CommandActor:
    """Ask GitHub now. ``number`` is None where it is not about a pull request.

    :param seen: what an event showed of the pull request.
    :param judges: whether it matters who wrote it; otherwise nobody asks for that.
    :raises Behind: if GitHub answers with what was there before that.
    :raises CodeHostError: if GitHub does not say; that is never a permission.
    """
    role = await services.host.permission(repository, sender.login, sender.id)
    if number is None:
        return CommandActor(sender=sender, role=role, pull_request=None, is_fork=False, has_ok=False)
    pull_request = await consistent_reads.load_pull_request(services, repository, number, seen)
    wrote = await load_authorship(services, repository, pull_request, {_WHOLE_HEAD_GATE}) if judges else None
    return CommandActor(
        sender=sender,
        role=role,
        pull_request=pull_request,
        is_fork=pull_request.is_from_fork(repository.id),
        has_ok=await permits.has_ok(services.database, repository, number, pull_request.head_sha),
        has_written=wrote is not None and wrote.includes(sender.id),
        doubt=None if wrote is None else wrote.doubt,
    )


async def load_actor_for(
    services: Services,
    asked: SlashCommand,
    repository: RepositoryRef,
    number: int | None,
    sender: Sender,
    seen: EventSnapshot | None = None,
    about: str = "",
) -> CommandActor:
    """The same for a command, which the author of the change may be the only one left to give.

    :param about: what the command does not name; see :func:`safety.authorization.name_assent`.
    :raises Behind: as above.
    :raises CodeHostError: as above.
    """
    actor = await load_actor(services, repository, number, sender, seen, judges=needs_authorship(asked))
    needed = VERBS[asked.verb].role
    return await complete_actor(services, repository, actor, needed.least, asked, about) if needed.not_author else actor


async def complete_actor(
    services: Services, repository: RepositoryRef, actor: CommandActor, role: str, asked: SlashCommand, about: str = ""
) -> CommandActor:
    """The actor, with whether too few others are left with a role. GitHub is asked only where that could matter.

    :param about: as above.
    :raises CodeHostError: if GitHub does not say.
    """
    pull_request = actor.pull_request
    if pull_request is None or refuse_role(actor.role, role) is not None:
        return actor
    if not actor.facts.is_author and actor.doubt is None:
        return actor
    wrote = await load_authorship(services, repository, pull_request, {_WHOLE_HEAD_GATE})
    said = name_assent(asked, pull_request.head_sha, f"{about} into {pull_request.base_ref}")
    return await find_standing(services, repository, pull_request.number, actor, role, wrote, said)


async def find_standing(
    services: Services,
    repository: RepositoryRef,
    number: int,
    actor: CommandActor,
    role: str,
    wrote: Authorship,
    said: str,
) -> CommandActor:
    """The actor, with what they may do about a change beside the others who have a role.

    :param number: of the pull request, or of the issue that it was made for.
    :param said: the name of what they ask.
    :raises CodeHostError: if GitHub does not say who has the role.
    """
    account = actor.sender.id
    others = set(await services.host.accounts_with(repository, role)) - {account}
    standing = wrote.find_standing(account, others)
    known = {
        "has_written": standing.is_author,
        "is_alone": standing.is_left,
        "doubt": standing.doubt,
        "assent": said,
    }
    if standing.doubt is None:
        return actor.model_copy(update={**known, "seconds": ()})
    before = await permits.load_assents(services.database, repository, number, said)
    seconds = [
        before[who] for who in before.keys() & others if wrote.find_standing(who, {account, *others} - {who}).may_decide
    ]
    return actor.model_copy(update={**known, "seconds": tuple(sorted(seconds))})


PermissionCheck = Callable[[], Awaitable[None]]
"""Asks right before an act, in the same step, whether somebody still may (T-P15).

It raises ``NotAllowed`` if not, and the ``CodeHostError`` family if GitHub does not say: that is never a permission.
"""


async def skip_check() -> None:
    """Nothing more to ask: the same step did, or no person asks."""


async def note_assent(
    services: Services, repository: RepositoryRef, number: int, sender: Sender, refused: CommandRefusal
) -> None:
    """Keep what only a second person was missing for, so that it counts once they say it, too."""
    if refused.code is RefusalCode.second:
        now = services.clock.now()
        await permits.note_assent(services.database, repository, number, refused.assent, sender, now)


async def authorise_or_record(
    services: Services, trace: str, asked: SlashCommand, actor: CommandActor, verb: Verb | None = None
) -> CommandRefusal | None:
    """Why they may not, which is kept for the audit; None if they may.

    :param trace: the delivery.
    :param verb: what they did, where that asks for the same; None for the command itself.
    """
    refused = authorise(asked, actor.facts)
    if refused is not None:
        as_done = refused if verb is None else refused.model_copy(update={"verb": verb})
        await record_refusal(services, trace, actor.sender, as_done)
    return refused


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


class TurnedAway(Value):
    """Why Forge ignores a comment; in journals.

    :param role: of its author at this moment.
    """

    role: str
    why: str


async def check_comment_quota(
    services: Services, guid: str, repository: RepositoryRef, sender: Sender
) -> TurnedAway | None:
    """Count a comment, and tell whether its author comments too much.

    GitHub is asked for their role only then, so nobody else waits for it.

    :param guid: GUID of its delivery.
    """
    commented = await deliveries.count_comment(services.database, guid, repository.id, sender.id, services.clock.now())
    if not commented.is_flood:
        return None
    role = await services.host.permission(repository, sender.login, sender.id)
    reason = over_comment_quota(commented, role)
    return None if reason is None else TurnedAway(role=role, why=reason.text)
