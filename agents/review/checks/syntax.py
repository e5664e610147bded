"""Layer 1 for languages without a linter, and for data: whether files can still be parsed, in a warm worker."""

import asyncio
import re
from collections.abc import Sequence
from functools import partial

from agents.review.checks.copies import is_text
from agents.review.checks.inputs import CheckedFile, ToolReport, is_machine_made, is_test_or_document
from agents.review.checks.rule_texts import build_message
from agents.syntax.validity import SyntaxFault, find_format, find_grammar, find_new_fault
from agents.toolbox import Toolbox
from domain.review.findings import Category, Layer, RawFinding, Severity

SYNTAX = "syntax/invalid-syntax"

_LARGEST = 500_000  # bytes
_NAMES = {
    "json": "JSON",
    "toml": "TOML",
    "yaml": "YAML",
    "go": "Go",
    "java": "Java",
    "ruby": "Ruby",
    "php": "PHP",
    "csharp": "C#",
    "rust": "Rust",
}
# Grammars that were measured on few files, or that are a version of their language behind.
_DOUBTED = frozenset({"csharp"})
_OF_TEMPLATES = re.compile(r"(?:^|/)(?:fixtures?|templates?|skeletons?)/", re.IGNORECASE)
_OLD = " 8, which knows no `$text{0}` any more"
_OF_OLD_PHP = re.compile(r"\$\w+(?:\[[^\[\]\n]*\])*\{[^{}\n]+\}")  # a letter of a text, until PHP 8


def is_for(file: CheckedFile) -> bool:
    """Whether the syntax of a file is checked. Samples for tests are often broken on purpose, or templates."""
    form, grammar = find_format(file.path), find_grammar(file.path)
    return (
        (grammar is not None or (form is not None and not is_test_or_document(file.path)))
        and not is_machine_made(file.path)
        and len(file.head) <= _LARGEST
        and "{{" not in file.path
        and not (_OF_TEMPLATES.search(file.path) and b"<%" in file.head)
        and is_text(file)
    )


async def check(files: Sequence[CheckedFile], toolbox: Toolbox) -> ToolReport:
    """Parse the head of all files, and the merge base of those that cannot be parsed."""
    answers, problem = await toolbox.run_jobs(files, _find_new_fault, lambda file: file.path)
    return await asyncio.to_thread(_report, answers, len(files), problem)


def _find_new_fault(file: CheckedFile) -> partial[SyntaxFault | None]:
    usable = file.base is not None and len(file.base) <= _LARGEST
    base = "\n".join(file.base_lines) if usable else None
    return partial(find_new_fault, file.path, base, file.head_text, file.change.changed_lines)


def _report(answers: Sequence[tuple[CheckedFile, SyntaxFault | None]], files: int, problem: str | None) -> ToolReport:
    found = [_build(file, fault) for file, fault in answers if fault is not None]
    return ToolReport(tuple(found), files=files, problem=problem)


def _build(file: CheckedFile, fault: SyntaxFault) -> RawFinding:
    language = find_format(file.path) or find_grammar(file.path) or ""
    is_of_old_php = language == "php" and _OF_OLD_PHP.search(file.head_text) is not None
    is_doubted = language in _DOUBTED or is_of_old_php or is_test_or_document(file.path)
    line = min(max(fault.line, 1), len(file.head_lines))
    return RawFinding(
        rule=SYNTAX,
        category=Category.correctness,
        severity=Severity.warning if is_doubted else Severity.error,
        confidence=0.9,
        path=file.path,
        line=line,
        end_line=line,
        message=build_message(
            SYNTAX, f"Syntax error in {_NAMES[language]}{_OLD if is_of_old_php else ''}: {fault.text}"
        ),
        layer=Layer.static,
    )
