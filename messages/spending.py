"""The grey line at the end of what a run says: what it spent, where it spent anything."""

from domain.money import format_usd


def render_spent(spent: int, words: str = "") -> str:
    """The line; empty where there is nothing to say.

    :param spent: micro-USD.
    :param words: what else it says.
    """
    told = f"Spent by this run so far: {format_usd(spent)}." if spent else ""
    line = " ".join(filter(None, (told, words)))
    return f"<sub>{line}</sub>" if line else ""


def end_with_spent(spent: int) -> str:
    """The line as the last paragraph of a text, with what parts it from the one before."""
    line = render_spent(spent)
    return f"\n\n{line}" if line else ""
