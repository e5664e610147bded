"""Matches the tables on the syntax tree of a file."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any, cast

from ast_grep_py import SgRoot

from agents.review.checks.dangers import compiled, scripts

TABLE = (
    *(*scripts.JAVASCRIPT, *scripts.RUBY, *scripts.PHP),
    *(*compiled.GO, *compiled.JAVA, *compiled.CSHARP, *compiled.RUST, *compiled.C),
)
BY_RULE = {each.rule: each for each in TABLE}

_SUFFIXES = {
    "javascript": ".js .jsx .mjs .cjs",
    "typescript": ".ts .mts .cts",
    "tsx": ".tsx",
    "ruby": ".rb .rake",
    "php": ".php",
    "go": ".go",
    "java": ".java",
    "csharp": ".cs",
    "rust": ".rs",
    "c": ".c",
    "cpp": ".cc .cpp .cxx .h .hh .hpp",
}
GRAMMARS: Mapping[str, str] = {suffix: grammar for grammar, all_ in _SUFFIXES.items() for suffix in all_.split()}


@dataclass(frozen=True)
class DangerHit:
    """A match: rule id, first and last line, counted from 1."""

    rule: str
    line: int
    end_line: int


def find_grammar(path: str) -> str | None:
    """The grammar for a file, by its name; None if there are no rules for it."""
    return GRAMMARS.get(PurePosixPath(path).suffix)


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
