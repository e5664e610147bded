"""Finds related code as the product does, here instead of in a worker."""

from collections.abc import Mapping

from agents.review.model.related import RelatedCode, find_related
from agents.review.syntax import build_changes, read_surrounding
from agents.syntax.symbols.changes import list_wanted
from agents.syntax.symbols.imports import MANIFESTS
from domain.review.changes import Change, FileVersions
from workspace.code_search import search_near
from workspace.objects import Objects


async def find_by_symbols(
    objects: Objects, head: str, change: Change, versions: Mapping[str, FileVersions]
) -> tuple[RelatedCode, ...]:
    """The related code of a change."""
    changes = build_changes(change, versions, {})
    near = await search_near(objects, head, [each.path for each in changes], list_wanted(changes), MANIFESTS)
    return find_related(changes, read_surrounding(near))
