"""Every text of `/forge address`: which threads are worked off, and which are not."""

from collections.abc import Sequence

from domain.text.escaping import inline_path

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


def _count(number: int) -> str:
    return f"{number} thread{' is' if number == 1 else 's are'}"
