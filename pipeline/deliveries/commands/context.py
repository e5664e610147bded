"""What the handler of one command works with, and the permission to execute it."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar, TypeVarTuple

import structlog

from domain.commands import ExecuteComment, Sender
from domain.errors import (
    Behind,
    CodeHostError,
    Forbidden,
    NotAllowed,
    NotFound,
    RateLimited,
    Unprocessable,
)
from domain.gates import Gate
from domain.github.installations import EventSnapshot
from domain.runs.run import RepositoryRef
from domain.slash import Deploy, Rollback, SlashCommand
from memory import ledger
from memory.db.engine import Database
from memory.deliveries import deliveries
from messages import commands as texts
from messages import deliveries as delivery_texts
from messages.commands import Answer
from pipeline.config import loading
from pipeline.consistent_reads import read_when_visible
from pipeline.context import DeliveryContext, Services
from pipeline.deliveries.starts import RunStarter
from pipeline.durable.journal import kind_of
from pipeline.gates.actor import (
    CommandActor,
    TurnedAway,
    check_comment_quota,
    load_actor,
    load_actor_for,
    note_assent,
    record_refusal,
)
from pipeline.publishing import comments
from safety.authorization import CommandRefusal, authorise

log = structlog.get_logger(__name__)
T = TypeVar("T")
Arguments = TypeVarTuple("Arguments")


@dataclass(frozen=True)
class CommandContext(DeliveryContext):
    """One comment and its author.

    :param actor: has no role until GitHub was asked for it.
    """

    comment: ExecuteComment
    actor: CommandActor

    @property
    def database(self) -> Database:
        return self.services.database

    @property
    def repository(self) -> RepositoryRef:
        return self.comment.repository

    @property
    def number(self) -> int:
        return self.comment.number

    @property
    def place(self) -> tuple[RepositoryRef, int]:
        """The issue or pull request of the comment."""
        return self.repository, self.number

    @property
    def here(self) -> tuple[Services, RepositoryRef, int]:
        """The same, as functions of ``pipeline`` take it."""
        return self.services, self.repository, self.number

    @property
    def rows(self) -> tuple[Database, int, int]:
        """The same, as functions of ``memory`` take it."""
        return self.database, self.repository.id, self.number

    @property
    def sender(self) -> Sender:
        return self.comment.sender

    @property
    def thread(self) -> str:
        """The thread of the comment, whose finding a command need not name; empty below the conversation."""
        return str(self.comment.comment.thread or "")

    @classmethod
    def of(cls, context: DeliveryContext, comment: ExecuteComment) -> "CommandContext":
        """The context of a comment before GitHub was asked who its author is here."""
        actor = CommandActor.without_role(comment.sender)
        return cls(context.services, context.journal, context.guid, comment, actor)

    async def answer(self, answers: Sequence[Answer]) -> str | None:
        """Answer the comment; why GitHub takes no answer, such as in a locked conversation."""
        try:
            await comments.answer(self.services, self.comment, self.guid, answers)
        except (Forbidden, NotFound, Unprocessable) as error:
            log.warning("command.unanswered", guid=self.guid, number=self.number, error=str(error))
            return error.message
        return None

    def has_decided(self, gate: Gate) -> bool:
        """Whether an execution of this comment decided it, perhaps one that died."""
        return gate.decision is not None and gate.decision.cause == self.guid

    def start_runs(self, asked: SlashCommand) -> RunStarter:
        """What starts the runs a command asks for."""
        return RunStarter(self, partial(self.require_permission, asked))

    async def ask_for_actor(self, asked: SlashCommand) -> "CommandContext | None":
        """The context with the live role of the author, read in a step; None if GitHub did not say."""
        key, seen = "ask for permission", self.comment.seen
        actor = await read_when_visible(self.services, self.journal, key, partial(self.load_actor, asked=asked), seen)
        return None if actor is None else replace(self, actor=actor)

    async def load_actor(
        self, seen: EventSnapshot | None = None, *, asked: SlashCommand | None = None
    ) -> CommandActor | None:
        """The author with their role at this moment; None if GitHub did not say.

        :param asked: what they ask for, if that may be about an environment, or not be for authors.
        """
        number = self.number if self.comment.is_pull_request else None
        try:
            where = (self.repository, number, self.sender, seen)
            if asked is None:
                return await load_actor(self.services, *where)
            actor = await load_actor_for(self.services, asked, *where, about=self.thread)
            environment = asked.environment if isinstance(asked, Deploy | Rollback) else None
            if environment is None:
                return actor
            return actor.model_copy(update={"is_production": await self._is_production(environment)})
        except (RateLimited, Behind):
            raise
        except CodeHostError:
            return None

    async def _is_production(self, environment: str) -> bool:
        configuration = await loading.load_configuration(self.services, self.repository)
        return configuration.deploy.is_production(environment)

    async def step_with_permission(
        self,
        key: str,
        asked: SlashCommand,
        call: Callable[[*Arguments], Awaitable[T]],
        *arguments: *Arguments,
    ) -> T:
        """A step that asks for permission again before it acts: the comment may have waited for hours (T-P15)."""

        async def act() -> T:
            await self.require_permission(asked)
            return await call(*arguments)

        return await self.journal.step_as(kind_of(call), key, act)

    async def require_permission(self, asked: SlashCommand) -> None:
        """:raises NotAllowed: the author may not, or GitHub does not say."""
        actor = await self.load_actor(asked=asked)
        if actor is None:
            raise NotAllowed(texts.cannot_ask(self.sender.login))
        refused = authorise(asked, actor.facts)
        if refused is not None:
            await self.record_refusal(refused)
            raise NotAllowed(texts.refuse(refused, self.sender.login))

    async def record_refusal(self, refused: CommandRefusal) -> None:
        """Keep a refusal for the audit, and what only a second person was missing for."""
        await note_assent(self.services, self.repository, self.number, self.sender, refused)
        await record_refusal(self.services, self.guid, self.sender, refused)


async def receive_comment(context: CommandContext) -> TurnedAway | None:
    """Show that Forge saw the comment, unless it turns the author away."""
    away = await check_comment_quota(context.services, context.guid, context.repository, context.sender)
    if away is None:
        await comments.show_seen(context.services, context.comment)
    return away


async def turn_away(context: CommandContext, away: TurnedAway) -> str:
    """Answer the first such comment of an hour; the audit keeps each."""
    sender, now = context.sender, context.services.clock.now()
    payload = {"code": "quota", "account": sender.id, "by_login": sender.login, "held": away.role}
    note = (context.database, context.guid, payload, now)
    await context.journal.step("note the refusal", ledger.record_refusal, *note)
    await context.journal.step("reply", _reply, context, away)
    return delivery_texts.describe_turned_away(away.why)


async def _reply(context: CommandContext, away: TurnedAway) -> None:
    if await deliveries.claim_notice(context.database, context.guid, "quota"):
        text = texts.too_many_comments(context.sender.login, away.why)
        await comments.answer(context.services, context.comment, context.guid, [Answer("", text)])
