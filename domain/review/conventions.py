"""The conventions that a repository wrote down for whoever works on it, and what a model is shown of them."""

from pydantic import BaseModel, ConfigDict

from domain.review.changes import SkippedFile


class ConventionFile(BaseModel):
    """A file of conventions, as a model is shown it.

    :param lines: the number and the text of each line.
    :param cut: how many more lines with text it has, for which there was no room.
    """

    model_config = ConfigDict(frozen=True)

    path: str
    lines: tuple[tuple[int, str], ...]
    cut: int = 0


class Conventions(BaseModel):
    """The conventions for some files, the nearest to them first.

    :param elsewhere: paths of more files of conventions, which are about other folders or files.
    :param left_out: files of conventions that are not shown, and why.
    """

    model_config = ConfigDict(frozen=True)

    files: tuple[ConventionFile, ...] = ()
    elsewhere: tuple[str, ...] = ()
    left_out: tuple[SkippedFile, ...] = ()


NO_CONVENTIONS = Conventions()


class ShownFile(BaseModel):
    """How much of a file of conventions a model was shown, in lines with text."""

    model_config = ConfigDict(frozen=True)

    path: str
    shown: int
    cut: int


class HeldConventions(BaseModel):
    """Which conventions a review held a change against; in journals and checkpoints.

    :param left_out: files of conventions that were not shown, and why.
    :param problem: why it held the change, or a part of it, against none.
    :param says_nothing: whether no sentence there is about the changed code.
    """

    model_config = ConfigDict(frozen=True)

    files: tuple[ShownFile, ...] = ()
    left_out: tuple[SkippedFile, ...] = ()
    problem: str = ""
    says_nothing: bool = False


NOTHING_HELD = HeldConventions()
