"""Decides which files of a change a model reads first, in case there is no money or room for all."""

from collections.abc import Collection, Sequence

from domain.paths import is_test
from domain.review.changes import FileChange
from domain.review.findings import RawFinding, Severity
from safety.risk import is_sensitive


def list_riskiest(files: Sequence[FileChange], found: Sequence[RawFinding], sensitive: Sequence[str]) -> frozenset[str]:
    """The paths of files to read before all others: sensitive ones, and those in which a tool found an error.

    :param sensitive: glob patterns (`paths.sensitive`), besides what is sensitive everywhere.
    """
    marked = {finding.path for finding in found if finding.severity.rank >= Severity.error.rank}
    return frozenset(
        file.path
        for file in files
        if file.path in marked or any(is_sensitive(path, sensitive) for path in {file.path, file.old_path or file.path})
    )


def rank(file: FileChange, riskiest: Collection[str]) -> tuple[int, str]:
    """The place of a file: the riskiest first, tests last. Neighbours stay together: they explain each other."""
    place = 0 if file.path in riskiest else 2 if is_test(file.path) else 1
    return place, file.path
