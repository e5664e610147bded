"""What surrounds the changed lines of a file: functions, and uses of names."""

from pydantic import BaseModel, ConfigDict


class FunctionSpan(BaseModel):
    """Where a function or class is, in lines at head, from 1.

    :param body: the line on which its body begins; its signature ends there.
    """

    model_config = ConfigDict(frozen=True)

    name: str
    start: int
    body: int
    end: int


class Outline(BaseModel):
    """What a reader of a changed file wants to see beside the change itself.

    :param spans: the functions and classes around changed lines, the outermost first.
    :param exits: added lines that leave a function or loop early.
    :param uses: unchanged lines with a name that the change removes or changes.
    :param called: the unchanged functions and classes of the file that added lines name.
    """

    model_config = ConfigDict(frozen=True)

    spans: tuple[FunctionSpan, ...] = ()
    exits: tuple[int, ...] = ()
    uses: tuple[int, ...] = ()
    called: tuple[FunctionSpan, ...] = ()


NO_OUTLINE = Outline()
