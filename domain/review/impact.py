"""What a changed file can do to the program, as far as its text tells."""

from enum import StrEnum


class Impact(StrEnum):
    """Why a change of a file cannot change what the program does; ``behaviour`` where it can."""

    layout = "layout"  # comments and spaces: the same program
    document = "document"  # people read it, nothing runs it
    data = "data"  # programs only show or store it
    lock = "lock"  # a lock file whose update the code host compared
    behaviour = "behaviour"
