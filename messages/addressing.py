"""Every text of `/forge address`: which threads are worked off, and which are not."""

from collections.abc import Sequence
from dataclasses import dataclass

from domain.runs.run import ReasonCode, Run
from domain.text.escaping import inline_path
from messages.commands import describe_state

WORDS = (
    "Do what is asked for in this review thread. Where it asks for nothing that can be changed here, or leaves open "
    "what is wanted, say so in a question."
)
"""What the planner is told that somebody with the role write asks for."""


def report_begun(places: Sequence[str], answered: int, left: int) -> str:
    """Which threads are worked off.

    :param places: of the threads, in their order.
    :param answered: how many other open threads end with an answer of Forge or of another App.
    :param left: how many are too many for once.
    """
    if not places:
        parts = ["Nothing to do: people have no open thread here that waits for an answer."]
    else:
        listed = "\n".join(f"{number}. {inline_path(where)}" for number, where in enumerate(places, 1))
        head = f"{_count(len(places))} worked off in this order, and answered there with the commit or with why not:"
        parts = [
            f"{head}\n\n{listed}",
            "People resolve them. `/forge status` shows how far it is, `/forge cancel` stops it.",
        ]
    if answered:
        parts.append(f"{_count(answered)} left out that Forge or another App answered last: reply there to ask again.")
    if left:
        parts.append(f"{_count(left)} left for another `/forge address`.")
    return "\n\n".join(parts)


@dataclass(frozen=True)
class AddressedThread:
    """A thread that was worked off.

    :param where: ``path:line``; ``address`` of the thread on GitHub.
    :param run: of its instruction.
    :param commit: that it put on the branch; empty for none.
    """

    where: str
    address: str
    run: Run
    commit: str


def report_end(threads: Sequence[AddressedThread]) -> str:
    """What became of each thread, once the last one is worked off."""
    done = sum(bool(each.commit) for each in threads)
    rows = [f"- [{inline_path(each.where)}]({each.address}): {_tell_outcome(each)}" for each in threads]
    return f"{done} of {len(threads)} threads done:\n\n" + "\n".join(rows)


def _tell_outcome(thread: AddressedThread) -> str:
    if thread.commit:
        return f"done in {thread.commit}"
    if not thread.run.state.is_final:  # it is about to end, as only a failure is told before
        return "it failed; the thread says why"
    return _OUTCOMES.get(thread.run.reason) or describe_state(thread.run)


_OUTCOMES = {
    ReasonCode.questions: "**Forge asks something there**",
    ReasonCode.unchanged: "nothing was changed; the thread says why",
    ReasonCode.proposed: "a pull request proposes it; the thread links it",
}


def _count(number: int) -> str:
    return f"{number} thread{' is' if number == 1 else 's are'}"
