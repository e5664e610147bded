"""The conflicts of a merge, hunk by hunk, and whether they are resolved well: what became of each side's lines."""

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Self

from pydantic import Field, StringConstraints

from domain.config.configuration import Configuration
from domain.globs import matches
from domain.paths import fold_path, is_lock
from domain.runs.patches import MOST_FIXES, RequiredFix
from domain.runs.testing import CaseOutcome, CommandResult, TestCase, TestRun
from domain.text.escaping import strip_invisible
from domain.text.redaction import holds_secret
from domain.value import Value
from safety.plan_risk import PROTECTED

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

    def leave_to_people(self, find_reason: Callable[[ConflictHunk], str]) -> "Merge":
        """The same, where files with a hunk that agents may not resolve are left to people.

        :param find_reason: why they may not, as a clause; empty if they may.
        """
        kept = {each.path: why for each in self.hunks if (why := find_reason(each))}
        unmerged = (*self.unmerged, *(UnmergedFile(path=path, why=why) for path, why in kept.items()))
        hunks = tuple(each for each in self.hunks if each.path not in kept)
        return self.model_copy(update={"hunks": hunks, "unmerged": unmerged})


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


_MARK = re.compile(r"^(<{7}|\|{7}|={7}|>{7})( |$)", re.MULTILINE)


class Side(StrEnum):
    """A side of a merge, in words for people."""

    branch = "the branch"
    base = "the base"


class Kept(StrEnum):
    """What a resolution keeps."""

    both = "both"  # every line that a side added, and none that it removed
    branch = "branch"  # exactly that side
    base = "base"
    mixed = "mixed"  # something of a side is not as that side has it


@dataclass(frozen=True)
class JudgedHunk:
    """A hunk with what becomes of it.

    :param text: that stands there instead.
    :param lost: the sides of which something is not in it.
    :param why: it is so, in the model's words.
    :param question: what people have to decide; empty if nothing.
    """

    hunk: ConflictHunk
    text: str
    kept: Kept
    lost: tuple[Side, ...] = ()
    why: str = ""
    question: str = ""


def find_mistakes(hunks: Sequence[ConflictHunk], outside: Mapping[str, Outside], resolved: ResolvedHunks) -> str | None:
    """What is wrong with an answer, in words for the model; None if nothing is.

    :param outside: path → the text around the conflicts of each file that has some.
    """
    wanted, given = [each.number for each in hunks], [each.number for each in resolved.hunks]
    if sorted(given) != wanted:
        return f"There has to be one entry for each conflict: {', '.join(map(str, wanted))}."
    marked = [each.number for each in resolved.hunks if _MARK.search(each.text)]
    if marked:
        return f"text holds marks of a conflict: {', '.join(map(str, marked))}. Write the lines as they are to be."
    return _find_mistake_beside(outside, resolved.beside)


def _find_mistake_beside(outside: Mapping[str, Outside], edits: Sequence[BesideEdit]) -> str | None:
    edited = dict(outside)
    for number, each in enumerate(edits, 1):
        if each.path not in edited:
            return f"beside {number} is in a file without a conflict, which stays as git merged it."
        if not each.reason:
            return f"beside {number} has no reason: say which change of which side makes it necessary."
        if _MARK.search(each.new) or strip_invisible(each.new) != each.new:
            return f"beside {number} holds marks of a conflict, or characters that nobody sees."
        made = edit_beside(edited[each.path], each)
        if made is None:
            return f"beside {number}: old has to be whole lines that stand in {each.path} once, outside of conflicts."
        edited[each.path] = made
    return None


def judge(hunks: Sequence[ConflictHunk], resolved: ResolvedHunks) -> list[JudgedHunk]:
    """What becomes of each hunk: nobody's lines are dropped without a reason."""
    answers: Mapping[int, ResolvedHunk] = {each.number: each for each in resolved.hunks}
    return [_judge_one(each, answers[each.number]) for each in hunks]


def _judge_one(hunk: ConflictHunk, answer: ResolvedHunk) -> JudgedHunk:
    text = answer.text if not answer.text or answer.text.endswith("\n") else f"{answer.text}\n"
    sides = ((Side.branch, hunk.branch), (Side.base, hunk.base))
    lost = tuple(side for side, lines in sides if _loses(hunk.before, lines, text))
    kept = Kept.mixed if lost else Kept.both
    if _end(hunk.branch) == text:
        kept = Kept.branch
    elif _end(hunk.base) == text:
        kept = Kept.base
    question = answer.question
    if lost and not question and not answer.reason:
        question = f"May what {' and '.join(lost)} changed here go? The model would drop it, and gave no reason."
    return JudgedHunk(hunk, text, kept, lost, answer.reason, question)


def _loses(before: str, side: str, text: str) -> bool:
    """Whether lines that a side added are missing, or some that it removed are there."""
    old, new, now = map(_count_lines, (before, side, text))
    return bool((new - old) - now) or bool((old - new) & (now - new))


def _count_lines(text: str) -> Counter[str]:
    """The lines that say something, with their indentation, as it may carry meaning."""
    return Counter(line.rstrip() for line in text.split("\n") if any(map(str.isalnum, line)))


def _end(text: str) -> str:
    return text if not text or text.endswith("\n") else f"{text}\n"


def keep_from_agents(merge: Merge, configuration: Configuration) -> Merge:
    """The merge, where files of which agents keep their hands off are left to people."""
    protected = tuple(map(fold_path, (*PROTECTED, *configuration.off_limits_to_agents)))
    never = configuration.review.never_send

    def find_reason(hunk: ConflictHunk) -> str:
        if is_lock(hunk.path):
            return "a package manager writes it: have it write the file anew after the merge"
        if matches(hunk.path, never):
            return "the repository keeps it from models"
        if matches(fold_path(hunk.path), protected):
            return "agents do not change protected files"
        shown = (hunk.before, hunk.branch, hunk.base)
        if any(map(holds_secret, shown)):
            return "it holds what looks like a credential"
        return "" if all(strip_invisible(each) == each for each in shown) else "it holds characters that nobody sees"

    return merge.leave_to_people(find_reason)


class SideTests(Value):
    """How the tests of one side of a merge ended; in journals.

    :param passed: ids of the tests that passed.
    :param commands: kinds of commands of which none failed.
    """

    passed: frozenset[str] = frozenset()
    commands: frozenset[str] = frozenset()

    @classmethod
    def of(cls, run: TestRun) -> Self:
        failed = {_name_kind(each) for each in run.failed_commands}
        passed = frozenset(each.id for each in run.cases if each.outcome is CaseOutcome.passed or each.id in run.flaky)
        return cls(passed=passed, commands=frozenset(map(_name_kind, run.commands)) - failed)


def find_broken(result: TestRun, sides: Sequence[SideTests], written: Mapping[str, str]) -> tuple[RequiredFix, ...]:
    """What passes on a side of a merge and not in its result.

    A test that is gone counts where conflicts were resolved in its file and the other side did not remove it.

    :param written: path → the text at the merge base of a file in which conflicts were resolved.
    """
    passed = {each for side in sides for each in side.passed}
    commands = {each for side in sides for each in side.commands}
    broken = [_build_fix(each) for each in result.failures if each.id in passed]
    broken += [
        RequiredFix(path="", rule=each.line[:200], message="It succeeds on a side of the merge.", output=each.output)
        for each in result.failed_commands
        if not each.cases and _name_kind(each) in commands
    ]
    present = {each.id for each in result.cases}
    gone = [each for each in sorted(passed - present) if present and each.partition("::")[0] in written]
    lost = [each for each in gone if all(each in side.passed for side in sides) or not _knew(each, written)]
    message = "This test passes on a side of the merge and is gone."
    broken += [RequiredFix(path=each.partition("::")[0], rule=each, message=message) for each in lost]
    return tuple(broken[:MOST_FIXES])


def _build_fix(case: TestCase) -> RequiredFix:
    message = case.message or "It fails, and passes on a side of the merge."
    return RequiredFix(path=case.path or "", line=case.line, rule=case.id, message=message)


def _name_kind(command: CommandResult) -> str:
    return f"{command.kind} {command.framework}"


def _knew(test: str, written: Mapping[str, str]) -> bool:
    """Whether the merge base had the test, so that a side that has it no more removed it."""
    name = test.rpartition("::")[2].partition("[")[0]
    return re.search(rf"\b{re.escape(name)}\b", written[test.partition("::")[0]]) is not None


class SideCommit(Value):
    """A commit of one side of a merge.

    :param paths: of the files with conflicts, those that it touches.
    :param message: whole; untrusted.
    """

    sha: str
    paths: tuple[str, ...]
    message: str


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
