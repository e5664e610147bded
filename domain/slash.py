"""The ``/forge`` commands with their typed arguments, and what can be wrong with a line that is nearly one."""

from decimal import Decimal
from enum import StrEnum
from typing import Annotated, Literal

from pydantic import ConfigDict, Field, TypeAdapter

from domain.review.reading import Effort
from domain.runs.run import ExecutionMode
from domain.value import Value
from domain.verbs import VERBS, Verb

_WORDS = 4  # with the first two, which stand where the verb has to


class Problem(StrEnum):
    """What is wrong with a line that begins with ``/forge``."""

    no_verb = "no_verb"
    unknown_verb = "unknown_verb"
    malformed = "malformed"  # the verb is known, its arguments are not what it takes
    merges = "merges"  # it asks for what no command does
    no_finding = "no_finding"  # outside a finding's own thread its name is needed
    too_long = "too_long"
    near_miss = "near_miss"  # it is one but for its first characters, which only look like ``/forge``
    too_many = "too_many"  # more commands in one comment than are obeyed


class SlashMistake(Value):
    """A line that begins with ``/forge`` and is no command.

    :param written: the line, shortened and without what cannot be seen.
    :param verb: the verb it names, or the nearest one.
    """

    model_config = ConfigDict(extra="forbid")

    problem: Problem
    written: str
    verb: Verb | None = None

    @property
    def has_words(self) -> bool:
        """Whether it goes on in several words, as an instruction does."""
        return len(self.written.split()) >= _WORDS

    @property
    def usage(self) -> str | None:
        """How the verb is used."""
        return None if self.verb is None else f"/forge {VERBS[self.verb].usage}"


LONGEST_TEXT = 1000  # characters of a reason, a condition or another free text
LONGEST_WORDS = 4_000  # characters of what is told or asked in a person's own words, which may be a list
MOST_COMMANDS = 20  # in one comment
MOST_PATHS = 50  # in one command

Text = Annotated[str, Field(min_length=1, max_length=LONGEST_TEXT)]
Words = Annotated[str, Field(min_length=1, max_length=LONGEST_WORDS)]


class _SlashCommand(Value):
    model_config = ConfigDict(extra="forbid")


class PlainCommand(_SlashCommand):
    """A verb that takes no arguments."""

    verb: Literal[
        Verb.status,
        Verb.cost,
        Verb.test,
        Verb.plan,
        Verb.resume,
        Verb.cancel,
        Verb.accept,
        Verb.abort,
    ]


class AskHelp(_SlashCommand):
    """``about`` is None for all verbs."""

    verb: Literal[Verb.help] = Verb.help
    about: Verb | None = None


class Pause(_SlashCommand):
    """Of the repository, or of the pull request or issue where it is written."""

    verb: Literal[Verb.pause, Verb.unpause]
    here: bool = False


class RunIssue(_SlashCommand):
    """``mode`` is None for the configuration's."""

    verb: Literal[Verb.run] = Verb.run
    mode: ExecutionMode | None = None


class Retry(_SlashCommand):
    """``gate`` is None where only the verb was written."""

    verb: Literal[Verb.retry] = Verb.retry
    gate: Literal["recovery"] | None = None


class AskReview(_SlashCommand):
    """``effort`` is None for the configuration's."""

    verb: Literal[Verb.review] = Verb.review
    full: bool = False
    effort: Effort | None = None

    @property
    def is_from_scratch(self) -> bool:
        """Whether what was read before is read again."""
        return self.full or self.effort is not None


class AboutFinding(_SlashCommand):
    """``finding`` is None in a reply in the finding's own thread; so it is in all that follow."""

    verb: Literal[Verb.why, Verb.explain, Verb.undismiss]
    finding: str | None = None


class AskFix(_SlashCommand):
    """``everything`` stands for all open findings."""

    verb: Literal[Verb.fix] = Verb.fix
    finding: str | None = None
    everything: bool = False


class Dismiss(_SlashCommand):
    """``scope`` is None where nothing but the finding itself is to pass."""

    verb: Literal[Verb.dismiss] = Verb.dismiss
    finding: str | None = None
    scope: Literal["file", "repository"] | None = None
    reason: Text


class Confirm(_SlashCommand):
    verb: Literal[Verb.confirm] = Verb.confirm
    finding: str | None = None
    reason: Text


class AboutGate(_SlashCommand):
    """``gate`` is a name or ``G-…``; None means the one that waits. So it does in all that follow."""

    verb: Literal[Verb.view, Verb.suggest]
    gate: str | None = None


class LookBack(_SlashCommand):
    """What Forge changed, or its runs; of a finding or the findings of a gate: their places, or their past."""

    verb: Literal[Verb.diff, Verb.history]
    finding: str | None = None
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
    """To an account, which decides then, or to another agent, which carries the work out; exactly one of them."""

    verb: Literal[Verb.delegate] = Verb.delegate
    gate: str | None = None
    account: str = ""
    to: Literal["agent"] | None = None


class Tell(_SlashCommand):
    verb: Literal[Verb.remember, Verb.missed]
    text: Text


class TextCommand(_SlashCommand):
    verb: Literal[Verb.ask, Verb.do]
    text: Words


class Mend(_SlashCommand):
    """What fails on the head of a pull request. ``text`` answers what was asked; None: nothing more."""

    verb: Literal[Verb.mend] = Verb.mend
    text: Words | None = None


class TakeBaseIn(_SlashCommand):
    """``text`` says what to do about conflicts, such as an answer to what was asked; None: nothing more."""

    verb: Literal[Verb.update] = Verb.update
    text: Words | None = None


class AddressThreads(_SlashCommand):
    """The open review threads of people."""

    verb: Literal[Verb.address] = Verb.address


class Forget(_SlashCommand):
    verb: Literal[Verb.forget] = Verb.forget
    memory: str


class Continue(_SlashCommand):
    """Another slice: of money in USD or of model calls, exactly one of them."""

    verb: Literal[Verb.more] = Verb.more
    usd: Annotated[Decimal, Field(gt=0, le=1000)] | None = None
    iterations: Annotated[int, Field(gt=0, le=500)] | None = None


class Rollback(_SlashCommand):
    """To a checkpoint of the run, or of what is deployed in an environment; exactly one of them.

    :param paths: the only files that are taken back to the checkpoint; all if there are none.
    """

    verb: Literal[Verb.rollback] = Verb.rollback
    checkpoint: str | None = None
    paths: Annotated[tuple[Text, ...], Field(max_length=MOST_PATHS)] = ()
    environment: str | None = None


class Deploy(_SlashCommand):
    """Deploys; with ``wish``, asks something of the deployment under way there."""

    verb: Literal[Verb.deploy] = Verb.deploy
    environment: str
    wish: Literal["hold", "go-on", "cancel"] | None = None


class Level(_SlashCommand):
    """Sets the automation level; shows it where ``level`` is None."""

    verb: Literal[Verb.level] = Verb.level
    level: Annotated[int, Field(ge=0, le=4)] | None = None


class Describe(_SlashCommand):
    """Proposes a title and a description; with ``apply`` sets what was proposed."""

    verb: Literal[Verb.describe] = Verb.describe
    apply: bool = False


class Walkthrough(_SlashCommand):
    verb: Literal[Verb.walkthrough] = Verb.walkthrough


class WriteChangelog(_SlashCommand):
    verb: Literal[Verb.changelog] = Verb.changelog


class WriteTests(_SlashCommand):
    """For the whole change, or for one file of it."""

    verb: Literal[Verb.tests] = Verb.tests
    path: Text | None = None


NamesFinding = AboutFinding | AskFix | Dismiss | Confirm | LookBack
"""Commands that may name a finding, as ``finding``."""

SlashCommand = Annotated[
    PlainCommand
    | Pause
    | RunIssue
    | Retry
    | AskReview
    | AboutFinding
    | AskFix
    | Dismiss
    | Confirm
    | AboutGate
    | LookBack
    | Approve
    | Reject
    | Delegate
    | AskHelp
    | Tell
    | TextCommand
    | Mend
    | TakeBaseIn
    | AddressThreads
    | Forget
    | Continue
    | Rollback
    | Deploy
    | Level
    | Describe
    | Walkthrough
    | WriteChangelog
    | WriteTests,
    Field(discriminator="verb"),
]
SLASH: TypeAdapter[SlashCommand] = TypeAdapter(SlashCommand)
