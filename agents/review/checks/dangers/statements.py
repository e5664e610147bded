"""Rates statements of SQL that are put together from text, in the syntax tree of any language.

A value beside a comparison or in quotation marks is what injection is made of. The name of a table, a part of a
statement, a constant, a number or a list of placeholders is put in by honest programs, too, which cannot pass those as
parameters.
"""

import re

from ast_grep_py import SgNode

from agents.review.checks.dangers.rule import Shape, both, either
from agents.review.checks.dangers.texts import (
    CALLS,
    PASSED,
    SCOPES,
    SENT,
    Hole,
    flatten,
    is_checked,
    is_from_outside,
    is_part,
    list_holes,
    list_named,
    read_callee,
)
from agents.review.checks.gravity import Danger

_WORDS = r"(?i)\b(select|insert|update|delete|replace|where|having|merge|values|like|and|or)\b|[=<>]"
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
_WRAPPERS = re.compile(r"(?i)(?:^|\W)(?:v?s?printf|format!?|formatted|text|trim|dedent|strip\w*|squish)\s*$")
_SAFE = re.compile(r"Interpolated(?:Async)?$|\.(?:FromSql|ExecuteSql(?:Async)?|SqlQuery(?:<[^<>]*>)?)\s*$")
_SINK_PROPERTY = re.compile(r"\.CommandText$")

_VALUE_BEFORE = re.compile(
    r"(?is)(?:[=<>]|\b(?:like|ilike|rlike|regexp|between|in\s*\()|\bvalues\s*\((?:[^()]|\([^()]*\))*)\s*$"
)
_NAME_AFTER = re.compile(r"[\w.]")
_HARMLESS = re.compile(
    r"^[\d.]+$|^oid$|(?:^|\.|::|->)[A-Z][A-Z0-9_]*(?:\(\))?$"  # a number, a constant
    r"|^(?:int|float|len|count|bool|Number|parseInt|parseFloat|intval|floatval|sizeof|strconv\.\w+|Integer|Float|max|min"
    r"|abs|round|time|now)\s*\(|^\(?\(?(?:int|float|integer|bool)\)|\.to_[if]\b|\.(?:length|size|count|Length|Count)\b"
    r"|(?i:placeholder|question_?mark|bind|join|implode|repeat|\bparam|quot|escap|sanit|esc_|psql\(|literal|safe|digest|hash"
    r"|enum|timestamp|\bdate|interval|\bnow\b)"
)
_NAME_OF_PART = re.compile(
    r"(?i)(?:table|tbl|column|col|field|schema|database|db|relation|index|constraint|enum|class|interval|unit|period|prefix"
    r"|suffix|locale|lang(?:uage)?|sql|clause|condition|operator|type|status|state|kind|mode|version)(?:_?name)?s?\W*$"
)


def _is_quoted(hole: Hole) -> bool:
    return hole.before.replace("\\'", "'").count("'") % 2 == 1


def _is_grave(hole: Hole, node: SgNode) -> bool:
    """Whether it is a value that may come from outside, and nothing says that it is a number, a constant, or escaped.

    Without quotation marks it is mostly a number or a part of the statement, so only what was sent itself counts there.
    """
    if _HARMLESS.search(hole.source) is not None or is_checked(hole.source, node):
        return False
    if _is_quoted(hole):
        return _NAME_OF_PART.search(hole.source) is None and is_from_outside(hole.source, node)
    is_compared = _VALUE_BEFORE.search(hole.before) is not None and not _NAME_AFTER.match(hole.after)
    return is_compared and SENT.search(hole.source) is not None


def put_together(*kinds: str) -> Shape:
    """Text that may be put together, and may be SQL.

    :param kinds: of the expressions that give such a text, as the grammar names them.
    """
    return both(either(*({"kind": kind} for kind in kinds)), {"regex": _WORDS})


def rate(node: SgNode) -> Danger | None:
    """How grave it is what an expression puts into SQL that is handed to a database; None if it does no such thing."""
    if is_part(node):
        return None
    parts = list(flatten(node))
    if all(isinstance(part, str) for part in parts):
        return None
    text = "".join(part if isinstance(part, str) else "?" for part in parts)
    is_grave = any(_is_grave(hole, node) for hole in list_holes(parts))
    is_statement = _STATEMENT.search(text) is not None and _is_handed_over(node, _SINK, later=is_grave)
    if not is_statement and not (_CONDITION.search(text) and _is_handed_over(node, _PART_SINK, later=is_grave)):
        return None
    return Danger.sql_value if is_grave else Danger.sql_text


def _is_handed_over(node: SgNode, sink: re.Pattern[str], *, later: bool) -> bool:
    """Whether an expression is given to a call.

    :param later: also by a name it is kept under in the same function.
    """
    here: SgNode | None = node
    if node.kind() == "heredoc_body":  # in Ruby it stands behind the statement that it belongs to
        statement = node.prev()
        here = None if statement is None else statement.find(kind="heredoc_beginning")
    while here is not None and (parent := here.parent()) is not None:
        kind = parent.kind()
        if kind in CALLS:
            callee = read_callee(parent)
            if sink.search(callee):
                return not _SAFE.search(callee)
            if not _WRAPPERS.search(callee):
                return False
        elif "assign" in kind or "declarat" in kind or kind == "var_spec":
            return later and _is_used_later(parent, sink)
        elif kind not in PASSED:
            return False
        here = parent
    return False


def _is_used_later(assignment: SgNode, sink: re.Pattern[str]) -> bool:
    target = next(iter(list_named(assignment)), None)
    if assignment.kind() in ("var_declaration", "local_variable_declaration", "variable_declaration"):
        return False
    if assignment.kind() == "let_declaration" or target is None:
        target = assignment.field("pattern") or target
    if target is None:
        return False
    name = target.text()
    if sink is _SINK and _SINK_PROPERTY.search(name):
        return True
    if not re.fullmatch(r"[$@]?\w+", name):
        return False
    scope = next((each for each in assignment.ancestors() if each.kind() in SCOPES), None)
    scope = scope or assignment.get_root().root()
    rest = scope.text()[assignment.range().end.index - scope.range().start.index :]
    called = r"([\w$.>:@!<-]+)"
    calls = re.finditer(rf"{called}[\s(]\s*(?:\w+\s*,\s*)?&?(?:{called}\(\s*)?{re.escape(name)}\b", rest)
    assigned = re.search(rf"\.CommandText\s*=\s*{re.escape(name)}\b", rest)
    is_given = any(sink.search(callee) for found in calls for callee in found.groups() if callee)
    return is_given or (sink is _SINK and assigned is not None)
