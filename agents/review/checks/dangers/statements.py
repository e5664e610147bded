"""Rates statements of SQL that are put together from text, in the syntax tree of any language.

A value beside a comparison or in quotation marks is what injection is made of, and what was sent is so anywhere. The
name of a table or a part of a statement is put in by honest programs, too, which cannot pass those as parameters. What
is written in the program, a constant, a number, a list of placeholders and what was looked up among allowed names
cannot change a statement.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ast_grep_py import SgNode

from agents.review.checks.dangers.names import (
    find_added,
    follow,
    is_allowed,
    is_constant,
    is_list_of_marks,
    is_number,
    list_given,
    read_kept,
)
from agents.review.checks.dangers.texts import (
    ARGUMENTS,
    CALLS,
    COLLECTIONS,
    PASSED,
    SCOPES,
    SENT,
    SENT_ITSELF,
    Filling,
    Hole,
    fill,
    flatten,
    is_checked,
    is_declared_number,
    is_from_outside,
    is_part,
    is_sent,
    list_holes,
    list_items,
    list_named,
    read_callee,
    read_sides,
)
from agents.review.checks.rule_texts import Danger

_HARMLESS_IN_COMMANDS = re.compile(
    r"^[\d.]+$|(?:^|\.|::|->)[A-Z][A-Z0-9_]*$|(?i:escape|quote|shellwords|shlex|\bint\(|parseInt|intval|to_i\b|\.pid\b)"
)
_PART = re.compile(r"(?i)(?:cmd|command|args?|argv|flags?|opts?|options?|bin|binary|exe|executable|redirect\w*)\W*$")

_STATEMENT = re.compile(
    r"(?is)^[\s(]*(?:select\b.+?\bfrom\b|insert\s+(?:ignore\s+)?into\b|replace\s+into\b|update\b.+?\bset\b"
    r"|delete\s+(?:\S+\s+)?from\b|with\b.+?\bas\s*\(.+?\bselect\b|merge\s+into\b)"
)
_CONDITION = re.compile(r"(?i)[=<>]|\b(like|in|between)\b")

_SINKS = (
    r"(?:\w*query\w*|exec\w*|prepare\w*|\w*raw(?:unsafe)?|select(?!or)\w*|fetch\w*|find_?by_?sql|read_sql\w*|text|\w*sql"
    r"|run|all|get|iterate|each|statement|unprepared|unsafe|batch|\w*command|rows?|getone|getrow|getcol|getall)"
)
_SINK = re.compile(rf"(?i)(?:^|[\s.>:@]){_SINKS}!?(?:(?:::)?<[^()]*>)?\s*$")
_PART_SINK = re.compile(r"(?i)[.>:](?:(?:or|and)?_?where\w*|having\w*|delete_all|update_all|exists\?)\s*$")
_WRAPPERS = re.compile(r"(?i)(?:^|\W)(?:v?s?printf|format!?|formatted|text|trim|dedent|strip\w*|squish|append)\s*$")
_SAFE = re.compile(r"Interpolated(?:Async)?$|\.(?:FromSql|ExecuteSql(?:Async)?|SqlQuery(?:<[^<>]*>)?)\s*$")
_SINK_PROPERTY = re.compile(r"\.CommandText$")

_CALLED = r"([\w$.>:@!<-]+)"
_JOINED = rf"&?(?:(?:[\"'`][^\"'`\n]*[\"'`]\.)?{_CALLED}\(\s*(?:[\"'][^\"'\n]*[\"']\s*,\s*)?)?"
_CALLED_WITH = re.compile(rf"{_CALLED}[\s(]\s*(?:\w+\s*,\s*)?{_JOINED}$")
_ASSIGNED_PROPERTY = re.compile(r"\.CommandText\s*=\s*$")
_KEPT_NEXT = re.compile(rf"(?<![\w.$@])([$@]?\w+)\s*:?=\s*{_JOINED}$")
_LONGEST_CALL = 120  # characters before what is handed to it
_APPENDED = re.compile(r"=\s*append\(")
_MOST_NAMES = 4  # that one text is kept under, one after the other

_VALUE_BEFORE = re.compile(
    r"(?is)(?:[=<>]|\b(?:like|ilike|rlike|regexp|between|in\s*\()|\bvalues\s*\((?:[^()]|\([^()]*\))*)\s*$"
)
_LIMIT_BEFORE = re.compile(r"(?i)\b(?:limit|offset)\s+$")
_NAME_AFTER = re.compile(r"[\w.]")
_KEYWORD = re.compile(
    r"(?i)\b(select|distinct|from|join|into|update|table|by|where|and|or|not|on|having|set|values|limit|offset|like|in"
    r"|between)\b|[=<>]"
)
_LISTED = re.compile(r"\s+(?:[^\s,()]+\s*,\s*|\S+\s*\((?:[^\s,()]+\s*,\s*)*)*[\w.]*[\"`\[]?")
_COMPARED_AFTER = re.compile(r"(?i)[\"`\]]?\s*(?:[=<>!]|\b(?:like|in|is|between)\b)")
_HARMLESS = re.compile(
    r"^[\d.]+$|^oid$|(?:^|\.|::|->)[A-Z][A-Z0-9_]*(?:\(\))?$"  # a number, a constant
    r"|^(?:int|float|len|count|bool|Number|parseInt|parseFloat|intval|floatval|sizeof|strconv\.\w+|Integer|Float|max|min"
    r"|abs|round|time|now)\s*\(|^\(?\(?(?:int|float|integer|bool)\)|\.to_[if]\b|\.(?:length|size|count|Length|Count)\b"
    r"|(?i:placeholder|question_?mark|bind|join|implode|repeat|\bparam(?!s\s*[\[.])|quot|escap|slashes|db_input|sanit|esc_|psql\(|literal|safe|digest|hash"
    r"|enum|timestamp|\bdate|interval|\bnow\b)"
)
_NAME_OF_PART = re.compile(
    r"(?i)(?:table|tbl|column|col|field|schema|database|db|relation|index|constraint|enum|class|interval|unit|period|prefix"
    r"|suffix|locale|lang(?:uage)?|sql|clause|condition|operator|type|status|state|kind|mode|version)(?:_?name)?s?\W*$"
)

_ON_NAMES = (
    "This puts a name into SQL that may come from outside and can change the statement; a placeholder cannot stand for "
    "it. Compare it with the names that are allowed, and stop at any other."
)
ADVICE = {Danger.sql_name: _ON_NAMES, Danger.sql_foreign_name: _ON_NAMES}
"""What to do where the advice of the rule, placeholders, does not fit."""


def _is_quoted(hole: Hole) -> bool:
    return hole.before.replace("\\'", "'").count("'") % 2 == 1


def _is_safe(hole: Hole, node: SgNode) -> bool:
    """Whether nothing that is put there can change the statement."""
    source = hole.source
    if is_number(source) or is_list_of_marks(source) or is_allowed(source, node):
        return True
    return is_constant(source) and not is_sent(source, node, SENT_ITSELF) and not list_given(source, node)


def _is_grave(hole: Hole, node: SgNode) -> bool:
    """Whether it is a value that may come from outside, and nothing says that it is a number, a constant, or escaped.

    Without quotation marks it is mostly a number or a part of the statement, so only what was sent itself counts there.
    """
    if _HARMLESS.search(hole.source) is not None or is_checked(hole.source, node):
        return False
    if _is_quoted(hole):
        if is_sent(hole.source, node, SENT_ITSELF):
            return True
        return _NAME_OF_PART.search(hole.source) is None and is_from_outside(hole.source, node)
    is_compared = _VALUE_BEFORE.search(hole.before) is not None and not _NAME_AFTER.match(hole.after)
    return (is_compared and SENT.search(hole.source) is not None) or is_sent(hole.source, node, SENT_ITSELF)


def _is_name(hole: Hole) -> bool:
    """Whether a place takes a name, which no placeholder can stand for."""
    if _is_quoted(hole):
        return False
    keyword = next(reversed(list(_KEYWORD.finditer(hole.before))), None)
    if keyword is None:
        return False
    behind = hole.before[keyword.end() :]
    match keyword.group().lower():
        case "by" | "select" | "distinct":
            return True
        case "from" | "join" | "into" | "update" | "table":
            return _LISTED.fullmatch(behind) is not None
        case "where" | "and" | "or" | "not" | "on" | "having" | "set":
            return _COMPARED_AFTER.match(hole.after) is not None
        case _:
            return False


def _weigh(holes: Sequence[Hole], node: SgNode) -> Danger:
    grave = [hole for hole in holes if _is_grave(hole, hole.node or node)]
    are_names = all(_is_name(hole) for hole in grave or holes)
    if grave:
        return Danger.sql_foreign_name if are_names else Danger.sql_value
    return Danger.sql_name if are_names else Danger.sql_text


def _read_filled(node: SgNode) -> list[str | Filling]:
    """A text of Python kept under a name and filled in here; nothing if the name was given several texts, or none."""
    sides = read_sides(node)
    if sides is not None and sides[1] == "%":
        name, values = sides[0].text(), list_items(sides[2])
    elif node.kind() == "call" and (called := re.fullmatch(r"(\w+)\.format", read_callee(node))) is not None:
        handed = [child for child in node.children() if child.kind() in ARGUMENTS]
        name, values = called[1], [item for child in handed for item in list_items(child)]
    else:
        return []
    given = list_given(name, node) if name.isidentifier() else []
    return list(fill(list(flatten(given[0])), values)) if len(given) == 1 else []


def rate_statement(node: SgNode) -> Danger | None:
    """How grave it is what an expression puts into SQL that is handed to a database; None if it does no such thing."""
    if is_part(node):
        return None
    parts = list(_read_filled(node) or flatten(node))
    if all(isinstance(part, str) for part in parts):
        return None
    takers = _find_takers(node)
    at_once = [sink for sink in (_SINK, _PART_SINK) if takers.take_at_once(sink)]
    later = [sink for sink in (_SINK, _PART_SINK) if not at_once and takers.take_later(sink)]
    if not at_once and not later:
        return None
    followed = list(_follow(parts, node))
    if takers.kept is not None and takers.kept.adds:
        followed = [read_kept(takers.kept.name, node), *followed]
    holes = [hole for hole in list_holes(followed) if not _is_safe(hole, hole.node or node)]
    text = _read_plain(followed)
    is_statement = _STATEMENT.search(text) is not None and _SINK in (*at_once, *later)
    is_condition = _CONDITION.search(text) is not None and _PART_SINK in (*at_once, *later)
    if not holes or not (is_statement or is_condition):
        return None
    danger = _weigh(holes, node)
    if at_once or danger in (Danger.sql_value, Danger.sql_foreign_name):
        return danger
    return danger if any(_is_given(hole, hole.node or node) for hole in holes) else None


def _follow(parts: Sequence[str | Filling], node: SgNode) -> Iterator[str | Filling]:
    """A text with what the names in it were given, but no value of what is a statement itself: that is rated there."""
    for part in parts:
        followed = list(follow([part], node))
        text = _read_plain(followed)
        yield from [text] if _STATEMENT.search(text) else followed


def _read_plain(parts: Sequence[str | Filling]) -> str:
    return "".join(part if isinstance(part, str) else "?" for part in parts)


def _is_given(hole: Hole, node: SgNode) -> bool:
    """Whether a parameter becomes a name or a value in a statement, and is neither a number nor a part by its name."""
    is_of_program = _HARMLESS.search(hole.source) is not None or _NAME_OF_PART.search(hole.source) is not None
    is_value = _VALUE_BEFORE.search(hole.before) or _LIMIT_BEFORE.search(hole.before)
    if is_of_program or not (_is_name(hole) or is_value) or not is_from_outside(hole.source, node):
        return False
    return not is_declared_number(hole.source, node)


@dataclass(frozen=True)
class _Kept:
    """A name that a text is kept under: its name, the statement, and whether the text is added to what was there."""

    name: str
    statement: SgNode
    adds: bool


@dataclass(frozen=True)
class _Takers:
    """The calls that an expression is given to, from within, and the name that the result is kept under."""

    callees: tuple[str, ...]
    kept: _Kept | None = None

    def take_at_once(self, sink: re.Pattern[str]) -> bool:
        callee = next((each for each in self.callees if sink.search(each)), None)
        if callee is None and self.kept is not None:
            return sink is _SINK and _SINK_PROPERTY.search(self.kept.name) is not None
        return callee is not None and _SAFE.search(callee) is None

    def take_later(self, sink: re.Pattern[str]) -> bool:
        return self.kept is not None and _is_used_later(self.kept.name, self.kept.statement, sink)


def _find_takers(node: SgNode) -> _Takers:
    callees: list[str] = []
    here: SgNode | None = node
    if node.kind() == "heredoc_body":  # in Ruby it stands behind the statement that it belongs to
        statement = node.prev()
        here = None if statement is None else statement.find(kind="heredoc_beginning")
    while here is not None and (parent := here.parent()) is not None:
        kind = parent.kind()
        if added := find_added(parent):
            return _Takers(tuple(callees), _Kept(added, parent, adds=True))
        if kind in CALLS:
            callees.append(read_callee(parent))
            if not _WRAPPERS.search(callees[-1]):
                break
        elif "assign" in kind or "declarat" in kind or kind == "var_spec":
            return _Takers(tuple(callees), _find_kept(parent))
        elif kind not in PASSED and not _is_list_of_parts(parent):
            break
        here = parent
    return _Takers(tuple(callees))


def _is_list_of_parts(node: SgNode) -> bool:
    """Whether it is a list that is kept; one that is handed over holds values."""
    outer = node.parent()
    return node.kind() in COLLECTIONS and outer is not None and outer.kind() not in ARGUMENTS


def _find_kept(assignment: SgNode) -> _Kept | None:
    if assignment.kind() in ("var_declaration", "local_variable_declaration", "variable_declaration"):
        return None
    target = next(iter(list_named(assignment)), None)
    if assignment.kind() == "let_declaration":
        target = assignment.field("pattern") or target
    if target is None:
        return None
    name = target.text()
    behind = assignment.text()[len(name) :].lstrip() if assignment.text().startswith(name) else ""
    adds = re.match(r"[+.]=", behind) is not None or name.endswith("[]") or _APPENDED.match(behind) is not None
    return _Kept(name.removesuffix("[]"), assignment, adds)


def _is_used_later(name: str, statement: SgNode, sink: re.Pattern[str]) -> bool:
    if not re.fullmatch(r"[$@]?\w+", name):
        return False
    scope = next((each for each in statement.ancestors() if each.kind() in SCOPES), None)
    scope = scope or statement.get_root().root()
    rest = scope.text()[statement.range().end.index - scope.range().start.index :]
    names = [name]
    for each in names:  # also by the names that it is kept under next
        places = [found.start() for found in re.finditer(rf"(?<![\w.$@]){re.escape(each)}\b", rest)]
        for before in (rest[max(0, place - _LONGEST_CALL) : place] for place in places):
            called = _CALLED_WITH.search(before)
            if called is not None and any(sink.search(callee) for callee in called.groups() if callee):
                return True
            if sink is _SINK and _ASSIGNED_PROPERTY.search(before):
                return True
            kept = _KEPT_NEXT.search(before)
            if kept is not None and kept[1] not in names and len(names) < _MOST_NAMES:
                names.append(kept[1])
    return False


def rate_command(node: SgNode) -> Danger | None:
    """How grave it is what a call puts into a command; None if it puts nothing into it.

    The program itself, its options and what the function made itself are put in by honest programs, too.

    :param node: the call, or the command itself where the language has a literal for it.
    """
    texts = [each for child in node.children() if child.kind() in ARGUMENTS for each in list_named(child)] or [node]
    holes = [hole for text in texts for hole in list_holes(list(flatten(text)))]
    if not holes or all(_HARMLESS_IN_COMMANDS.search(hole.source) for hole in holes):
        return None
    values = [hole for hole in holes if _HARMLESS_IN_COMMANDS.search(hole.source) is None and _is_command_value(hole)]
    return Danger.command if any(is_from_outside(hole.source, node) for hole in values) else Danger.command_text


def _is_command_value(hole: Hole) -> bool:
    is_behind = hole.before.strip("\"' ") != "" and _PART.search(hole.source) is None
    return is_behind or SENT.search(hole.source) is not None
