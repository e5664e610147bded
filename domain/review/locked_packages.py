"""What the change of a lock file comes to, for whoever would otherwise have to read it."""

from domain.value import Value

MOST_MOVES, MOST_HOSTS = 6, 3
"""What is kept of one file, as it may hold thousands."""


class PackageMove(Value):
    """A package whose locked versions changed; none before: it is new, none after: it is gone."""

    name: str
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()


class LockChange(Value):
    """A lock file of a change.

    :param is_new: whether the file was not there before.
    :param count: packages that moved.
    :param moves: the first of them: those with a version before and after, then others, each by name.
    :param hosts: the first from which something comes now and nothing came before.
    """

    path: str
    is_new: bool = False
    count: int = 0
    moves: tuple[PackageMove, ...] = ()
    hosts: tuple[str, ...] = ()
