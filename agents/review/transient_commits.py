"""Adds to a review the credentials where its checks do not look: in passing commits, and in files that nobody reads."""

from collections.abc import Sequence

from agents.review.checks.run import search_commits
from agents.review.layers import CheckedChange
from agents.toolbox import Toolbox
from domain.config.configuration import Configuration
from domain.review.findings import Layer
from domain.text.redaction import redact_finding
from safety.containment import find_origin
from safety.eligibility import is_included
from safety.risk import PullRequestAuthor
from workspace.objects import Objects
from workspace.transient_commits import list_transient, list_unreviewed


async def add_transient_commits(
    checked: CheckedChange, code: Objects, toolbox: Toolbox, configuration: Configuration, author: PullRequestAuthor
) -> CheckedChange:
    """The result, with the credentials that a commit added and a later one removed.

    And with those of :func:`add_unreviewed`.

    :raises CodeAccessError: if the commits cannot be read.
    """
    origin = find_origin(author.from_fork)
    files, is_all = await list_transient(code, checked.merge_base, checked.head_sha)
    kept = [file for file in files if is_included(file.path, configuration.review.paths)]
    found, problem = await search_commits(kept, toolbox, origin)
    missing = [] if is_all else ["Not all commits were searched for credentials that a later one took away."]
    noted = _note(checked.model_copy(update={"in_passing": found}), [*filter(None, [problem]), *missing])
    return await add_unreviewed(noted, code, toolbox, author)


async def add_unreviewed(
    checked: CheckedChange, code: Objects, toolbox: Toolbox, author: PullRequestAuthor
) -> CheckedChange:
    """The result, with the credentials of a known form in files that are not reviewed because they are generated,
    vendored or the like.

    :raises CodeAccessError: if the files cannot be read.
    """
    unread, are_all = await list_unreviewed(code, checked.merge_base, checked.head_sha, checked.touched)
    found, problem = await search_commits(unread, toolbox, find_origin(author.from_fork), known_forms=True)
    missing = "Not all unreviewed files were searched for credentials: they are too many or too large."
    noted = _note(checked, [*filter(None, [problem]), *([] if are_all else [missing])])
    findings = tuple(sorted((*noted.findings, *map(redact_finding, found)), key=lambda finding: finding.sort_key))
    return noted.model_copy(update={"findings": findings})


def _note(checked: CheckedChange, notes: Sequence[str]) -> CheckedChange:
    """The result, with what its security checks could not do."""
    layers = [
        layer.model_copy(update={"note": " ".join(dict.fromkeys([*filter(None, [layer.note]), *notes])) or None})
        if layer.layer is Layer.security
        else layer
        for layer in checked.layers
    ]
    return checked.model_copy(update={"layers": tuple(layers)})
