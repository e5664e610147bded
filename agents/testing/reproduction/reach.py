"""Breaks one line of a program: a test that passes all the same never came there, and clears nothing claimed of it.

Code that notices what runs it may go another way than for its users. Lists of how it could notice were gone round.
"""

from agents.syntax.languages import find_language
from agents.syntax.symbols.modules import find_family

MARK = "the line that is asked about was reached"
_RAISES = {"python": f'raise AssertionError("{MARK}")', "javascript": f'throw new Error("{MARK}");'}


def break_line(path: str, text: str, line: int) -> str | None:
    """A program that raises an error before a line; None if nobody knows how in its language, or it has no such line.

    Where a line continues a statement the program cannot be loaded any more, and nothing is shown either.

    :param line: from 1.
    """
    raises, lines = _RAISES.get(find_family(find_language(path) or "")), text.split("\n")
    if raises is None or not 1 <= line <= len(lines):
        return None
    own = lines[line - 1]
    indent = own[: len(own) - len(own.lstrip())]
    return "\n".join([*lines[: line - 1], f"{indent}{raises}", *lines[line - 1 :]])
