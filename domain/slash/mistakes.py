"""What can be wrong with a line that begins with ``/forge``, or nearly so."""

from enum import StrEnum

from pydantic import BaseModel, ConfigDict

from domain.slash.verbs import VERBS, Verb

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
    def has_words(self) -> bool:
        """Whether it goes on in several words, as an instruction does."""
        return len(self.written.split()) >= _WORDS

    @property
    def usage(self) -> str | None:
        """How the verb is used."""
        return None if self.verb is None else f"/forge {VERBS[self.verb].usage}"
