"""Recognises how a test is skipped: by marks above it, options of its call, or what it does first."""

import re
from collections.abc import Sequence

from agents.review.avoidance.calls import CALLS
from agents.review.avoidance.leaves import join_text, list_leaves
from agents.syntax.trees import SyntaxNode

_MARKED = re.compile(
    r"\bmark \. (skip|skipif|xfail)\b|\bunittest \. skip\w*|\bexpectedFailure\b|@ skip\w*\b|@ (Disabled|Ignore)\w*|"
    r"@ (En|Dis)abled(If|On)\w*|\bSkip =|\b(Explicit|Ignore)\b|\bignore\b|\bskip :|@ pytest \. skip"
)
_CONDITION = re.compile(
    r"skipif|skip_?If|environ|[Gg]etenv|process \. env|skipUnless|platform|os \. name|win32|GOOS|runtime|"
    r"EnabledOn|DisabledOn|EnabledIf|DisabledIf|"
    r"RUBY_PLATFORM|RUBY_ENGINE|RUBY_VERSION|PHP_OS|PHP_VERSION|version_info|importorskip|find_spec|which|"
    r"testing \. Short|extension_loaded|function_exists|cfg|target_os|OSTYPE|uname|command -v|IsOSPlatform|condition",
)
_SKIP_CALL = re.compile(
    r"^(pytest \. (skip|xfail|importorskip)|self \. skipTest|t \. (Skip|Skipf|SkipNow|skip)|"
    r"(skip|pending|omit)(?! [:+]?= | [,.\[])|"
    r"\$ this -> (markTestSkipped|markTestIncomplete)|self :: markTest\w+|Assume \. \w+|Assumptions \. \w+|assume\w* |"
    r"assumeTrue|assumeFalse|Assert \. (Ignore|Inconclusive)|this \. skip|raise unittest \. SkipTest|"
    r"unittest \. skip|startSkipping|skip_test)\b"
)
_TEXTS = re.compile(r"\"[^\"]*\"|'[^']*'|`[^`]*`")
_ALWAYS = re.compile(
    r"(?i:skip_?if) \( (True|true|1|not False)\b|(?i:skip_?unless|run_?if) \( (False|false|0)\b|"
    r"\bassumeTrue \( false|\bassumeFalse \( true"
)
"""Conditions that hold everywhere."""
SKIPPING = frozenset({"skip", "todo", "fails", "fixme", "failing", "skipIf", "runIf"})
_BODIES = frozenset({"block", "body_statement", "statement_block", "compound_statement", "statement_list", "do_block"})


def depends_on_condition(skip: str) -> bool:
    """Whether a skip depends on something; what its reason says is no condition.

    :param skip: how a test is skipped.
    """
    bare = _TEXTS.sub('""', skip)
    return _CONDITION.search(bare) is not None and not _ALWAYS.search(bare)


def find_option(arguments: SyntaxNode) -> str:
    """``{ skip: true }`` and RSpec's ``skip: "…"`` beside the title."""
    for child in arguments.children:
        if child.kind in {"object", "pair"} and (
            found := re.search(r"\b(skip|todo|pending) (:|=>) (?!false)", join_text(child))
        ):
            return found[0]
        if child.kind in {"arrow_function", "function_expression", "function"}:
            break
    return ""


def find_mark(marks: Sequence[SyntaxNode]) -> str:
    """How a test is skipped by what is written above it."""
    for mark in marks:
        bare = " ".join(leaf for leaf in list_leaves(mark) if leaf[:1] not in "\"'")
        if "parametrize" not in bare and _MARKED.search(bare):
            return join_text(mark)
    return ""


def find_skip(node: SyntaxNode) -> str:
    """How a test skips itself, or ends before it checks anything."""
    body = next((child for child in reversed(node.children) if child.kind in _BODIES or child.children), None)
    while body is not None and body.kind != "statement_list":
        inner = body.find(*_BODIES)
        if inner is None:
            break
        body = inner
    if body is None:
        return ""
    statements = [child for child in body.children if child.children or child.kind.endswith("statement")]
    for index, statement in enumerate(statements):
        text = join_text(statement)
        if _SKIP_CALL.match(text):
            return text[:120]
        if statement.kind.startswith(("if", "unless")) and (found := _find_inner_skip(statement)):
            return f"{text.partition('{')[0][:80]} {found}"
        if _ends(statement, text) and index < len(statements) - 1:
            return "return before the end"
        if len(statements) == 1 and _NEVER.match(text):
            return text[:60]
        if index == 0 and statement.kind.startswith("if") and _EARLY.search(text):
            return text[:80]
    return ""


_NEVER = re.compile(r"(if (\( )?(False|false|0)|unless (\( )?(True|true))\b")
_EARLY = re.compile(r"^if .*[):{ ] ?(\{ )?return ?;? ?\}?$")
"""A condition at the beginning of a test that does nothing but end it."""


def _ends(statement: SyntaxNode, text: str) -> bool:
    is_return = statement.kind in {"return_statement", "return", "return_expression"}
    is_return |= statement.kind == "expression_statement" and text.split()[:1] == ["return"]
    return is_return and len(text.split()) <= 2


def _find_inner_skip(statement: SyntaxNode) -> str:
    for each in statement.walk():
        if each.kind in CALLS or each.kind in {"raise_statement", "expression_statement"}:
            text = join_text(each)
            if _SKIP_CALL.match(text):
                return text[:80]
    return ""
