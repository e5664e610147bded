"""Layer 1 for JavaScript and TypeScript: oxlint with rules and severities of ours, on both versions."""

import asyncio
import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any

from agents.review.checks import copies, rule_texts
from agents.review.checks.copies import Copy
from agents.review.checks.dangers.texts import SENT_ITSELF
from agents.review.checks.inputs import CheckedFile, ProgramTerms, ToolReport, is_machine_made, is_test_or_document
from agents.review.checks.rule_texts import Danger
from domain.errors import ToolError
from domain.paths import is_test
from domain.review.findings import Category, RawFinding, Severity

# What fails, or does the opposite of what it says, whenever it runs.
_ERRORS = """
    constructor-super for-direction no-class-assign no-const-assign no-delete-var no-global-assign
    no-import-assign no-invalid-regexp no-new-native-nonconstructor no-obj-calls no-this-before-super
    no-unsafe-negation no-unsafe-optional-chaining use-isnan valid-typeof
    oxc/bad-comparison-sequence oxc/bad-min-max-func oxc/missing-throw
    unicorn/no-accessor-recursion unicorn/no-invalid-fetch-options
"""
_WARNINGS = """
    getter-return no-async-promise-executor no-caller no-compare-neg-zero no-constant-binary-expression
    no-constant-condition no-debugger no-dupe-class-members no-dupe-else-if no-dupe-keys no-duplicate-case
    no-empty-character-class no-ex-assign no-extend-native no-func-assign no-iterator
    no-loss-of-precision no-misleading-character-class no-nonoctal-decimal-escape no-self-assign
    no-shadow-restricted-names no-unassigned-vars no-unexpected-multiline no-unreachable no-unsafe-finally
    no-unused-expressions no-useless-backreference no-with
    typescript/no-duplicate-enum-values typescript/no-misused-new typescript/no-non-null-asserted-optional-chain
    typescript/no-unsafe-declaration-merging
    oxc/bad-array-method-on-arguments oxc/bad-char-at-comparison oxc/bad-match-all-arg
    oxc/bad-object-literal-comparison oxc/bad-replace-all-arg oxc/erasing-op oxc/misrefactored-assign-op
    oxc/number-arg-out-of-range oxc/uninvoked-array-callback
    unicorn/no-array-fill-with-reference-type unicorn/no-await-in-promise-methods
    unicorn/no-invalid-remove-event-listener unicorn/no-single-promise-in-promise-methods
    node/no-exports-assign promise/no-new-statics
"""
_REMARKS = "no-unused-vars no-cond-assign"
# Only where there is JSX: elsewhere a function called `useThing` is no hook.
_IN_JSX = """
    react/jsx-key react/jsx-no-duplicate-props react/jsx-no-undef
    react/no-direct-mutation-state react/rules-of-hooks react/void-dom-elements-no-children
"""
_OPTIONS: dict[str, object] = {
    "no-constant-condition": {"checkLoops": "none"},
    "no-unused-vars": {"args": "none", "caughtErrors": "none", "ignoreRestSiblings": True, "vars": "local"},
    "no-self-assign": {"props": False},  # a setter may do something
    "no-unused-expressions": {"allowShortCircuit": True, "allowTernary": True, "allowTaggedTemplates": True},
}
_DANGERS = {
    "no-eval": Danger.foreign_code,
    "no-implied-eval": Danger.unseen_code,
    "no-new-func": Danger.unseen_code,
    "react/no-danger-with-children": Danger.html,
}
_BY_NAME = {rule.rpartition("/")[2]: danger for rule, danger in _DANGERS.items()}
_EXPECTS = re.compile(r"\s*(?:await\s+)?(?:expect\s*\(|(?:chai\.)?should\b|[^;\n]+\.should\b)")  # of chai
_OF_A_LITERAL = re.compile(r"^[\w.\s]*\(\s*(\"[^\"]*\"|'[^']*'|`[^`$]*`)\s*\)")
_OF_A_MEMBER = re.compile(r"^[\w.\s]*\(\s*[\w$]+(?:\.[\w$]+)+\s*\)")
_MEANT_IN_TESTS = frozenset({"no-extend-native", "no-global-assign", "no-unexpected-multiline"})
_OF_VARIABLES = frozenset({"no-unassigned-vars", "no-unused-vars"})
_EVALUATES = re.compile(rb"(?<![\w$.])eval\(")
_COMPILED = re.compile(rb"_interopRequire(?:Default|Wildcard)\b|defineProperty\(exports, [\"']__esModule")
_ERROR_NAMES = frozenset(rule.rpartition("/")[2] for rule in _ERRORS.split()) | {"jsx-no-undef", "rules-of-hooks"}


def write_settings() -> bytes:
    """The settings file for oxlint."""
    rules = {rule: ["warn", *([_OPTIONS[rule]] if rule in _OPTIONS else [])] for rule in _list_rules()}
    settings = {
        "plugins": ["eslint", "typescript", "unicorn", "oxc", "react", "node", "promise"],
        "categories": {"correctness": "off"},
        "rules": rules,
        "overrides": [{"files": ["**/*.jsx", "**/*.tsx"], "rules": dict.fromkeys(_list_rules(in_jsx=True), "warn")}],
    }
    return json.dumps(settings).encode()


def choose_severity(name: str, source: str) -> Severity:
    """Our severity of what a rule finds.

    :param name: without its plugin, as ``no-eval``.
    :param source: what it is about, as it is written, and what follows.
    """
    if (danger := _BY_NAME.get(name)) is not None:
        return rule_texts.rate(danger if danger is Danger.html else _look_closer(danger, source))
    if name in _ERROR_NAMES:
        return Severity.error
    return Severity.info if name in _REMARKS.split() else Severity.warning


def _look_closer(danger: Danger, source: str) -> Danger:
    """What evaluating a text is, by what is evaluated; what a member holds is mostly the program's own."""
    if SENT_ITSELF.search(_find_arguments(source)):
        return Danger.foreign_code
    if _OF_A_LITERAL.match(source):
        return Danger.own_code
    return Danger.unseen_code if _OF_A_MEMBER.match(source) else danger


def _find_arguments(source: str) -> str:
    """A call, or its arguments alone, without what follows its parentheses."""
    depth = 0
    for at, char in enumerate(source):
        depth += (char == "(") - (char == ")")
        if char == ")" and depth <= 0:
            return source[:at]
    return source


def is_meant_in_tests(name: str, source: str) -> bool:
    """Whether tests do on purpose what a rule finds: alter built-in objects for a while, expect by naming, or hold an
    object in brackets as data, which something else evaluates.
    """
    is_read = _EXPECTS.match(source) is not None or source.startswith("({")
    return name in _MEANT_IN_TESTS or (name == "no-unused-expressions" and is_read)


def choose_category(name: str) -> Category:
    """The category of a rule, by its name without its plugin."""
    return Category.security if name in _BY_NAME else Category.correctness


def _list_rules(*, in_jsx: bool = False) -> list[str]:
    named = _IN_JSX if in_jsx else _ERRORS + _WARNINGS + _REMARKS
    return [*named.split(), *(rule for rule in _DANGERS if rule.startswith("react/") is in_jsx)]


SYNTAX = "oxlint/invalid-syntax"

_SUFFIXES = frozenset({".js", ".jsx", ".mjs", ".cjs", ".ts", ".tsx", ".mts", ".cts"})
_PLAIN = frozenset({".js", ".jsx", ".mjs", ".cjs"})
_DECLARATION = re.compile(r"\.d\.[mc]?ts$")
_FLOW = re.compile(rb"@flow\b")  # types that only Flow understands; oxlint takes them for errors
_LARGEST = 1_000_000  # bytes
_SILENCING = re.compile(rb"\b(oxlint|eslint)-(dis)(able)")
_RULE = re.compile(r"^\w[\w-]*\(([\w-]+)\)$")
_SETTINGS = "settings.json"
_LONGEST_READ = 2_000  # bytes
_START = {"offset": 0, "length": 0}


def is_for(file: CheckedFile) -> bool:
    """Whether oxlint reads a file."""
    return (
        PurePosixPath(file.path).suffix in _SUFFIXES
        and not is_machine_made(file.path)
        and len(file.head) <= _LARGEST
        and "{{" not in file.path
        and not _FLOW.search(file.head[:2000])
    )


async def check(files: Sequence[CheckedFile], terms: ProgramTerms) -> ToolReport:
    """Lint both versions of some files.

    :raises ToolError: oxlint failed.
    """
    report = await _lint(files, terms, _name_copy)
    broken = {finding.path for finding in report.head if finding.rule == SYNTAX}
    doubtful = [file for file in files if file.path in broken and PurePosixPath(file.path).suffix in _PLAIN]
    if not doubtful:
        return report
    typed = await _lint(doubtful, terms, lambda _: ".tsx")
    return _drop_dialects(report, typed.read)


def _drop_dialects(report: ToolReport, paths: Collection[str]) -> ToolReport:
    """The report without errors in JavaScript that has types in it: a tool of the repository takes them out."""
    head = tuple(finding for finding in report.head if finding.path not in paths)
    return replace(report, head=head, read=report.read - set(paths))


async def _lint(files: Sequence[CheckedFile], terms: ProgramTerms, name: Callable[[str], str]) -> ToolReport:
    with terms.sandbox.folder() as folder:
        written = await asyncio.to_thread(_write, folder, files, name, terms.heeding)
        options = ("--disable-nested-config", "--no-ignore", "--threads=2", "--format=json", "-c", _SETTINGS)
        printed = await copies.run_linter(("oxlint", *options, "."), folder, terms)
    try:
        answer = await asyncio.to_thread(json.loads, printed)
        if answer["number_of_files"] != len(written):
            raise ToolError(f"oxlint read {answer['number_of_files']} of {len(written)} files.")
        return await copies.collect_report(written, lambda: _find(answer["diagnostics"], written), SYNTAX)
    except (ValueError, KeyError, TypeError, IndexError) as error:
        raise ToolError("oxlint's answer could not be read.") from error


def _write(folder: Path, files: Sequence[CheckedFile], name: Callable[[str], str], heeding: bool) -> dict[str, Copy]:
    (folder / _SETTINGS).write_bytes(write_settings())
    return copies.write_copies(folder, files, name, bytes if heeding else _disarm)


def _disarm(content: bytes) -> bytes:
    """The content with comments that would silence oxlint misspelt, each as long as before."""
    return _SILENCING.sub(rb"\1-\2_ble", content)


def _name_copy(path: str) -> str:
    declared = _DECLARATION.search(path)
    return declared.group() if declared else PurePosixPath(path).suffix


def _find(diagnostics: Sequence[dict[str, Any]], written: Mapping[str, Copy]) -> Iterator[tuple[Copy, RawFinding]]:
    for entry in diagnostics:
        copy = written[entry["filename"].removeprefix("./")]
        found = _build(copy, entry)
        if found is not None:
            yield copy, found


def _build(copy: Copy, entry: dict[str, Any]) -> RawFinding | None:
    """The finding; None where it is what tests do on purpose."""
    # The last of several places is where it shows; the others say where the name or the bracket came from.
    span = max((label["span"] for label in entry["labels"]), key=lambda each: each["offset"], default=_START)
    first = _line(copy, span["offset"])
    last = _line(copy, span["offset"] + max(span["length"] - 1, 0))
    if "code" not in entry:
        where = (first, first)
        return copies.build_finding(
            copy, SYNTAX, Severity.error, Category.correctness, where, str(entry["message"]), None
        )
    matched = _RULE.match(entry["code"])
    name, source = matched[1] if matched else "other", _read(copy, span["offset"])
    if (is_test(copy.file.path) and is_meant_in_tests(name, source)) or _is_beside_the_point(name, copy):
        return None
    return copies.build_finding(
        copy,
        f"oxlint/{name}",
        _soften(choose_severity(name, source), copy.file.path),
        choose_category(name),
        (first, min(last, first + 20)),
        _join(str(entry["message"]), str(entry.get("help") or "")),
        entry.get("url"),
    )


def _is_beside_the_point(name: str, copy: Copy) -> bool:
    """Whether a compiler wrote the file, in which only dangers count, or a variable may be given by evaluated text."""
    is_compiled = name not in _BY_NAME and _COMPILED.search(copy.content[:_LONGEST_READ]) is not None
    return is_compiled or (name in _OF_VARIABLES and _EVALUATES.search(copy.content) is not None)


def _read(copy: Copy, offset: int) -> str:
    """What stands at a place, in its first characters."""
    return copy.content[offset : offset + _LONGEST_READ].decode(errors="replace")


def _line(copy: Copy, offset: int) -> int:
    """The line of a byte, counted as git does."""
    return copy.content.count(b"\n", 0, offset) + 1


def _soften(severity: Severity, path: str) -> Severity:
    """Tests may do what programs should not."""
    return Severity.warning if severity is Severity.error and is_test_or_document(path) else severity


def _join(message: str, advice: str) -> str:
    return f"{message.rstrip(' .')}. {advice}" if advice else message
