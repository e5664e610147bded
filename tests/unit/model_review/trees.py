"""Small repositories before and after a change, and the related code that is found for it."""

import difflib
from collections.abc import Mapping

from agents.review.model.related import RelatedCode, find_related
from agents.syntax.languages import find_language
from agents.syntax.symbols.changes import ChangedSource, list_wanted
from agents.syntax.symbols.imports import MANIFESTS
from agents.syntax.symbols.uses import Surrounding


def describe(path: str, base: str | None, head: str | None, old_path: str = "") -> ChangedSource:
    """A changed file with the lines that differ."""
    before, after = (base or "").split("\n"), (head or "").split("\n")
    blocks = difflib.SequenceMatcher(a=before, b=after, autojunk=False).get_opcodes()
    changed = [block for block in blocks if block[0] != "equal"]
    removed = [line + 1 for _, start, end, _, _ in changed for line in range(start, end)] if base is not None else []
    added = [line + 1 for _, _, _, start, end in changed for line in range(start, end)] if head is not None else []
    return ChangedSource(path, old_path or path, find_language(path) or "", base, head, added, removed)


def find(changed: list[ChangedSource], unchanged: Mapping[str, str], *, most: int = 900) -> tuple[RelatedCode, ...]:
    """The related code, among the files that hold what is looked for."""
    wanted = list_wanted(changed)
    texts = {path: text for path, text in unchanged.items() if any(_holds(path, text, words) for words in wanted)}
    manifests = {path: text for path, text in unchanged.items() if path.rsplit("/", 1)[-1] in MANIFESTS}
    return find_related(changed, Surrounding(texts, list(unchanged), manifests), most=most)


def tell(changed: list[ChangedSource], unchanged: Mapping[str, str]) -> set[str]:
    """What is said of which file: ``path: why``."""
    return {f"{each.path}: {each.why}" for each in find(changed, unchanged)}


def _holds(path: str, text: str, words: tuple[str, ...]) -> bool:
    return all(word in text or word in path for word in words)
