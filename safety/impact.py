"""Decides for each file of a change whether it can alter what the program does (docs/contract.md, risk)."""

from collections.abc import Collection, Mapping, Sequence

from domain.paths import is_data, is_document, is_lock
from domain.review.changes import TouchedFile
from domain.review.impact import Impact
from safety.protected_files import decides_about_runs


def assess_impact(
    touched: Sequence[TouchedFile], parsed: Mapping[str, Impact], explained: Collection[str] = ()
) -> dict[str, Impact]:
    """Path of each file → its impact, which is ``behaviour`` unless something else is certain.

    :param parsed: what the syntax trees of files say, by path at head.
    :param explained: lock files of which the code host's comparison explains every difference.
    """
    return {each.path: _assess_file(each, parsed, explained) for each in touched}


def _assess_file(file: TouchedFile, parsed: Mapping[str, Impact], explained: Collection[str]) -> Impact:
    names = {file.path, file.old_path or file.path}
    if any(map(decides_about_runs, names)):
        return Impact.behaviour
    if file.path in parsed:
        return parsed[file.path]
    if file.may_run:
        return Impact.behaviour
    if all(map(is_document, names)):
        return Impact.document
    if all(map(is_lock, names)):
        return Impact.lock if file.path in explained else Impact.behaviour
    return Impact.data if all(map(is_data, names)) else Impact.behaviour
