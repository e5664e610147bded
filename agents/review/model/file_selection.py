"""Selects what a model reads: which files, in which parts, with how much context, and what is left out."""

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import PurePosixPath

from agents.llm.prices import estimate
from agents.review.model.moved_code import Moves, find_moves, find_moves_within
from agents.review.model.rendering import LONGEST_LINE, RenderedFile, render
from domain.globs import matches
from domain.paths import clean_name, is_data, is_document, is_lock, namesake
from domain.review.changes import Change, ChangeStatus, FileChange, FileVersions, Hunk, SkippedFile
from domain.review.reading import NO_OUTLINE, Outline
from domain.text.credential_shapes import find_key_lines
from domain.text.redaction import redact_outgoing
from safety.impact import rank

Groups = Sequence[Sequence[RenderedFile]]
_WORD = re.compile(r"[A-Za-z_]\w{3,}")
_SHARED_NAMES = 2  # changed files that define a name; what more of them define tells nothing
_SAME_FILE, _BOTH_RISKY, _NAMESAKE, _MOST_BY_NAME, _SAME_FOLDER = 20, 8, 3, 3, 1
_MOST_FILES, _MOST_NAMES = 60, 8  # of an outline; of one file in it

_MOST_CONTEXT = 8  # the part of a question that context may take is one of so many


@dataclass(frozen=True)
class ReadingLimits:
    """How much a model is given to read, in tokens as `agents.llm.prices.estimate` counts them.

    :param question: the limit of one question; several small files share one, a larger file is split between its hunks.
    :param questions: the most questions of a review (a phase has ten calls, including the second look and a repair).
    :param context: how much context a file may have, as a share of its own diff.
    :param least_context: additional context of all files together, so that a small change can be understood.
    """

    question: int = 12_000
    questions: int = 7
    context: float = 0.08
    least_context: int = 1_000


@dataclass(frozen=True)
class FileSelection:
    """The files to read, grouped by question, and the files left out.

    :param moved: path → other files that show removed lines of it, because these moved there.
    """

    groups: tuple[tuple[RenderedFile, ...], ...]
    not_read: tuple[SkippedFile, ...]
    moved: Mapping[str, frozenset[str]] = field(default_factory=dict[str, frozenset[str]])


def is_only_text(change: Change) -> bool:
    """Whether a change is of documents and data alone, so that they are what there is to read."""
    return all(is_document(path) or is_data(path) for path in change.paths)


def select_files(
    change: Change,
    versions: Mapping[str, FileVersions],
    *,
    withheld: Mapping[str, Collection[int]],
    never_send: Sequence[str],
    size: ReadingLimits,
    outlines: Mapping[str, Outline] | None = None,
    riskiest: Collection[str] = (),
    texts: bool = False,
) -> FileSelection:
    """Choose what is read. The riskiest files come first, and what belongs together shares a question.

    :param withheld: path → head lines that hold credentials.
    :param never_send: glob patterns of files whose content must not be sent to a model.
    :param outlines: path → what surrounds the changed lines of this file.
    :param riskiest: paths to read before all others.
    :param texts: read documents and data, too.
    """
    left_out = [
        SkippedFile(path=file.path, reason=reason)
        for file in change.files
        if (reason := _explain_skip(file, never_send, texts=texts, runs=file.path in change.runnable_paths))
    ]
    skipped = {entry.path for entry in left_out}
    kept = (file for file in change.files if file.path not in skipped)
    files = sorted(kept, key=lambda file: rank(file, riskiest))

    def parts_of(file: FileChange, brief: bool, moves: Moves) -> list[RenderedFile]:
        wished = int(sum(map(_weight, file.hunks)) * size.context) + size.least_context // len(files)
        allowance = min(wished, size.question // _MOST_CONTEXT)
        most = size.question - allowance - 100
        hidden = withheld.get(file.path, ())
        outline = (outlines or {}).get(file.path, NO_OUTLINE)
        return list(_split_file(file, versions.get(file.path), hidden, allowance, most, outline, brief, moves))

    moves = find_moves([*files, *_list_sources(change, never_send)])
    groups, too_large = _fill_groups(files, partial(parts_of, brief=False, moves=moves), size)
    if too_large:
        moves = find_moves_within(files)  # what moved to a file that is not read is shown nowhere else
        groups, too_large = _fill_groups(files, partial(parts_of, brief=True, moves=moves), size)
    moved = {path: others for path, others in moves.paths.items() if path not in skipped}
    cut = Seams(files, outlines or {}, riskiest).regroup(groups, size.question) if len(groups) > 1 else groups
    return FileSelection(tuple(tuple(group) for group in cut), (*left_out, *too_large), moved)


def _list_sources(change: Change, never_send: Sequence[str]) -> list[FileChange]:
    """Deleted files, which are not shown: what moved out of them is told where it is now."""
    return [file for file in change.files if file.status is ChangeStatus.deleted and not matches(file.path, never_send)]


def _fill_groups(
    files: Sequence[FileChange], parts_of: Callable[[FileChange], list[RenderedFile]], size: ReadingLimits
) -> tuple[list[list[RenderedFile]], list[SkippedFile]]:
    """The files that fit, grouped by question, and those that do not."""
    room = size.question * size.questions
    groups: list[list[RenderedFile]] = []
    left_out: list[SkippedFile] = []
    for file in files:
        parts = parts_of(file)
        wanted = sum(part.tokens for part in parts)
        tried = _pack(groups, parts, size.question)
        if wanted > room or len(tried) > size.questions:
            reason = "too large for the model's budget of this review"
            left_out.append(SkippedFile(path=file.path, reason=reason, matters=True))
            continue
        groups, room = tried, room - wanted
    return groups, left_out


def narrow_change(change: Change, since: Change, read: Collection[str]) -> Change:
    """The change without the hunks that the model already read at the last reviewed head.

    :param since: the difference between the last reviewed head and this one.
    :param read: paths that were read in full by then; all hunks of other files stay.
    """
    kept = (_keep_touched(file, since.file(file.path)) if file.path in read else file for file in change.files)
    return change.model_copy(update={"files": tuple(file for file in kept if file is not None)})


def find_current_line(since: FileChange, line: int) -> int:
    """Where a line of the last reviewed head is now; if it was changed, what replaced it; if removed, what follows.

    :param since: how its file changed between that head and this one.
    """
    now = since.current_line(line)
    if now is not None:
        return now
    for hunk in since.hunks:
        at = hunk.new_start
        for old, new, _ in hunk.number_lines():
            if old is not None and new is not None:
                at = new + 1
            if old == line:
                return at
    return line


def _keep_touched(file: FileChange, since: FileChange | None) -> FileChange | None:
    if since is None:
        return None
    spans = [span for hunk in since.hunks for span in _list_spans(hunk)]
    hunks = tuple(hunk for hunk in file.hunks if any(_meet(hunk, span) for span in spans))
    return file.model_copy(update={"hunks": hunks}) if hunks else None


def _list_spans(hunk: Hunk) -> Iterator[tuple[int, int]]:
    """The head lines that a hunk changes; for removed lines, the lines on either side."""
    at = hunk.new_start
    for _, new, _ in hunk.number_lines():
        if new is None:
            yield at - 1, at
        else:
            at = new + 1
    for old, new, _ in hunk.number_lines():
        if old is None and new is not None:
            yield new, new


def _meet(hunk: Hunk, span: tuple[int, int]) -> bool:
    return span[0] < hunk.new_start + max(hunk.new_length, 1) and hunk.new_start <= span[1]


def _explain_skip(file: FileChange, never_send: Sequence[str], *, texts: bool, runs: bool) -> str | None:
    """Why the model does not read a file; None if it does.

    :param texts: it reads documents and data, too.
    :param runs: it brings something that may run, whatever its name says.
    """
    if matches(file.path, never_send) or (file.old_path and matches(file.old_path, never_send)):
        return "not sent to a model (review.never_send)"
    if file.status is ChangeStatus.deleted:
        return "deleted"
    if not file.hunks:
        return "no line of it changed"
    if runs:
        return None
    if is_lock(file.path) or (is_data(file.path) and not texts):
        return "data, which the model does not review"
    return "text, which the model does not review" if is_document(file.path) and not texts else None


def _pack(
    groups: Sequence[Sequence[RenderedFile]], parts: Sequence[RenderedFile], most: int
) -> list[list[RenderedFile]]:
    """The groups with more parts: in the last group while they fit, then in new ones."""
    packed = [list(group) for group in groups]
    for part in parts:
        if packed and sum(shown.tokens for shown in packed[-1]) + part.tokens <= most:
            packed[-1].append(part)
        else:
            packed.append([part])
    return packed


def _split_file(
    file: FileChange,
    found: FileVersions | None,
    withheld: Collection[int],
    allowance: int,
    most: int,
    outline: Outline,
    brief: bool,
    moves: Moves,
) -> Iterator[RenderedFile]:
    """A file as one part, or as several that fit into a question each.

    :param allowance: tokens of context for the whole file.
    :param most: tokens of the diff's own lines in one part.
    :param outline: what surrounds the changed lines.
    :param brief: show only the beginning of a long run of removed lines.
    """
    head = None if found is None or found.head is None else found.head.decode(errors="replace").split("\n")
    hidden = {*withheld, *find_key_lines(head or ())}
    own = sum(map(_weight, file.hunks))
    for hunks in _bundle([piece for hunk in file.hunks for piece in _split_hunk(hunk, most)], most):
        share = allowance * sum(map(_weight, hunks)) // max(own, 1)
        yield render(file, hunks, head, withheld=hidden, allowance=share, outline=outline, brief=brief, moves=moves)


def _bundle(hunks: Sequence[Hunk], most: int) -> Iterator[list[Hunk]]:
    """Groups of consecutive hunks of at most ``most`` tokens."""
    run: list[Hunk] = []
    for hunk in hunks:
        if run and sum(map(_weight, run)) + _weight(hunk) > most:
            yield run
            run = []
        run.append(hunk)
    if run:
        yield run


def _split_hunk(hunk: Hunk, most: int) -> Iterator[Hunk]:
    """A hunk, cut if it is too long for one question."""
    old, new, start = hunk.old_start, hunk.new_start, 0
    weight = 0
    for index, line in enumerate(hunk.lines):
        cost = _line_weight(line)
        if weight + cost > most and index > start:
            piece = _cut(hunk, old, new, start, index)
            yield piece
            old, new, start, weight = old + piece.old_length, new + piece.new_length, index, 0
        weight += cost
    yield hunk if start == 0 else _cut(hunk, old, new, start, len(hunk.lines))


def _cut(hunk: Hunk, old: int, new: int, start: int, end: int) -> Hunk:
    lines = hunk.lines[start:end]
    return Hunk(
        old_start=old,
        old_length=sum(line[:1] != "+" for line in lines),
        new_start=new,
        new_length=sum(line[:1] != "-" for line in lines),
        lines=lines,
    )


def _weight(hunk: Hunk) -> int:
    return sum(map(_line_weight, hunk.lines))


def _line_weight(line: str) -> int:
    return estimate(line[:LONGEST_LINE]) + 2  # its number


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


def render_whole(number: int, groups: Groups, change: Change, outlines: Mapping[str, Outline]) -> list[str]:
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
    rows = [redact_outgoing(_describe(path, parts, number, change, outlines)) for path, parts in sorted(shown.items())]
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
