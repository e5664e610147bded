"""Finds related code as the product does, here instead of in a worker."""

from collections.abc import Mapping
from typing import Any

from agents.review.model.related import RelatedCode
from agents.review.syntax import build_changes, build_search
from agents.syntax.symbols.imports import MANIFESTS
from agents.worker_jobs import name_wanted, relate
from domain.review.changes import Change, FileVersions
from workspace.code_search import search_near
from workspace.objects import Objects


async def find_by_symbols(
    objects: Objects, head: str, change: Change, versions: Mapping[str, FileVersions]
) -> tuple[RelatedCode, ...]:
    """The related code of a change."""
    changes = build_changes(change, versions, {})
    wanted: Any = name_wanted({"changes": changes})
    changed = [str(each["path"]) for each in changes if isinstance(each, dict)]
    near = await search_near(objects, head, changed, wanted, MANIFESTS)
    answer: Any = relate(build_search(changes, near))
    return tuple(map(RelatedCode.from_json, answer))
