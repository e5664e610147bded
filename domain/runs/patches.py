"""An agent's changes and its result of a task, and their limits: change sets, allowed areas and violations."""

import hashlib
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated, Literal, Self

from pydantic import ConfigDict, Field, StringConstraints, model_validator

from domain.config.limits import PathRule
from domain.review.avoidance import LEGITIMATE, Avoidance, list_certain
from domain.review.findings import Severity
from domain.runs.plan import CONTRACTS, Place, Words
from domain.value import Value

RED_CHECK = "check "
"""How the rule of a red check begins; its name follows."""


REGULAR = "100644"
EXECUTABLE = "100755"
Constraint = Literal[
    "syntax",  # not a valid unified diff
    "path",  # an unsafe or clashing name
    "mode",  # a symlink, a submodule, a change of mode; a new executable is a warning
    "base",  # it does not fit the current files
    "allowed_areas",
    "forbidden_areas",
    "protected_areas",
    "path_rules",
    "contract_lock",
    "hidden_text",  # people would read something else than machines
    "limits",
]


class Violation(Value):
    """A violation by a change.

    :param file: its printable path; empty for the change as a whole.
    :param message: the violation and why it is not allowed, in sentences.
    :param suggestion: what to do instead, one sentence.
    """

    file: str
    constraint: Constraint
    severity: Severity
    message: str
    suggestion: str

    def __str__(self) -> str:
        place = f"{self.file}: " if self.file else ""
        return f"{place}{self.message} {self.suggestion} ({self.constraint}, {self.severity.value})"


def select_reported(violations: Iterable[Violation]) -> list[Violation]:
    """The violations reported to the agent; the rest is only logged."""
    return [each for each in violations if each.severity.rank >= Severity.warning.rank]


def select_blocking(violations: Iterable[Violation]) -> list[Violation]:
    """The violations that block a change."""
    return [each for each in violations if each.severity.rank >= Severity.error.rank]


# --- what changes ------------------------------------------------------------------------------------------


class ChangedFile(Value):
    """One file before and after.

    :param before: the whole content before; None if the file is new.
    :param after: None if it is deleted.
    :param mode: git's mode afterwards, six octal digits; for a deleted file the old one.
    :param old_mode: before; None if the file is new, or as ``mode``.
    """

    model_config = ConfigDict(ser_json_bytes="base64", val_json_bytes="base64")

    path: str
    before: bytes | None
    after: bytes | None
    mode: str = REGULAR
    old_mode: str | None = None

    @property
    def is_new(self) -> bool:
        return self.before is None

    @property
    def is_gone(self) -> bool:
        return self.after is None

    @cached_property
    def lines(self) -> int:
        """The lines that only one side has, whatever the diff's form."""
        before, after = (Counter((side or b"").split(b"\n")) for side in (self.before, self.after))
        return (before - after).total() + (after - before).total()


class ChangeSet(Value):
    """Files that change together, each path once."""

    model_config = ConfigDict(ser_json_bytes="base64", val_json_bytes="base64")

    files: tuple[ChangedFile, ...]

    @model_validator(mode="after")
    def _each_once(self) -> Self:
        if len({file.path for file in self.files}) < len(self.files):
            raise ValueError("a path is there twice")
        return self

    def then(self, later: "ChangeSet") -> "ChangeSet":
        """Combines both changes, ``later`` on top of this one; drops unchanged files."""
        made = {file.path: file for file in self.files}
        for file in later.files:
            first = made.get(file.path)
            made[file.path] = file if first is None else _join(first, file)
        return ChangeSet(files=tuple(file for file in made.values() if not _is_unchanged(file)))

    @property
    def digest(self) -> str:
        """A digest of what the files are afterwards."""
        found = hashlib.sha256()
        for file in sorted(self.files, key=lambda file: file.path):
            for part in (file.path.encode(), b"gone" if file.after is None else b"there", file.after or b""):
                found.update(len(part).to_bytes(8, "big") + part)
        return found.hexdigest()[:32]

    def only(self, paths: Collection[str]) -> "ChangeSet":
        """The part of the change that is of these files."""
        return ChangeSet(files=tuple(file for file in self.files if file.path in paths))

    def since(self, earlier: "ChangeSet") -> "ChangeSet":
        """The change that leads from ``earlier`` to this one: ``earlier.then(it)`` is this one. Both have one base."""
        was, now = ({file.path: file for file in each.files} for each in (earlier, self))
        return ChangeSet(files=tuple(_go_on(was, now, was.keys() | now.keys())))


NO_CHANGES = ChangeSet(files=())


def _join(first: ChangedFile, then: ChangedFile) -> ChangedFile:
    """One change of a file and the next one, as one."""
    was = None if first.before is None else first.old_mode or first.mode
    mode = then.mode if then.after is not None or was is None else was
    return then.model_copy(update={"before": first.before, "mode": mode, "old_mode": None if was == mode else was})


def _go_on(
    was: Mapping[str, ChangedFile], now: Mapping[str, ChangedFile], paths: Iterable[str]
) -> Iterator[ChangedFile]:
    """What leads from one change of a base to another one, path by path."""
    for path in sorted(paths):
        first, last = was.get(path), now.get(path)
        if first is None:
            assert last is not None
            yield last
            continue
        after, mode = (first.before, first.old_mode or first.mode) if last is None else (last.after, last.mode)
        is_gone = after is None and first.after is None  # then and now
        if not is_gone and (after, mode) != (first.after, first.mode):
            old = first.mode if first.after is not None and first.mode != mode else None
            yield ChangedFile(path=path, before=first.after, after=after, mode=mode, old_mode=old)


def _is_unchanged(file: ChangedFile) -> bool:
    return file.before == file.after and (file.after is None or file.old_mode in {None, file.mode})


# --- what is allowed ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ContractLock:
    """A contract and the run's lock on it.

    :param globs: of its files.
    :param token: the run's fencing token; None without a lock.
    :param newest: the latest token, if known; a smaller one is void.
    """

    globs: tuple[str, ...]
    token: int | None = None
    newest: int | None = None

    @property
    def is_held(self) -> bool:
        return self.token is not None and (self.newest is None or self.token == self.newest)


def _default_locks() -> dict[str, ContractLock]:
    return {name: ContractLock(globs) for name, globs in CONTRACTS.items()}


@dataclass(frozen=True, slots=True)
class Areas:
    """Where an agent may change files.

    An area is a glob, or the plain name of a file or folder, which covers everything below it.

    :param role: the agent's.
    :param allowed: the plan's; None: no restriction.
    :param forbidden: the plan's.
    :param protected: the configuration's, beyond the built-in ones.
    :param rules: the configuration's; an agent needs every matching rule to name it.
    :param contracts: name → files and lock.
    :param granted: the exact paths that a person released at the gate ``protected_paths``.
    """

    role: str
    allowed: tuple[str, ...] | None = None
    forbidden: tuple[str, ...] = ()
    protected: tuple[str, ...] = ()
    rules: tuple[PathRule, ...] = ()
    contracts: Mapping[str, ContractLock] = field(default_factory=_default_locks)
    granted: frozenset[str] = frozenset()


class PatchLimits(Value):
    """The size limits of a change that people can still review.

    :param files: that change.
    :param new_files: among them.
    :param lines: added and removed, in all.
    :param file_bytes: of one file afterwards.
    :param patch_bytes: of the text of a patch.
    :param changed_bytes: of all changed files afterwards, where they come without a patch.
    """

    files: int = 1_000
    new_files: int = 300
    lines: int = 20_000
    file_bytes: int = 1_000_000
    patch_bytes: int = 2_000_000
    changed_bytes: int = 8_000_000


LIMITS = PatchLimits()


MOST_TESTS = 50
MOST_FIXES = 20
"""One attempt cannot mend more."""


class Worked(Value):
    """The result of a task; the changes themselves are in the draft. See :func:`find_mistakes`.

    :param summary: a summary for readers of the pull request.
    :param not_done: the missing part and why; empty if the task is done.
    :param gone: the ids of what was to be fixed, but is not there any more.
    :param tests_added: paths of files with new or extended tests.
    """

    summary: Words
    is_done: bool
    not_done: Annotated[str, StringConstraints(strip_whitespace=True, max_length=1_000)] = ""
    gone: tuple[str, ...] = Field(default=(), max_length=MOST_FIXES)
    tests_added: tuple[Place, ...] = Field(default=(), max_length=MOST_TESTS)


class RequiredFix(Value):
    """A problem found by a review or a test.

    :param id: of a finding on which people look; empty for anything else.
    :param path: empty if it is about no file.
    :param rule: of the finding, or the name of the test.
    :param confidence: of the finding.
    :param by_id: the account of the person who asks for it; None if a tool, model or test does.
    :param edited_by: who may have written part of its words, with :data:`domain.github.commits.AN_APP`.
    :param demanded: the lines of a test that fails; :param output: the last lines that it printed.
    """

    id: str = ""
    path: str
    line: int | None = None
    rule: str
    message: str
    confidence: float = 1.0
    by_id: int | None = None
    edited_by: tuple[int, ...] = ()
    demanded: tuple[str, ...] = ()
    output: str = ""


def list_required_fixes(found: Sequence[Avoidance]) -> tuple[RequiredFix, ...]:
    """What an agent has to take back, or to justify: what has no excuse and is not doubtful; the first ones."""
    return tuple(
        RequiredFix(
            path=each.path,
            line=each.line,
            rule=each.kind.rule,
            message=f"{each.what} {LEGITIMATE[each.kind]} Take it back, or let the task say why it had to be.",
            confidence=each.confidence,
        )
        for each in list_certain(found)[:MOST_FIXES]
    )


def find_mistakes(worked: Worked) -> str | None:
    """Returns the inconsistencies in words for the implementer; None if there are none."""
    if worked.is_done and worked.not_done:
        return "is_done is true, and not_done says that something is missing: only one of them can be right."
    if not worked.is_done and not worked.not_done:
        return "is_done is false, and not_done does not say what is missing and why."
    return None
