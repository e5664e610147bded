"""The vocabulary of ``/forge VERB …``: every command with its typed arguments, and the mistakes people make."""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

LONGEST_TEXT = 1000  # characters of a reason, a condition or another free text
MOST_COMMANDS = 20  # in one comment

Text = Annotated[str, Field(min_length=1, max_length=LONGEST_TEXT)]


class Verb(StrEnum):
    """The verbs of ``/forge`` (docs/contract.md, commands)."""

    help = "help"
    status = "status"
    cost = "cost"
    view = "view"
    history = "history"
    diff = "diff"
    level = "level"
    why = "why"
    review = "review"
    test = "test"
    explain = "explain"
    dismiss = "dismiss"
    undismiss = "undismiss"
    remember = "remember"
    forget = "forget"
    fix = "fix"
    run = "run"
    plan = "plan"
    retry = "retry"
    resume = "resume"
    cancel = "cancel"
    more = "continue"
    approve = "approve"
    reject = "reject"
    delegate = "delegate"
    suggest = "suggest"
    legitimate = "legitimate"
    violation = "violation"
    needs_review = "needs-review"
    whitelist = "whitelist"
    accept = "accept"
    abort = "abort"
    missed = "missed"
    rollback = "rollback"
    deploy = "deploy"
    pause = "pause"
    unpause = "unpause"


@dataclass(frozen=True)
class CommandEntry:
    """One verb for people.

    :param usage: what may follow ``/forge``.
    :param needs: the least role, or who has it.
    :param works: whether this version carries it out.
    """

    usage: str
    needs: str
    meaning: str
    works: bool = False


_READ, _TRIAGE, _WRITE, _ADMIN, _GATE = "read", "triage", "write", "admin", "the gate's role"
_TEACHER = "write, not the author"

ENTRIES: Mapping[Verb, CommandEntry] = {
    Verb.help: CommandEntry("help", _READ, "this table", True),
    Verb.status: CommandEntry("status", _READ, "what Forge is doing here and what it waits for", True),
    Verb.cost: CommandEntry("cost", _READ, "what was spent here, and what is left", True),
    Verb.view: CommandEntry("view [GATE]", _READ, "the last verdict with its reasons and open findings", True),
    Verb.history: CommandEntry(
        "history", _READ, "every run here and how it ended, and what the newest one tried, turn by turn", True
    ),
    Verb.diff: CommandEntry("diff", _READ, "what Forge changed"),
    Verb.level: CommandEntry("level [N]", "read; to set it: admin", "the automation level, from 0 to 4", True),
    Verb.why: CommandEntry("why F-ID", _READ, "what led to a finding, and what dismissals make of it", True),
    Verb.review: CommandEntry(
        "review [full]", "triage; on a fork: write", "review this head; `full`: from scratch", True
    ),
    Verb.test: CommandEntry("test", "triage; on a fork: write", "run the tests of this head", True),
    Verb.explain: CommandEntry("explain F-ID", _TRIAGE, "a finding in more words", True),
    Verb.dismiss: CommandEntry(
        "dismiss F-ID reason",
        _TEACHER,
        "the finding is wrong or not wanted: do not raise it again",
        True,
    ),
    Verb.undismiss: CommandEntry("undismiss F-ID", _WRITE, "take a dismissal back", True),
    Verb.remember: CommandEntry("remember text", _TEACHER, "teach Forge something about this repository", True),
    Verb.forget: CommandEntry("forget M-ID", _TEACHER, "make Forge forget it", True),
    Verb.fix: CommandEntry("fix F-ID", _WRITE, "propose a change that fixes a finding"),
    Verb.run: CommandEntry("run", _WRITE, "plan this issue, carry it out and open a pull request", True),
    Verb.plan: CommandEntry("plan", _WRITE, "plan this issue, nothing more", True),
    Verb.retry: CommandEntry("retry", _WRITE, "run the failed phase again", True),
    Verb.resume: CommandEntry("resume", _WRITE, "go on from the last checkpoint", True),
    Verb.cancel: CommandEntry("cancel", _WRITE, "stop the run, keep what it has so far", True),
    Verb.more: CommandEntry("continue 5usd or 10it", _WRITE, "grant another slice of money or iterations", True),
    Verb.approve: CommandEntry("approve [GATE] [SHA7] [with: conditions]", _GATE, "let the gate pass", True),
    Verb.reject: CommandEntry("reject [GATE] reason", _GATE, "stop at the gate", True),
    Verb.delegate: CommandEntry("delegate [GATE] @account", _GATE, "let somebody else decide", True),
    Verb.suggest: CommandEntry("suggest [GATE]", _GATE, "ask for alternatives"),
    Verb.legitimate: CommandEntry("legitimate [F-ID] [justification]", _WRITE, "false positive: the change was right"),
    Verb.violation: CommandEntry(
        "violation [F-ID] [justification]", _WRITE, "no false positive: the finding was right"
    ),
    Verb.needs_review: CommandEntry(
        "needs-review [F-ID] [justification]", _WRITE, "somebody else should judge the finding"
    ),
    Verb.whitelist: CommandEntry(
        "whitelist F-ID file or repository justification", _WRITE, "never raise it again in this file or repository"
    ),
    Verb.accept: CommandEntry("accept", _WRITE, "at a guard or budget: end with what there is so far", True),
    Verb.abort: CommandEntry("abort", _WRITE, "end the run and clean up", True),
    Verb.missed: CommandEntry("missed description", _WRITE, "report a critical bug Forge did not see", True),
    Verb.rollback: CommandEntry("rollback C-ID or ENV", "write; production: maintain", "go back"),
    Verb.deploy: CommandEntry("deploy ENV", "write; production: maintain", "deploy"),
    Verb.pause: CommandEntry("pause", _ADMIN, "stop everything in this repository now", True),
    Verb.unpause: CommandEntry("unpause", _ADMIN, "let Forge work again", True),
}


class _SlashCommand(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class PlainCommand(_SlashCommand):
    """A verb that takes no arguments."""

    verb: Literal[
        Verb.help,
        Verb.status,
        Verb.cost,
        Verb.history,
        Verb.diff,
        Verb.test,
        Verb.run,
        Verb.plan,
        Verb.retry,
        Verb.resume,
        Verb.cancel,
        Verb.accept,
        Verb.abort,
        Verb.pause,
        Verb.unpause,
    ]


class AskReview(_SlashCommand):
    verb: Literal[Verb.review] = Verb.review
    full: bool = False


class AboutFinding(_SlashCommand):
    """``finding`` is None in a reply in the finding's own thread; so it is in all that follow."""

    verb: Literal[Verb.why, Verb.explain, Verb.fix, Verb.undismiss]
    finding: str | None = None


class Dismiss(_SlashCommand):
    verb: Literal[Verb.dismiss] = Verb.dismiss
    finding: str | None = None
    reason: Text


class Judge(_SlashCommand):
    """A decision at the false-positive gate; without a finding it is the one the waiting gate is about."""

    verb: Literal[Verb.legitimate, Verb.violation, Verb.needs_review]
    finding: str | None = None
    justification: Text | None = None


class Whitelist(_SlashCommand):
    verb: Literal[Verb.whitelist] = Verb.whitelist
    finding: str | None = None
    scope: Literal["file", "repository"]
    justification: Text


class AboutGate(_SlashCommand):
    """``gate`` is a name or ``G-…``; None means the one that waits. So it does in all that follow."""

    verb: Literal[Verb.view, Verb.suggest]
    gate: str | None = None


class Approve(_SlashCommand):
    verb: Literal[Verb.approve] = Verb.approve
    gate: str | None = None
    sha: str | None = None
    conditions: Text | None = None


class Reject(_SlashCommand):
    """A custom gate's name stays the first word of ``reason``: which ones exist is known only to the repository."""

    verb: Literal[Verb.reject] = Verb.reject
    gate: str | None = None
    reason: Text


class Delegate(_SlashCommand):
    verb: Literal[Verb.delegate] = Verb.delegate
    gate: str | None = None
    account: str


class TextCommand(_SlashCommand):
    verb: Literal[Verb.remember, Verb.missed]
    text: Text


class Forget(_SlashCommand):
    verb: Literal[Verb.forget] = Verb.forget
    memory: str


class Continue(_SlashCommand):
    """Another slice: of money in USD or of model calls, exactly one of them."""

    verb: Literal[Verb.more] = Verb.more
    usd: Annotated[Decimal, Field(gt=0, le=1000)] | None = None
    iterations: Annotated[int, Field(gt=0, le=500)] | None = None


class Rollback(_SlashCommand):
    """To a checkpoint of the run, or of what is deployed in an environment; exactly one of them."""

    verb: Literal[Verb.rollback] = Verb.rollback
    checkpoint: str | None = None
    environment: str | None = None


class Deploy(_SlashCommand):
    verb: Literal[Verb.deploy] = Verb.deploy
    environment: str


class Level(_SlashCommand):
    """Sets the automation level; shows it where ``level`` is None."""

    verb: Literal[Verb.level] = Verb.level
    level: Annotated[int, Field(ge=0, le=4)] | None = None


SlashCommand = Annotated[
    PlainCommand
    | AskReview
    | AboutFinding
    | Dismiss
    | Judge
    | Whitelist
    | AboutGate
    | Approve
    | Reject
    | Delegate
    | TextCommand
    | Forget
    | Continue
    | Rollback
    | Deploy
    | Level,
    Field(discriminator="verb"),
]
SLASH: TypeAdapter[SlashCommand] = TypeAdapter(SlashCommand)


class Problem(StrEnum):
    """What is wrong with a line that begins with ``/forge``."""

    no_verb = "no_verb"
    unknown_verb = "unknown_verb"
    malformed = "malformed"  # the verb is known, its arguments are not what it takes
    no_finding = "no_finding"  # outside a finding's own thread its name is needed
    too_long = "too_long"
    too_many = "too_many"  # more commands in one comment than are obeyed


class SlashMistake(BaseModel):
    """A line that begins with ``/forge`` and is no command.

    :param written: the line, shortened and without what cannot be seen.
    :param verb: the verb it names, or the nearest one.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    problem: Problem
    written: str
    verb: Verb | None = None

    @property
    def usage(self) -> str | None:
        """How the verb is used."""
        return None if self.verb is None else f"/forge {ENTRIES[self.verb].usage}"


class RefusalCode(StrEnum):
    """Why somebody may not do what they ask."""

    app = "app"  # Apps never command
    edited = "edited"  # edited text never commands
    role = "role"  # their role is too low
    author = "author"  # who wrote the change does not judge it
    requester = "requester"  # who asked for it does not approve it


class CommandRefusal(BaseModel):
    """A refusal, with the role that was needed and the live one."""

    model_config = ConfigDict(frozen=True)

    code: RefusalCode
    verb: Verb
    needed: str
    held: str
    fork: bool = False  # the role is higher here because the head comes from a fork
