"""What a changed file can do to the program, as far as its text tells."""

from enum import StrEnum


class Impact(StrEnum):
    """What a change of a file can do to the program; the first four cannot change what it does."""

    layout = "layout"  # comments and spaces: the same program
    document = "document"  # people read it, nothing runs it
    data = "data"  # programs only show or store it
    lock = "lock"  # a lock file whose update the code host compared
    guide = "guide"  # people read it, and it may lead them on: a command, a link
    test = "test"  # a test that starts nothing, as far as its new lines tell
    behaviour = "behaviour"

    @property
    def can_act(self) -> bool:
        """Whether it may change what the program, CI or a person does."""
        return self in {Impact.guide, Impact.test, Impact.behaviour}
