"""The conflicts of a merge, hunk by hunk, and how each is resolved."""

import re
from collections.abc import Callable, Sequence
from typing import Annotated

from pydantic import Field, StringConstraints

from domain.value import Value

MOST_HUNKS = 40
MOST_CHARACTERS = 60_000
"""Conflicts that are resolved at once: so many, with so much text of both sides."""
MOST_BESIDE = 20
"""Passages beside conflicts that may change with them."""

LONGEST_WHY = 2_000
Why = Annotated[str, StringConstraints(strip_whitespace=True, max_length=LONGEST_WHY)]
Passage = Annotated[str, StringConstraints(max_length=4_000)]


class ConflictHunk(Value):
    """Lines that both sides of a merge changed.

    :param number: counts all hunks of the merge, from 1.
    :param line: where it begins on the branch.
    :param before: the lines at the merge base; :param branch, base: what each side made of them. All with their ends.
    :param above, below: the lines around it, as far as they do not conflict.
    """

    number: int
    path: str
    line: int
    before: str
    branch: str
    base: str
    above: str = ""
    below: str = ""

    @property
    def where(self) -> str:
        """``path:line`` for people."""
        return f"{self.path}:{self.line}"


class UnmergedFile(Value):
    """A file with a conflict that is not resolved hunk by hunk.

    :param why: as a clause.
    """

    path: str
    why: str


class Merge(Value):
    """What git makes of two commits.

    :param tree: of all files; where they conflict, with git's marks in them.
    :param hunks: what conflicts; ``unmerged`` the files in which it does otherwise.
    """

    tree: str
    hunks: tuple[ConflictHunk, ...] = ()
    unmerged: tuple[UnmergedFile, ...] = ()

    @property
    def is_clean(self) -> bool:
        return not self.hunks and not self.unmerged

    def keep_from_agents(self, find_reason: Callable[[ConflictHunk], str]) -> "Merge":
        """The same where hunks that agents may not resolve are files that people resolve.

        :param find_reason: why, as a clause; empty if they may.
        """
        kept = {each.path: why for each in self.hunks if (why := find_reason(each))}
        unmerged = (*self.unmerged, *(UnmergedFile(path=path, why=why) for path, why in kept.items()))
        hunks = tuple(each for each in self.hunks if each.path not in kept)
        return self.model_copy(update={"hunks": hunks, "unmerged": unmerged})


class SideCommit(Value):
    """A commit of one side of a merge.

    :param paths: of the files with conflicts, those that it touches.
    :param message: whole; untrusted.
    """

    sha: str
    paths: tuple[str, ...]
    message: str


class ResolvedHunk(Value):
    """What a model makes of a hunk.

    :param text: the lines that stand there instead; empty: none.
    :param reason: why lines of a side are not in it; may be empty where all are.
    :param question: what people have to decide; then nothing is resolved.
    """

    number: int
    text: str = ""
    reason: Why = ""
    question: Why = ""


class BesideEdit(Value):
    """Whole lines beside the conflicts of a file that have to change with them.

    :param old: the lines, which the file has once; :param new: what stands there instead.
    :param reason: which change of which side makes it necessary.
    """

    path: str
    old: Passage
    new: Passage = ""
    reason: Why


class ResolvedHunks(Value):
    """What a model makes of the hunks of a merge; see :func:`safety.conflicts.find_mistakes`."""

    hunks: tuple[ResolvedHunk, ...]
    beside: tuple[BesideEdit, ...] = Field(default=(), max_length=MOST_BESIDE)


Outside = Sequence[str]
"""The text of a file in front of, between and behind its conflicts."""


def edit_beside(outside: Outside, edit: BesideEdit) -> list[str] | None:
    """The text with the lines replaced; None unless they are there exactly once."""
    framed = [f"\n{each}\n" for each in outside]
    old, new = (each.removesuffix("\n") for each in (edit.old, edit.new))
    wanted, made = f"\n{old}\n", f"\n{new}\n" if edit.new else "\n"
    found = [at for at, text in enumerate(framed) for _ in re.finditer(f"(?={re.escape(wanted)})", text)]
    if not old or len(found) != 1:
        return None
    framed[found[0]] = framed[found[0]].replace(wanted, made)
    return [each.removeprefix("\n").removesuffix("\n") for each in framed]


def list_paths(hunks: Sequence[ConflictHunk]) -> tuple[str, ...]:
    """The files of hunks, each once."""
    return tuple(dict.fromkeys(each.path for each in hunks))
