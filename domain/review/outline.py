"""What surrounds the changed lines of a file: functions, uses of names, and names to look for elsewhere."""

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
    :param defined: functions, classes and other names of the file whose definition changed: others may use them.
    :param classes: classes of which a part changed: others may build on them.
    :param mentioned: names in added and removed lines: functions called, keys in texts.
    """

    model_config = ConfigDict(frozen=True)

    spans: tuple[FunctionSpan, ...] = ()
    exits: tuple[int, ...] = ()
    uses: tuple[int, ...] = ()
    defined: tuple[str, ...] = ()
    classes: tuple[str, ...] = ()
    mentioned: tuple[str, ...] = ()

    def keep_mentioned(self, text: str) -> "Outline":
        """The outline with only those mentioned names that occur in a text."""
        return self.model_copy(update={"mentioned": tuple(name for name in self.mentioned if name in text)})


NO_OUTLINE = Outline()
