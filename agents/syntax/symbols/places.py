"""A name where it stands in a file, and what it does there."""

from dataclasses import dataclass
from enum import StrEnum

UNREADABLE = "?"
"""A receiver that is no plain chain of names."""


class Role(StrEnum):
    """What a name does where it stands."""

    definition = "definition"  # of a function, class, value or member that others may see
    binding = "binding"  # of a local name
    use = "use"
    heir = "heir"  # the class around says that it builds on it
    none = "none"  # an import or a label


@dataclass(frozen=True, eq=False)
class NamePlace:
    """A name where it stands.

    :param line: its own line, from 1.
    :param start: the first line of what it defines or binds; else its own.
    :param end: the last one.
    :param receiver: the text before its dot; empty if there is none.
    :param is_called: it is called or constructed.
    :param is_class: it defines a class or another type.
    :param owner: the class around it, or that a method belongs to.
    :param scope: the lines of the outermost function around it.
    :param within: the lines of the innermost function with a name around it.
    :param declaration: what defines or binds it, as text; of a use, what follows on its line.
    """

    name: str
    path: str
    role: Role
    line: int
    start: int
    end: int
    receiver: str = ""
    is_called: bool = False
    is_class: bool = False
    owner: str = ""
    scope: tuple[int, int] | None = None
    within: tuple[int, int] | None = None
    declaration: str = ""

    @property
    def key(self) -> tuple[str, str, str]:
        """What tells a definition from others."""
        return self.path, "" if self.is_class else self.owner, self.name
