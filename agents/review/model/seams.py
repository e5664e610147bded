"""Cuts a large change along its seams: files that refer to each other share a question, a test goes with its code."""

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from pathlib import PurePosixPath

from agents.review.model.rendering import RenderedFile
from domain.paths import clean_name, namesake
from domain.review.changes import Change, FileChange
from domain.review.reading import NO_OUTLINE, Outline
from domain.text.redaction import Redact

Groups = Sequence[Sequence[RenderedFile]]

_WORD = re.compile(r"[A-Za-z_]\w{3,}")
_SHARED_NAMES = 2  # changed files that define a name; what more of them define tells nothing
_SAME_FILE, _BOTH_RISKY, _NAMESAKE, _MOST_BY_NAME, _SAME_FOLDER = 20, 8, 3, 3, 1
_MOST_FILES, _MOST_NAMES = 60, 8  # of an outline; of one file in it


class Seams:
    """What the files of a change have to do with each other.

    :param outlines: path → what surrounds its changed lines.
    :param riskiest: paths that are asked about before all others, so they stay together.
    """

    def __init__(self, files: Sequence[FileChange], outlines: Mapping[str, Outline], riskiest: Collection[str]) -> None:
        self._files = {file.path: file for file in files}
        self._outlines = outlines
        self._riskiest = riskiest
        self._words: dict[str, frozenset[str]] = {}

    def regroup(self, groups: Groups, most: int) -> Groups:
        """The same parts, cut anew: each question begins with the first that is left, and takes what belongs to it.

        :param groups: in the order in which they would be asked.
        :param most: tokens of one question.
        :returns: as they were, if it would take more questions.
        """
        left = [part for group in groups for part in group]
        cut: list[list[RenderedFile]] = []
        while left:
            cut.append(self._take_group(left, most))
        return cut if len(cut) <= len(groups) else groups

    def _take_group(self, left: list[RenderedFile], most: int) -> list[RenderedFile]:
        """Takes parts out of those that are left: always the one that has most to do with those that are taken."""
        group = [left.pop(0)]
        ties = [self._weigh(group[0], each) for each in left]
        room = most - group[0].tokens
        while fitting := [at for at, each in enumerate(left) if each.tokens <= room]:
            at = max(fitting, key=lambda at: (ties[at], -at))
            taken = left.pop(at)
            ties.pop(at)
            ties = [tie + self._weigh(taken, each) for tie, each in zip(ties, left, strict=True)]
            group.append(taken)
            room -= taken.tokens
        return group

    def _weigh(self, one: RenderedFile, other: RenderedFile) -> int:
        if one.path == other.path:
            return _SAME_FILE
        names = len(self._names[one.path] & self._find_words(other.path))
        names += len(self._names[other.path] & self._find_words(one.path))
        both_risky = one.path in self._riskiest and other.path in self._riskiest
        same_folder = PurePosixPath(one.path).parent == PurePosixPath(other.path).parent
        return (
            min(names, _MOST_BY_NAME)
            + _BOTH_RISKY * both_risky
            + _NAMESAKE * (namesake(one.path) == namesake(other.path))
            + _SAME_FOLDER * same_folder
        )

    @cached_property
    def _names(self) -> dict[str, frozenset[str]]:
        """Path → the names of what the change touches there, without those that many files define."""
        found = {path: frozenset(list_touched(self._outlines.get(path, NO_OUTLINE))) for path in self._files}
        counts = Counter(name for names in found.values() for name in names)
        return {
            path: frozenset(name for name in names if len(name) > 3 and counts[name] <= _SHARED_NAMES)
            for path, names in found.items()
        }

    def _find_words(self, path: str) -> frozenset[str]:
        """The words on the changed lines of a file, and right beside them."""
        if path not in self._words:
            text = "\n".join(line for hunk in self._files[path].hunks for line in hunk.lines)
            self._words[path] = frozenset(_WORD.findall(text))
        return self._words[path]


def render_whole(
    number: int, groups: Groups, change: Change, outlines: Mapping[str, Outline], redact: Redact
) -> list[str]:
    """What each part of a change is told of the whole: its files, their counts, what is touched in them, and which part
    shows them; nothing if there is one part.

    :param number: of the part, from 1.
    """
    if len(groups) < 2:
        return []
    shown: dict[str, list[int]] = {}
    for at, group in enumerate(groups, 1):
        for path in dict.fromkeys(part.path for part in group):
            shown.setdefault(path, []).append(at)
    heading = f"== the whole change: this is part {number} of {len(groups)}, the others are read by themselves"
    rows = [redact(_describe(path, parts, number, change, outlines)) for path, parts in sorted(shown.items())]
    more = len(rows) - _MOST_FILES
    return [heading, *rows[:_MOST_FILES], *([f"and {more} more files"] if more > 0 else [])]


def list_touched(outline: Outline) -> list[str]:
    """The names of the functions and classes around changed lines, each once."""
    return list(dict.fromkeys(span.name for span in outline.spans if span.name))


def _describe(path: str, parts: Sequence[int], number: int, change: Change, outlines: Mapping[str, Outline]) -> str:
    file, names = change.file(path), list_touched(outlines.get(path, NO_OUTLINE))
    signs = Counter(line[:1] for hunk in (file.hunks if file else ()) for line in hunk.lines)
    where = "here" if number in parts else f"part {', '.join(map(str, parts))}"
    told = f": {', '.join(names[:_MOST_NAMES])}{', …' if len(names) > _MOST_NAMES else ''}" if names else ""
    return f"{clean_name(path)} +{signs['+']} -{signs['-']} ({where}){told}"
