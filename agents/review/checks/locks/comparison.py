"""Compares two versions of a lock file: which packages moved, and what is suspicious about that."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from agents.review.checks.locks.entries import (
    GIT,
    LOCAL,
    REGISTRY,
    SOURCE,
    TRUSTED,
    URL,
    LockEntry,
    UnreadableLock,
    by_name,
    find_host,
    holds_credential,
    is_plain_http,
)
from agents.review.checks.locks.formats import read_entries
from agents.review.checks.locks.manifests import Wishes
from domain.paths import is_lock, is_manifest
from domain.review.findings import Severity
from domain.value import Value

Pair = tuple[str, str]

_FETCHED = (REGISTRY, URL, GIT)
_OTHERS = (LOCAL, URL, GIT)
_PLACES = (SOURCE, TRUSTED)
_STRENGTH = ("md5", "sha1", "sha256", "sha384", "sha512")


class LockFault(Value):
    """Something suspicious about some packages: ``subject`` is what else it is about, such as a host, and ``line`` that
    of the first one at head, from 1.
    """

    rule: str
    severity: Severity
    packages: tuple[str, ...]
    subject: str = ""
    line: int | None = None


class LockDifference(Value):
    """What a change of a lock file comes to.

    ``added`` and ``removed`` are names as the file has them and versions, ``hosts`` those from which nothing came
    before. Nothing of it is known unless both versions could be read (``is_read``). Of the settings of a package
    manager only the faults are: they may say more than where packages come from.
    """

    faults: tuple[LockFault, ...] = ()
    added: tuple[Pair, ...] = ()
    removed: tuple[Pair, ...] = ()
    hosts: tuple[str, ...] = ()
    is_read: bool = False
    is_new: bool = False

    @property
    def depends_on_manifests(self) -> bool:
        """Whether what is suspicious may be what a manifest asks for."""
        return any(each.rule in {"other-source", "other-package"} for each in self.faults)


@dataclass
class _Versions:
    """Both versions, by the questions that are asked of them."""

    base: Sequence[LockEntry]
    head: Sequence[LockEntry]
    has_base: bool
    named: dict[str, list[LockEntry]] = field(init=False)

    def __post_init__(self) -> None:
        self.named = by_name(entry for entry in self.base if entry.kind not in _PLACES)
        self.addresses = {address for entry in self.base for address in entry.addresses}
        self.origins = {origin for entry in self.base for origin in entry.origins}
        self.hosts = set(map(find_host, self.addresses))
        self.unencrypted = {find_host(address) for address in self.addresses if is_plain_http(address)}
        self.folders: dict[str, list[LockEntry]] = {}
        self.installed: dict[str, set[str]] = {}
        for entry in self.base:
            self.folders.setdefault(entry.folder, []).append(entry)
            self.installed.setdefault(entry.takes_place_of or entry.name, set()).add(entry.name)

    def find_before(self, entry: LockEntry) -> list[LockEntry]:
        """The same package before, in any version."""
        return self.named.get(entry.pair[0], [])

    def find_same(self, entry: LockEntry) -> list[LockEntry]:
        """The same version of it before."""
        return [each for each in self.find_before(entry) if each.pair == entry.pair]


def compare(path: str, base: str | None, head: str, manifests: Mapping[str, str] | None = None) -> LockDifference:
    """What a change of a lock file comes to; nothing is known of it where a version cannot be read.

    :param base: its text before; None for a new file.
    :param manifests: path → text of what asks for its packages. What the lock file itself says to be asked for does
        not count: only a package manager writes it, or somebody who hopes that nobody reads it.
    """
    lists_packages = is_lock(path) or is_manifest(path)
    try:
        before, after = read_entries(path, base) if base else [], read_entries(path, head)
        versions = _Versions(before, after, bool(base) or not lists_packages)
    except UnreadableLock:
        return LockDifference()
    old = set(versions.base)
    new = [entry for entry in dict.fromkeys(versions.head) if entry not in old]
    found = [fault for entry in new for fault in _find_faults(entry, versions)]
    wishes = Wishes(manifests or {}, path)
    found += [fault for entry in versions.head for fault in _find_replacements(entry, versions, wishes)]
    faults = _group(found, head)
    before, after = (
        {entry.pair for entry in each if entry.kind not in _PLACES} for each in (versions.base, versions.head)
    )
    written = {entry.pair[0]: entry.name for entry in (*versions.base, *versions.head)}
    added, removed = (
        tuple(sorted((written[name], version) for name, version in each)) for each in (after - before, before - after)
    )
    return LockDifference(
        faults=faults,
        added=added,
        removed=removed,
        hosts=tuple(sorted({host for entry in new for host in entry.hosts} - versions.hosts)) if base else (),
        is_read=lists_packages,
        is_new=not base,
    )


def _find_faults(entry: LockEntry, versions: _Versions) -> Iterator[LockFault]:
    before, same = versions.find_before(entry), versions.find_same(entry)
    yield from _find_open_addresses(entry, versions)
    if entry.kind in _PLACES:
        yield from _find_other_places(entry, versions)
    if entry.kind not in _FETCHED or not versions.has_base:  # a local one is seen in the repository
        return
    is_changed = bool(same) and (_has_other_hash(entry, same) or _has_other_file(entry, same))
    if is_changed:
        yield _build("hash-changed", Severity.error, entry)
    repositories = frozenset[str]().union(*(each.repositories for each in before))
    if repositories and entry.hosts <= versions.hosts:
        for repository in sorted(entry.repositories - repositories):
            yield _build("other-repository", Severity.warning, entry, _without_scheme(repository))
    is_known = any(entry.hashes & each.hashes for each in same)
    is_served = is_known and not _rests_on_commits(entry)
    for place in _list_other_places(entry, before, versions) if not is_served else ():
        yield _build("other-host", Severity.error if same else Severity.warning, entry, place)
    if entry.kind == REGISTRY and not entry.hashes and before and all(each.hashes for each in before):
        is_moved = not entry.hosts <= versions.hosts or any(map(is_plain_http, entry.addresses))
        yield _build("hash-missing", Severity.error if is_moved else Severity.warning, entry)
    if entry.runs_scripts and same and not is_known and not any(each.runs_scripts for each in same):
        yield _build("runs-scripts", Severity.error, entry)


def _find_other_places(entry: LockEntry, versions: _Versions) -> Iterator[LockFault]:
    for host in sorted(entry.origins):
        yield _build("no-certificate", Severity.error, entry, host)
    for host in sorted(entry.hosts - versions.hosts if versions.has_base else ()):
        yield _build("other-index", Severity.warning, entry, host)


def _find_replacements(entry: LockEntry, versions: _Versions, wishes: Wishes) -> Iterator[LockFault]:
    """Where it comes from anything else than what was in its place, as no manifest asks for."""
    there = versions.folders.get(entry.folder, []) if entry.folder else []
    before = there or versions.find_same(entry) or versions.find_before(entry)
    if entry.kind in _OTHERS and before and all(each.kind in _FETCHED and each.kind != entry.kind for each in before):
        is_asked_for, is_companion = wishes.hold(entry), _is_companion(entry, versions, wishes)
        is_beside = is_companion and {*before} <= {*versions.head}
        if not (is_asked_for and entry.kind == LOCAL) and not is_beside:
            is_new = entry.kind == URL and all(each.version != entry.version for each in versions.find_before(entry))
            severity = Severity.warning if is_asked_for or is_companion or is_new else Severity.error
            yield _build("other-source", severity, entry, entry.kind)
        if entry.runs_scripts and not is_asked_for and not any(each.runs_scripts for each in before):
            yield _build("runs-scripts", Severity.error, entry)
    known = versions.installed.get(entry.takes_place_of, set()) if entry.takes_place_of else ()
    if known and entry.name not in known and not wishes.hold_alias(entry):
        yield _build("other-package", Severity.error, entry, entry.takes_place_of)


def _is_companion(entry: LockEntry, versions: _Versions, wishes: Wishes) -> bool:
    """Whether no manifest asks for a package, but for another one of the same repository, of which more is said."""
    others = (each for each in versions.head if each.repositories & entry.repositories and each.name != entry.name)
    return not wishes.hold(entry) and any(map(wishes.hold, others))


def _find_open_addresses(entry: LockEntry, versions: _Versions) -> Iterator[LockFault]:
    for address in sorted(entry.addresses - versions.addresses):
        host = find_host(address)
        if holds_credential(address):
            yield _build("credential-in-address", Severity.error, entry, host)
        if is_plain_http(address) and host not in versions.unencrypted:
            yield _build("no-encryption", Severity.error, entry, host)


def _build(rule: str, severity: Severity, entry: LockEntry, subject: str = "") -> LockFault:
    return LockFault(rule=rule, severity=severity, packages=(f"{entry.name} {entry.version}".strip(),), subject=subject)


def _list_other_places(entry: LockEntry, before: Sequence[LockEntry], versions: _Versions) -> list[str]:
    """The hosts, or else the indexes and repositories, from which it comes and from which nothing came."""
    if hosts := entry.hosts - versions.hosts:
        return sorted(hosts)
    if not any(each.origins for each in before):
        return []
    return sorted(map(_without_scheme, entry.origins - versions.origins))


def _without_scheme(address: str) -> str:
    return re.sub(r"^.*?://", "", address)


def _rests_on_commits(entry: LockEntry) -> bool:
    """Whether all that it is known by is a commit, which nobody compares with the archive that an address serves."""
    return {algorithm for algorithm, _ in entry.hashes} == {"commit"}


def _has_other_hash(entry: LockEntry, same: Sequence[LockEntry]) -> bool:
    """Whether it is known by hashes of an algorithm and by none of those that it had, or not by the strongest any more.

    A hash of a stronger algorithm may take the place of a weaker one if the address stays.
    """
    known = frozenset[Pair]().union(*(each.hashes for each in same))
    algorithms, past = ({algorithm for algorithm, _ in each} for each in (entry.hashes, known))
    common = algorithms & past
    if algorithms and past:
        strongest = max(past, key=_rank)
        if _rank(strongest) >= 0 and max(map(_rank, algorithms)) < _rank(strongest):
            return True
        there = {_without_scheme(address) for each in same for address in each.addresses}
        if not common and not set(map(_without_scheme, entry.addresses)) <= there:
            return True
    return any(entry.hashes.isdisjoint({pair for pair in known if pair[0] == algorithm}) for algorithm in common)


def _has_other_file(entry: LockEntry, same: Sequence[LockEntry]) -> bool:
    """Whether an archive that had a hash has another one, if only beside it."""
    known = frozenset[tuple[str, str, str]]().union(*(each.files for each in same))
    kinds = {(name, algorithm) for name, algorithm, _ in known}
    return any(each[:2] in kinds for each in entry.files - known)


def _rank(algorithm: str) -> int:
    """How strong an algorithm is; -1 for what only one package manager computes."""
    return _STRENGTH.index(algorithm) if algorithm in _STRENGTH else -1


def _group(faults: Sequence[LockFault], head: str) -> tuple[LockFault, ...]:
    """One fault for each kind, with its first place."""
    grouped: dict[tuple[str, Severity, str], list[str]] = {}
    for fault in faults:
        grouped.setdefault((fault.rule, fault.severity, fault.subject), []).extend(fault.packages)
    find_line = _index_lines(head)
    return tuple(
        LockFault(
            rule=rule,
            severity=severity,
            packages=tuple(dict.fromkeys(packages)),
            subject=subject,
            line=find_line(packages[0], subject),
        )
        for (rule, severity, subject), packages in grouped.items()
    )


def _index_lines(head: str) -> Callable[[str, str], int | None]:
    """A search for the line that is about a package: the one with the subject, else the one with its name."""
    lines = head.split("\n")

    def find(package: str, subject: str) -> int | None:
        name, _, version = package.partition(" ")
        about = [number for number, line in enumerate(lines, 1) if name in line]
        following = [number for start in about for number in range(start, min(start + 12, len(lines) + 1))]
        for wanted in (subject, version):
            if wanted and (found := next((each for each in following if wanted in lines[each - 1]), None)):
                return found
        return about[0] if about else None

    return find
