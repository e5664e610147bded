"""Adds to a review the credentials that one commit of a change added and a later one removed."""

from agents.review.checks.run import search_commits
from agents.review.layers import CheckedChange
from agents.toolbox import Toolbox
from domain.config.configuration import Configuration
from domain.review.findings import Layer
from safety.containment import find_origin
from safety.eligibility import is_included
from safety.risk import PullRequestAuthor
from workspace.objects import Objects
from workspace.transient_commits import list_transient


async def add_transient_commits(
    checked: CheckedChange, code: Objects, toolbox: Toolbox, configuration: Configuration, author: PullRequestAuthor
) -> CheckedChange:
    """The result, with the credentials that a commit added and a later one removed.

    :raises CodeAccessError: if the commits cannot be read.
    """
    files, is_all = await list_transient(code, checked.merge_base, checked.head_sha)
    kept = [file for file in files if is_included(file.path, configuration.review.paths)]
    found, problem = await search_commits(kept, toolbox, find_origin(author.from_fork))
    notes = [problem] if problem else []
    if not is_all:
        notes.append("Not all commits were searched for credentials that a later one took away.")
    layers = [
        layer.model_copy(update={"note": " ".join([*filter(None, [layer.note]), *notes]) or None})
        if layer.layer is Layer.security
        else layer
        for layer in checked.layers
    ]
    return checked.model_copy(update={"in_passing": found, "layers": tuple(layers)})
