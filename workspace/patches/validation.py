"""Decides whether a change is allowed, both for a single patch and for all that a run is about to push."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from domain.config.limits import PathRule
from domain.globs import matches, permits
from domain.paths import fold_path, holds_prose, is_document, is_lock
from domain.review.findings import Severity
from domain.runs.patches import (
    EXECUTABLE,
    LIMITS,
    REGULAR,
    Areas,
    ChangedFile,
    ChangeSet,
    ContractLock,
    PatchLimits,
    Violation,
    select_blocking,
)
from domain.text.hidden_characters import (
    Deception,
    FileWords,
    HiddenText,
    find_alike,
    find_control,
    find_false_host,
    find_hidden_message,
    find_invisible,
    find_line_end,
    find_turned,
    find_unseen,
    may_deceive,
    read_words,
)
from domain.text.places import find_in_document_code, list_fenced_lines
from safety.plan_risk import PROTECTED
from safety.protected_files import STEERS_GIT
from workspace.patches import edits, patching, refusals
from workspace.patches.edits import TextEdit
from workspace.patches.refusals import PatchRefused, violation
from workspace.patches.tree import FileTree

_WILD = frozenset("*?")
_REGULAR = frozenset({REGULAR, EXECUTABLE})


@dataclass(frozen=True, slots=True)
class JudgedPatch:
    """The verdict on a patch.

    :param change: what it does to the files; None if it was refused.
    :param violations: its errors and warnings.
    """

    change: ChangeSet | None
    violations: tuple[Violation, ...]


def judge(
    edit: bytes | TextEdit | ChangeSet, tree: FileTree, areas: Areas, limits: PatchLimits = LIMITS
) -> JudgedPatch:
    """The change that a unified diff or an edit makes, or why it is refused; what changed otherwise is only judged.

    :param tree: the files it was written against.
    """
    if isinstance(edit, ChangeSet):
        found = (*_check_texts(edit, limits), *validate(edit, areas, tree, limits))
        return JudgedPatch(None if select_blocking(found) else edit, found)
    try:
        is_diff = isinstance(edit, bytes)
        named = patching.list_paths(edit, limits) if is_diff else edits.list_paths(edit)
        rules = _Rules(areas)
        forbidden = [each for path in named for each in rules.of(path)]
        if select_blocking(forbidden):  # before any content is looked at: whether an edit fits says what a file holds
            return JudgedPatch(None, tuple(forbidden))
        change = patching.parse(edit, tree, limits) if is_diff else edits.build_change(edit, tree)
    except PatchRefused as refused:
        return JudgedPatch(None, refused.violations)
    found = validate(change, areas, tree, limits)
    return JudgedPatch(None if select_blocking(found) else change, found)


def validate(change: ChangeSet, areas: Areas, tree: FileTree, limits: PatchLimits = LIMITS) -> tuple[Violation, ...]:
    """All violations of a change: first those of the whole, then file by file in its order.

    Nothing is read beyond what ``change`` holds.

    :param tree: the files before the change.
    """
    clashes = tree.clashes(change)
    rules = _Rules(areas)
    found = list(_check_size(change, limits))
    for file in change.files:
        found += _check_file(file, tree, clashes.get(file.path), limits)
        found += rules.of(file.path)
    return tuple(found)


def _check_texts(change: ChangeSet, limits: PatchLimits) -> Iterator[Violation]:
    """What the form of a diff or an edit rules out: files that are no text, and more than people can review."""
    for file in change.files:
        if b"\0" in (file.before or b"") or b"\0" in (file.after or b""):
            message = "It holds a NUL character, so it is not text."
            yield violation(file.path, "syntax", Severity.error, message, "Leave binary files as they are.")
    count = sum(len(file.after or b"") for file in change.files if file.before != file.after)
    if count > limits.changed_bytes:
        message = f"The changed files hold {count:,} bytes, and {limits.changed_bytes:,} are allowed."
        yield violation("", "limits", Severity.error, message, "Change less, or split the task.")


# --- sizes -------------------------------------------------------------------------------------------------


def _check_size(change: ChangeSet, limits: PatchLimits) -> Iterator[Violation]:
    measured = (
        ("files", len(change.files), limits.files),
        ("new files", sum(file.is_new for file in change.files), limits.new_files),
        ("lines", sum(file.lines for file in change.files if _fits(file, limits)), limits.lines),
    )
    for noun, count, most in measured:
        if count > most:
            message = f"The change has {count:,} {noun}, and {most:,} are allowed."
            yield violation("", "limits", Severity.error, message, "Make it smaller, or split the task.")


def _fits(file: ChangedFile, limits: PatchLimits) -> bool:
    return file.after is None or len(file.after) <= limits.file_bytes


# --- each file by itself -----------------------------------------------------------------------------------


def _check_file(file: ChangedFile, tree: FileTree, clash: str | None, limits: PatchLimits) -> Iterator[Violation]:
    if wrong := refusals.find_mistake(file.path):
        advice = "Name a regular file by its path relative to the root of the repository."
        yield violation(file.path, "path", Severity.critical, f"The path {wrong}.", advice)
    if clash is not None:
        message = f"It cannot stand beside {clash}: on some disks both are one."
        yield violation(file.path, "path", Severity.error, message, "Choose another name, or change that file.")
    yield from _check_modes(file)
    if file.is_new is (file.path in tree.modes):
        message = "It is said to be new, but exists." if file.is_new else "It is said to exist, but does not."
        yield violation(file.path, "base", Severity.error, message, "Begin again from the files as they are.")
    yield from _check_hidden_text(file)
    if file.after is not None and not _fits(file, limits):
        message = f"It would have {len(file.after):,} bytes, and {limits.file_bytes:,} are allowed."
        yield violation(file.path, "limits", Severity.error, message, "Split the file, or leave it out.")


def _check_hidden_text(file: ChangedFile) -> Iterator[Violation]:
    for number, found in find_unwritable(file.path, file.before or b"", file.after or b""):
        message = f"Line {number} deceives its readers by {found.codes}: programs read it otherwise than it is shown."
        advice = "Write what can be seen; in a string, write the escape sequence."
        yield violation(file.path, "hidden_text", Severity.error, message, advice)


def _check_modes(file: ChangedFile) -> Iterator[Violation]:
    odd = {file.mode, file.old_mode or REGULAR} - _REGULAR
    if odd:
        message = f"A symlink, a submodule or another special file ({min(odd)}) is neither made, changed nor deleted."
        yield violation(file.path, "mode", Severity.critical, message, "Change regular files only.")
    elif file.old_mode not in {None, file.mode}:
        message = f"Its mode changes from {file.old_mode} to {file.mode}."
        yield violation(file.path, "mode", Severity.error, message, "Leave the modes of files as they are.")
    elif file.is_new and file.mode == EXECUTABLE:
        message = "It is new and executable."
        yield violation(file.path, "mode", Severity.warning, message, "Write mode 100644 unless it has to be run.")


# --- where it may be ---------------------------------------------------------------------------------------


class _Rules:
    """Areas, prepared once for all files. Rules that forbid ignore case, as some disks do; rules that allow do not."""

    def __init__(self, areas: Areas) -> None:
        self.areas = areas
        self.allowed = None if areas.allowed is None else _globs(areas.allowed)
        self.forbidden = _globs(areas.forbidden, fold=True)
        self.protected = _globs((*PROTECTED, *areas.protected), fold=True)
        self.never = _globs(STEERS_GIT, fold=True)
        self.path_rules = [(rule, _globs(rule.paths, fold=True)) for rule in areas.rules]
        self.contracts = [(name, lock, _globs(lock.globs, fold=True)) for name, lock in areas.contracts.items()]

    def of(self, path: str) -> Iterator[Violation]:
        folded = fold_path(path)
        if self.allowed is not None and not permits(path, self.allowed):
            message = f"The plan allows changes in {_list(self.areas.allowed)} only."
            advice = "Leave the file alone, or end the task and say why the plan has to allow it."
            yield violation(path, "allowed_areas", Severity.error, message, advice)
        if matches(folded, self.forbidden):
            message = f"The plan forbids changes in {_list(self.areas.forbidden)}."
            advice = "Leave the file alone; if the task needs it, end it and say so."
            yield violation(path, "forbidden_areas", Severity.error, message, advice)
        if is_lock(folded) or matches(folded, self.protected):
            yield _report_protected(path, path in self.areas.granted and not matches(folded, self.never))
        for rule, globs in self.path_rules:
            if self.areas.role not in rule.roles and matches(folded, globs):
                yield _report_role(path, self.areas.role, rule)
        for name, lock, globs in self.contracts:
            if not lock.is_held and matches(folded, globs):
                yield _report_unlocked(path, name, lock)


def _globs(areas: Iterable[str], *, fold: bool = False) -> tuple[str, ...]:
    """The areas as globs: a plain name covers the file, or the folder with everything below it."""
    written = [fold_path(area) if fold else area for area in areas]
    folders = [f"{area.rstrip('/')}/**" for area in written if area.endswith("/") or not _WILD & set(area)]
    return tuple(area for area in (*written, *folders) if not area.endswith("/"))


def _report_protected(path: str, is_granted: bool) -> Violation:
    if is_granted:
        message = "It is protected, and a person let it through."
        return violation(path, "protected_areas", Severity.info, message, "Nothing needs to be done.")
    message = "It is protected: agents do not change what decides about runs, rights, dependencies or stored data."
    advice = "Leave the file alone; if the task needs it, end it and say so, and a person is asked."
    return violation(path, "protected_areas", Severity.error, message, advice)


def _report_role(path: str, role: str, rule: PathRule) -> Violation:
    who = f"by {_list(rule.roles)} only" if rule.roles else "by no agent"
    message = f"The repository lets it be changed {who}, not by the {role}."
    return violation(path, "path_rules", Severity(rule.severity), message, "Leave the file alone.")


def _report_unlocked(path: str, contract: str, lock: ContractLock) -> Violation:
    if lock.token is None:
        message = f"It belongs to the contract “{contract}”, whose lock this run does not hold."
        advice = f"Leave the file alone, or end the task and say that the plan has to name the contract “{contract}”."
    else:
        message = (
            f"It belongs to the contract “{contract}”, whose lock went to another run (token {lock.token} is void)."
        )
        advice = "Stop here; the task is done again on what the other run made of the contract."
    return violation(path, "contract_lock", Severity.error, message, advice)


def _list(names: Sequence[str] | None, most: int = 10) -> str:
    """Some of the names, as part of a sentence."""
    if not names:
        return "no files"
    more = [f"{len(names) - most} more"] if len(names) > most else []
    return ", ".join([*names[:most], *more])


def find_unwritable(path: str, before: bytes, after: bytes) -> Iterator[tuple[int, HiddenText]]:
    """The new lines with such text, by number, each with the first of it.

    It is stricter than the review of a person's change, which knows what is a string: an agent can write an escape
    sequence there. What the lines had that it replaces may stay.

    :param before: the file's content; empty if it is new.
    """
    old, new = _split(before), _split(after)
    if not any(may_deceive(path, line) for line in new):
        return
    words, fenced, fenced_before = read_words("\n".join(new)), list_fenced_lines(new), list_fenced_lines(old)
    excused = Counter(
        _name(found)
        for number, line in _list_changed(path, old, new)
        for found in _find(path, line, words, is_fenced=number in fenced_before)
    )
    for number, line in _list_changed(path, new, old):
        text = line.removeprefix("\ufeff") if number == 1 else line
        wrong = None
        for found in _find(path, text, words, is_fenced=number in fenced):
            excused[_name(found)] -= 1
            if excused[_name(found)] < 0:
                wrong = wrong or found
        if wrong is not None:
            yield number, wrong


def _name(found: HiddenText) -> tuple[Deception, str]:
    return found.kind, found.text


def _split(content: bytes) -> list[str]:
    return content.decode(errors="replace").split("\n")


def _list_changed(path: str, lines: Collection[str], others: Collection[str]) -> Iterator[tuple[int, str]]:
    """The numbered lines with anything that could deceive that the other version has not."""
    known = set(others)
    for number, line in enumerate(lines, 1):
        if may_deceive(path, line) and line not in known:
            yield number, line


def _find(path: str, line: str, words: FileWords, *, is_fenced: bool) -> Iterator[HiddenText]:
    if is_document(path):
        found = (find_hidden_message(line), find_in_document_code(line, words, is_fenced=is_fenced))
    elif holds_prose(path):
        found = (find_turned(line, is_translation=True), *find_invisible(line, is_translation=True))
    else:
        found = (
            find_line_end(path, line),
            find_turned(line),
            *find_invisible(line),
            *find_alike(line, words),
            *find_unseen(path, line),
        )
    yield from (each for each in (find_control(line), *found, find_false_host(line)) if each is not None)
