"""Decides for each file of a change whether it can alter what the program does (docs/review.md, risk)."""

import re
from collections.abc import Collection, Mapping, Sequence

from domain.globs import matches
from domain.paths import holds_tests, is_data, is_document, is_lock, tells_terms
from domain.review.changes import FileChange, TouchedFile
from domain.review.impact import Impact
from safety.protected_files import decides_about_runs

_STARTS = re.compile(
    r"process|popen|\bsystem\(|\bexec|\bspawn|\bfork\b|\beval\b|socket|https?:|urlopen|\bcurl\b|\bwget\b|\brm\b|rmtree"
    r"|unlink|environ|getenv|\.env\b|secret",
    re.IGNORECASE,
)
"""What names a process, a network, the environment or a deletion."""


def assess_impact(
    touched: Sequence[TouchedFile],
    parsed: Mapping[str, Impact],
    explained: Collection[str] = (),
    instructions: Sequence[str] = (),
    files: Sequence[FileChange] = (),
) -> dict[str, Impact]:
    """Path of each file → its impact, which is ``behaviour`` unless something else is certain.

    :param parsed: what the syntax trees of files say, by path at head.
    :param explained: lock files of which the code host's comparison explains every difference.
    :param instructions: globs of the files that tell Forge's own agents how code is written here.
    :param files: those that could be read.
    """
    calm = {each.path for each in files if not any(map(_STARTS.search, each.added_lines.values()))}
    return {
        each.path: Impact.behaviour
        if matches(each.path, instructions) or matches(each.old_path or each.path, instructions)
        else _assess_file(each, parsed, explained, calm)
        for each in touched
    }


def _assess_file(
    file: TouchedFile, parsed: Mapping[str, Impact], explained: Collection[str], calm: Collection[str]
) -> Impact:
    names = {file.path, file.old_path or file.path}
    if any(map(decides_about_runs, names)):
        return Impact.behaviour
    found = parsed.get(file.path)
    if found is Impact.behaviour and not file.may_run and all(map(is_document, names)):
        return Impact.behaviour if any(map(tells_terms, names)) else Impact.guide
    if found in {None, Impact.behaviour} and file.path in calm and all(map(holds_tests, names)) and not file.is_gone:
        return Impact.test
    if found is not None and not (found is Impact.document and file.may_run):
        return found
    if file.may_run:
        return Impact.behaviour
    if all(map(is_document, names)):
        return Impact.document if _stays_the_same(file) else Impact.behaviour
    if all(map(is_lock, names)):
        return Impact.lock if file.path in explained else Impact.behaviour
    return Impact.data if all(map(is_data, names)) else Impact.behaviour


def _stays_the_same(file: TouchedFile) -> bool:
    """Whether a document that nobody parsed has no new content: it is gone, or has another name. The terms under which
    the work may be used, and what says where to report a weakness, are kept.
    """
    kept = file.old_path or (file.path if file.is_gone else None)
    return not file.has_new_content and not (kept is not None and tells_terms(kept) and not _is_kept(file))


def _is_kept(file: TouchedFile) -> bool:
    return not file.is_gone and tells_terms(file.path)
