"""Matches the tables on the syntax tree of a file."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, cast

from ast_grep_py import SgNode, SgRoot

from agents.review.checks.dangers import compiled, scripts
from agents.review.checks.rule_texts import Danger, rate
from agents.syntax.languages import find_language

TABLE = (
    *(*scripts.PYTHON, *scripts.JAVASCRIPT, *scripts.RUBY, *scripts.PHP),
    *(*compiled.GO, *compiled.JAVA, *compiled.CSHARP, *compiled.RUST, *compiled.C),
)
BY_RULE = {each.rule: each for each in TABLE}

LANGUAGES = frozenset(language for each in TABLE for language in each.grammars)
"""The languages that the tables know something dangerous of."""


@dataclass(frozen=True)
class DangerHit:
    """A match: rule id, what it is, first and last line, counted from 1."""

    rule: str
    danger: Danger
    line: int
    end_line: int


def find_grammar(path: str) -> str | None:
    """The grammar for a file, by its name; None if there are no rules for it."""
    language = find_language(path)
    return language if language in LANGUAGES else None


def scan(grammar: str, text: str) -> list[DangerHit]:
    """All matches in a file, from the top, of each rule the gravest of a line."""
    hits: dict[tuple[str, int], DangerHit] = {}
    for hit in _match(SgRoot(text, grammar).root(), grammar):
        known = hits.setdefault((hit.rule, hit.line), hit)
        if rate(hit.danger).rank > rate(known.danger).rank:
            hits[hit.rule, hit.line] = hit
    return sorted(hits.values(), key=lambda hit: (hit.line, hit.rule))


def _match(root: SgNode, grammar: str) -> Iterator[DangerHit]:
    for rule in TABLE:
        if grammar not in rule.grammars:
            continue
        for node in root.find_all(cast(Any, {"rule": rule.shape})):
            danger = rule.danger if rule.grade is None else rule.grade(node)
            if danger is not None:
                place = node.range()
                yield DangerHit(rule.rule, danger, place.start.line + 1, place.end.line + 1)
