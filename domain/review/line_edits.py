"""A small change of one file, as replacements of whole lines."""

from collections.abc import Sequence

from pydantic import BaseModel, ConfigDict


class LineEdit(BaseModel):
    """Replaces lines of a file by others.

    :param start_line, end_line: 1-based, inclusive.
    :param before: the present lines, without the last line break.
    :param after: the new ones; empty text removes the lines.
    """

    model_config = ConfigDict(frozen=True)

    start_line: int
    end_line: int
    before: str
    after: str

    @property
    def lines(self) -> int:
        """How many lines it removes and adds."""
        return self.end_line - self.start_line + 1 + len(split_lines(self.after))


def split_lines(text: str) -> list[str]:
    """Lines of a text that ends without a line break; none of an empty one."""
    return text.split("\n") if text else []


def widen(edit: LineEdit, lines: Sequence[str], start: int, end: int) -> LineEdit:
    """The same change as a replacement of more lines.

    :param lines: of the file before it.
    :param start, end: the wanted lines, around those of the edit.
    """
    above, below = lines[start - 1 : edit.start_line - 1], lines[edit.end_line : end]
    after = [*above, *split_lines(edit.after), *below]
    return LineEdit(start_line=start, end_line=end, before="\n".join(lines[start - 1 : end]), after="\n".join(after))
