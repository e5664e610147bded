"""Adds to a review the credentials where its checks do not look: in passing commits, and in files that nobody reads."""

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
    """The result, with the credentials that a commit added and a later one removed, and with those of a known form in
    files that are not reviewed because they are generated, vendored or the like.

    :raises CodeAccessError: if the commits cannot be read.
    """
    origin = find_origin(author.from_fork)
    files, is_all = await list_transient(code, checked.merge_base, checked.head_sha)
    kept = [file for file in files if is_included(file.path, configuration.review.paths)]
    found, problem = await search_commits(kept, toolbox, origin)
    unread, are_all = await list_unreviewed(code, checked.merge_base, checked.head_sha, checked.touched)
    beside, problem_beside = await search_commits(unread, toolbox, origin, known_forms=True)
    notes = [each for each in dict.fromkeys((problem, problem_beside)) if each]
    if not are_all:
        notes.append("Not all unreviewed files were searched for credentials: they are too many or too large.")
    if not is_all:
        notes.append("Not all commits were searched for credentials that a later one took away.")
    layers = [
        layer.model_copy(update={"note": " ".join([*filter(None, [layer.note]), *notes]) or None})
        if layer.layer is Layer.security
        else layer
        for layer in checked.layers
    ]
    findings = tuple(sorted((*checked.findings, *map(redact_finding, beside)), key=lambda finding: finding.sort_key))
    return checked.model_copy(update={"findings": findings, "in_passing": found, "layers": tuple(layers)})
