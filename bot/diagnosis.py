"""What an examination found out about one part of an installation."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Finding:
    """What was found out about one part; ``advice`` is empty where all is well.

    :param is_broken: whether Forge cannot do its work until the advice is followed.
    """

    part: str
    state: str
    advice: str = ""
    is_broken: bool = True
