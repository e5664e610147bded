"""Matches the tables on the syntax tree of a file."""

from dataclasses import dataclass
from typing import Any, cast

from ast_grep_py import SgRoot

from agents.review.checks.dangers import compiled, scripts
from agents.syntax.languages import find_language

TABLE = (
    *(*scripts.JAVASCRIPT, *scripts.RUBY, *scripts.PHP),
    *(*compiled.GO, *compiled.JAVA, *compiled.CSHARP, *compiled.RUST, *compiled.C),
)
BY_RULE = {each.rule: each for each in TABLE}

LANGUAGES = frozenset(language for each in TABLE for language in each.grammars)
"""The languages that the tables know something dangerous of."""


@dataclass(frozen=True)
class DangerHit:
    """A match: rule id, first and last line, counted from 1."""

    rule: str
    line: int
    end_line: int


def find_grammar(path: str) -> str | None:
    """The grammar for a file, by its name; None if there are no rules for it."""
    language = find_language(path)
    return language if language in LANGUAGES else None


def scan(grammar: str, text: str) -> list[DangerHit]:
    """All matches in a file, from the top, at most one of each rule per line."""
    root = SgRoot(text, grammar).root()
    hits: dict[tuple[str, int], DangerHit] = {}
    for rule in TABLE:
        if grammar in rule.grammars:
            for node in root.find_all(cast(Any, {"rule": rule.shape})):
                place = node.range()
                first = place.start.line + 1
                hits.setdefault((rule.rule, first), DangerHit(rule.rule, first, place.end.line + 1))
    return sorted(hits.values(), key=lambda hit: (hit.line, hit.rule))
