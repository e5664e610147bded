"""Words for a halt of the operator."""

from datetime import datetime

from domain.text.escaping import flatten_text


def describe_halt(since: datetime, why: str) -> str:
    """One line that says since when Forge is halted, and why.

    :param why: what the operator wrote; may be empty.
    """
    told = flatten_text(why)
    return f"Forge has been halted since {since:%Y-%m-%d %H:%M:%S} UTC{f': {told}' if told else ''}."
