"""What running a test showed of a model's claim, with the test that anybody can run again."""

from enum import StrEnum

from pydantic import Field

from domain.value import Value

LONGEST_TEST = 6_000
"""Characters of a reproduction."""
LONGEST_OUTPUT = 2_000
LONGEST_REASON = 500


class ProofOutcome(StrEnum):
    """What a reproduction came to."""

    shown = "shown"  # it fails on the head, and passes without the change
    promise_broken = "promise_broken"  # it fails on the head, against what a line of the code shown promises
    refuted = "refuted"  # it passes on the head
    open = "open"  # neither: it could not be loaded, ended differently each time, or fails without the change, too

    @property
    def is_shown(self) -> bool:
        return self in {ProofOutcome.shown, ProofOutcome.promise_broken}


class Reproduction(Value):
    """The test that was written for a claim.

    :param path: the file that it was run as; the repository has none of this name.
    :param command: what ran it, as a shell would take it.
    :param output: the last lines that it printed on the head.
    :param before: how it ended without the change, in a few words.
    """

    path: str
    text: str = Field(max_length=LONGEST_TEST)
    command: str = Field(default="", max_length=LONGEST_REASON)
    output: str = Field(default="", max_length=LONGEST_OUTPUT)
    before: str = Field(default="", max_length=LONGEST_REASON)


class Proof(Value):
    """What running showed of a claim.

    :param head_sha: the head it was run on.
    :param why: why nothing is shown, as a clause; empty if something is.
    :param promise: the line of the code shown that promises otherwise.
    :param reproduction: None if nothing was run.
    :param seconds: that running it took.
    :param outlasts_fix: it fails with what the finding suggests, too.
    """

    outcome: ProofOutcome
    head_sha: str
    why: str = Field(default="", max_length=LONGEST_REASON)
    promise: str = Field(default="", max_length=LONGEST_REASON)
    reproduction: Reproduction | None = None
    seconds: float = 0.0
    outlasts_fix: bool = Field(default=False, exclude_if=lambda is_so: not is_so)

    @property
    def is_shown(self) -> bool:
        """Whether the defect is shown by running."""
        return self.outcome.is_shown
