"""Layer 2 for lock files: compares both versions of each in a warm worker, and says what is suspicious."""

import asyncio
import posixpath
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby
from operator import itemgetter

from agents.review.checks.inputs import ToolReport, build_security_finding
from agents.review.checks.locks.comparison import LockDifference, LockFault, Pair, compare
from agents.review.checks.locks.formats import find_reader
from agents.review.checks.locks.manifests import asks_at_run_time, list_manifests, list_new_requests
from agents.review.checks.rule_texts import build_message, shorten
from agents.toolbox import Toolbox
from domain.paths import is_lock, is_test
from domain.review.changes import MOST_HOSTS, MOST_MOVES, Change, LockChange, PackageMove, SkippedFile, TouchedFile
from domain.review.findings import Category, RawFinding, Severity
from safety.containment import CodeOrigin
from workspace.objects import Objects

_LARGEST = 5_000_000  # bytes of a lock file that is read
_MOST = 50  # lock files of a change
_MOST_MANIFESTS = 500
_SHOWN = 3  # packages that a message names
_KINDS = {
    "git": "a git repository",
    "url": "an address of its own",
    "local": "the repository itself",
}
_SAYS = {
    "credential-in-address": "The address of {packages} holds a password or token for {subject}. Whoever reads the "
    "repository can use it: revoke it, and let the package manager take it from the environment",
    "no-certificate": "{subject} would be believed without a certificate, so anybody on the way can replace what is "
    "installed. Use a host with a certificate that pip trusts",
    "no-encryption": "{packages} would be fetched from {subject} without encryption, so anybody on the way can replace "
    "what is installed. Use an address with https",
    "hides-other": "npm installs what this file says, and no longer what package-lock.json beside it says. Keep one of "
    "both",
    "hash-changed": "{packages} has another hash than before at the same version, so it is another program under the "
    "same name. Find out why before you merge: versions of a registry do not change",
    "hash-missing": "{packages} has no hash any more, so whatever is served under this name is installed. Let the "
    "package manager write the file anew",
    "other-host": "{packages} comes from {subject}, from which nothing in this file came before. Merge only if "
    "it is meant",
    "other-index": "{subject} is a new place in which every package is looked for, so whoever serves it can serve any "
    "of them that has no hash. Merge only if it is meant",
    "other-package": "{packages} would be installed in the place of {subject}, which is another package. Merge only if "
    "the manifest asks for it under this name",
    "other-repository": "{packages} comes from another repository than before: {subject}. Merge only if that is meant",
    "other-source": "{packages} was fetched from elsewhere and now comes from {subject}. Merge only if that is meant, "
    "and if the manifest says so, too",
    "runs-scripts": "{packages} would run a program as it is installed, which the same version did not before",
}
_HIDES = LockFault(rule="hides-other", severity=Severity.error, packages=(), line=1)


@dataclass(frozen=True)
class ComparedLocks:
    """What the changes of lock files come to.

    :param seen: the lock files that were looked at.
    :param differences: path → what could be read of them.
    :param missing: why they could not be looked at.
    """

    seen: Collection[str] = ()
    differences: Mapping[str, LockDifference] = field(default_factory=dict[str, LockDifference])
    report: ToolReport = field(default_factory=ToolReport)
    missing: str | None = None

    def mark_unread(self, file: TouchedFile) -> TouchedFile:
        """The file; a lock file that could not be read here waits for a reader, as source does: it decides what is run.

        That is any with new content of an unknown package manager, or of a format or version that nothing reads.
        """
        found = self.differences.get(file.path)
        is_read = found is not None and found.is_read
        return file.model_copy(update={"may_run": True}) if _is_new_lock(file) and not is_read else file

    def drop_compared(self, not_looked_at: Sequence[SkippedFile]) -> tuple[SkippedFile, ...]:
        """The files that nothing looked at, without the lock files that were compared here."""
        compared = {path for path, found in self.differences.items() if found.is_read}
        return tuple(each for each in not_looked_at if each.path not in compared)

    def list_changes(self) -> tuple[LockChange, ...]:
        """What moved in each of them that could be read."""
        return tuple(_sum_up(path, found) for path, found in self.differences.items() if found.is_read)


def _is_new_lock(file: TouchedFile) -> bool:
    return is_lock(file.path) and file.has_new_content


NO_LOCKS = ComparedLocks()


async def compare_locks(change: Change, code: Objects, toolbox: Toolbox, origin: CodeOrigin) -> ComparedLocks:
    """Compare the lock files of a change."""
    files = [each for each in change.touched if find_reader(each.path) and each.has_new_content][:_MOST]
    seen = [each.path for each in files]
    if not files:
        return NO_LOCKS
    if (where := toolbox.for_worker("lock files", origin=origin)).level is None:
        return ComparedLocks(seen, missing=where.refusal)
    hidden = {each.path: _find_hidden(each.path) for each in files if _find_hidden(each.path)}
    names = [*(each.old_path or each.path for each in files), *hidden.values()]
    base = await code.read(change.merge_base, names, _LARGEST)
    head = await code.read(change.head_sha, [*seen, *hidden.values()], _LARGEST)
    there = [each for each in files if each.path in head]

    manifests: dict[str, dict[str, str]] = {}

    def compare_versions(file: TouchedFile) -> partial[LockDifference]:
        before = base.get(file.old_path or file.path, base.get(hidden.get(file.path, "")))
        old = None if before is None else before.decode(errors="replace")
        return partial(compare, file.path, old, head[file.path].decode(errors="replace"), manifests.get(file.path))

    answers, problem = await toolbox.run_jobs(there, compare_versions, lambda file: file.path)
    compared = dict(answers)
    if doubted := [file for file, each in compared.items() if each.depends_on_manifests]:
        manifests |= {each.path: await _read_manifests(each.path, change.head_sha, code) for each in doubted}
        again, failed = await toolbox.run_jobs(doubted, compare_versions, lambda file: file.path)
        compared, problem = compared | dict(again), problem or failed
    differences = {file.path: each for file, each in compared.items()}
    faults = [(path, fault) for path, each in differences.items() for fault in each.faults]
    faults += [(path, _HIDES) for path, other in hidden.items() if other in head and path not in base and path in head]
    found = await asyncio.to_thread(lambda: tuple(_build(*each) for each in faults))
    read = sum(each.is_read for each in differences.values())
    return ComparedLocks(seen, differences, ToolReport(found, files=read, problem=problem))


async def find_requests(change: Change, code: Objects, toolbox: Toolbox, origin: CodeOrigin) -> tuple[LockChange, ...]:
    """What manifests newly ask for at run time, where no lock file of the change tells it."""
    paths = [each.path for each in change.touched if asks_at_run_time(each.path) and not is_test(each.path)][:_MOST]
    is_told = any(is_lock(each.path) for each in change.touched)
    if is_told or not paths or toolbox.for_worker("manifests", origin=origin).level is None:
        return ()
    base, head = await code.read(change.merge_base, paths), await code.read(change.head_sha, paths)

    def list_new(path: str) -> partial[tuple[PackageMove, ...]]:
        return partial(list_new_requests, path, *(each[path].decode(errors="replace") for each in (base, head)))

    answers, _ = await toolbox.run_jobs([path for path in paths if path in base and path in head], list_new, str)
    return tuple(LockChange(path=path, count=len(new), moves=new[:MOST_MOVES]) for path, new in answers if new)


async def _read_manifests(lock: str, commit: str, code: Objects) -> dict[str, str]:
    """The manifests that may ask for the packages of a lock file: those beside it, and many others."""
    names = list_manifests(lock)
    texts = await code.read_matching(commit, [f"**/{name}" for name in names], _MOST_MANIFESTS)
    texts |= await code.read(commit, [posixpath.join(posixpath.dirname(lock), name) for name in names])
    return {path: text.decode(errors="replace") for path, text in texts.items()}


def _find_hidden(path: str) -> str:
    """The lock file that npm does not read where there is this one; empty if there is none."""
    folder, name = posixpath.split(path)
    return posixpath.join(folder, "package-lock.json") if name == "npm-shrinkwrap.json" else ""


def _sum_up(path: str, found: LockDifference) -> LockChange:
    """What moved to another version before what is new or gone."""
    before, after = _group_versions(found.removed), _group_versions(found.added)
    names = sorted({*before, *after}, key=lambda name: (not (name in before and name in after), name))
    moves = [
        PackageMove(name=shorten(name, 80), before=before.get(name, ()), after=after.get(name, ()))
        for name in names[:MOST_MOVES]
    ]
    return LockChange(
        path=path, is_new=found.is_new, count=len(names), moves=tuple(moves), hosts=found.hosts[:MOST_HOSTS]
    )


def _group_versions(pairs: Sequence[Pair]) -> dict[str, tuple[str, ...]]:
    return {name: tuple(version for _, version in group) for name, group in groupby(pairs, key=itemgetter(0))}


def _build(path: str, fault: LockFault) -> RawFinding:
    rule = f"lock/{fault.rule}"
    more = len(fault.packages) - _SHOWN
    packages = ", ".join(shorten(each, 80) for each in fault.packages[:_SHOWN]) or "an index"
    subject = shorten(_KINDS.get(fault.subject, fault.subject), 80)
    said = _SAYS[fault.rule].format(packages=f"{packages} and {more} more" if more > 0 else packages, subject=subject)
    message = build_message(rule, said)
    return build_security_finding(rule, fault.severity, path, fault.line, message, category=Category.dependencies)
