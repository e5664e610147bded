"""Matches our rules for dangerous code, which stand in ``rules.yml``, with the syntax tree of a file."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, cast

import yaml
from ast_grep_py import SgNode, SgRoot
from pydantic import BaseModel, BeforeValidator, ConfigDict

from agents.review.checks.dangers.statements import rate_command, rate_statement
from agents.review.checks.dangers.texts import SENT
from agents.review.checks.rule_texts import Danger, rate

Grade = Callable[[SgNode], Danger | None]
"""Looks closer at a match: which danger it is, or none."""

_GRAMMARS = {"js": ("javascript", "typescript", "tsx"), "c": ("c", "cpp")}
"""The grammars of a language, where they are others than its name."""


def _is_sent(node: SgNode) -> bool:
    """Whether what people or machines outside sent is named in it."""
    return SENT.search(node.text()) is not None


def _rate_code(node: SgNode) -> Danger:
    """A program mostly writes the methods itself that it adds to its classes."""
    if _is_sent(node):
        return Danger.foreign_code
    is_own = re.match(r"[\w.:]*\b(?:class|instance|module)_eval\b", node.text()) is not None
    return Danger.own_code if is_own else Danger.unseen_code


def _rate_php_load(node: SgNode) -> Danger:
    return Danger.foreign_object if _is_sent(node) else Danger.own_object


def _rate_ruby_load(node: SgNode) -> Danger:
    """``YAML.load`` is safe since Ruby 3.1, and a program may load what it wrote itself."""
    is_own = re.match(r"YAML\.load\(|.*\b(File|IO)\.", node.text()) is not None
    return Danger.own_object if is_own and not _is_sent(node) else Danger.foreign_object


GRADES: Mapping[str, Grade] = {
    "code": _rate_code,
    "command": rate_command,
    "php_load": _rate_php_load,
    "ruby_load": _rate_ruby_load,
    "statement": rate_statement,
}


def _look_up(table: Mapping[str, object]) -> BeforeValidator:
    """Takes the name of an entry of a table."""

    def find(name: str) -> object:
        if name not in table:
            raise ValueError(f"{name!r} is none of {', '.join(table)}")
        return table[name]

    return BeforeValidator(find)


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, arbitrary_types_allowed=True)


class Metadata(_Part):
    """What a rule is about.

    :param danger: what it is, where nobody looks closer.
    :param grade: looks closer, where one shape is of several dangers.
    :param silenced_by: the number of bandit's rule about the same, by which comments silence it.
    """

    danger: Annotated[Danger, _look_up(Danger.__members__)]
    grade: Annotated[Grade | None, _look_up(GRADES)] = None
    silenced_by: str = ""


class DangerRule(_Part):
    """A rule of the file.

    :param id: full rule id, which begins with the language.
    :param message: what is wrong, why it matters, and what to do.
    :param rule: what it looks like: ast-grep's kinds, patterns and relations of nodes.
    """

    id: str
    message: str
    metadata: Metadata
    rule: Mapping[str, Any]

    @property
    def language(self) -> str:
        return self.id.partition("/")[0]

    @property
    def grammars(self) -> tuple[str, ...]:
        """The names in ast-grep of what it is looked for in."""
        return _GRAMMARS.get(self.language, (self.language,))


class RuleFile(_Part):
    """The whole of a file of rules.

    :param utils: language or ``any`` → name → shape that rules of that language may name.
    """

    utils: Mapping[str, Mapping[str, Mapping[str, Any]]]
    rules: tuple[DangerRule, ...]

    def configure(self, rule: DangerRule) -> dict[str, Any]:
        """A rule as ast-grep takes it, with the shapes that it names; each more would cost time in every file."""
        shapes = {"sent": {"regex": SENT.pattern}, **self.utils["any"], **self.utils.get(rule.language, {})}
        return {"rule": rule.rule, "utils": {name: shapes[name] for name in _list_named(rule.rule) if name in shapes}}


def _list_named(shape: Any) -> Iterator[str]:
    """The names of shapes in a shape."""
    if isinstance(shape, Mapping):
        for key, value in cast(Mapping[str, Any], shape).items():
            yield from [value] if key == "matches" else _list_named(value)
    elif isinstance(shape, Sequence) and not isinstance(shape, str):
        for each in cast(Sequence[Any], shape):
            yield from _list_named(each)


def read_rules(text: str) -> RuleFile:
    """The rules of a file.

    :raises ValueError: it has a key, a danger or a grade that nobody knows, or lacks one.
    """
    return RuleFile.model_validate(yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)))


FILE = read_rules(Path(__file__).with_suffix(".yml").read_text(encoding="utf-8"))
TABLE = FILE.rules
BY_RULE = {each.id: each for each in TABLE}
CONFIGURED = {each.id: FILE.configure(each) for each in TABLE}
"""Rule id → the rule as ast-grep takes it."""

LANGUAGES = frozenset(language for each in TABLE for language in each.grammars)
"""The languages that the rules know something dangerous of."""


@dataclass(frozen=True)
class DangerHit:
    """A match: rule id, what it is, first and last line, counted from 1."""

    rule: str
    danger: Danger
    line: int
    end_line: int


def scan(grammar: str, text: str) -> list[DangerHit]:
    """All matches in a file, from the top, of each rule the gravest of a line."""
    hits: dict[tuple[str, int], DangerHit] = {}
    for hit in _match(SgRoot(text, grammar).root(), grammar):
        known = hits.setdefault((hit.rule, hit.line), hit)
        if rate(hit.danger).rank > rate(known.danger).rank:
            hits[hit.rule, hit.line] = hit
    return sorted(hits.values(), key=lambda hit: (hit.line, hit.rule))


def scan_both(grammar: str, head: str, base: str | None) -> tuple[list[DangerHit], list[DangerHit]]:
    """All matches in a file at head and, if there are any and it was there, at the merge base."""
    found = scan(grammar, head)
    return found, scan(grammar, base) if found and base is not None else []


def _match(root: SgNode, grammar: str) -> Iterator[DangerHit]:
    for rule in TABLE:
        if grammar not in rule.grammars:
            continue
        for node in root.find_all(cast(Any, CONFIGURED[rule.id])):
            grade = rule.metadata.grade
            danger = rule.metadata.danger if grade is None else grade(node)
            if danger is not None:
                place = node.range()
                yield DangerHit(rule.id, danger, place.start.line + 1, place.end.line + 1)
