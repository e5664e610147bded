"""The rules of oxlint that Forge asks for, with our severities: likely bugs and dangers, no taste."""

import json
import re

from agents.review.checks import gravity
from agents.review.checks.dangers.texts import SENT_ITSELF
from agents.review.checks.gravity import Danger
from domain.review.findings import Category, Severity

# What fails, or does the opposite of what it says, whenever it runs.
_ERRORS = """
    constructor-super for-direction no-class-assign no-const-assign no-delete-var no-global-assign
    no-import-assign no-invalid-regexp no-new-native-nonconstructor no-obj-calls no-this-before-super
    no-unsafe-negation no-unsafe-optional-chaining use-isnan valid-typeof
    oxc/bad-comparison-sequence oxc/bad-min-max-func oxc/missing-throw
    unicorn/no-accessor-recursion unicorn/no-invalid-fetch-options
"""
_WARNINGS = """
    getter-return no-async-promise-executor no-caller no-compare-neg-zero no-cond-assign no-constant-binary-expression
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
_REMARKS = "no-unused-vars"
# Only where there is JSX: elsewhere a function called `useThing` is no hook.
_IN_JSX = """
    react/jsx-key react/jsx-no-duplicate-props react/jsx-no-undef
    react/no-direct-mutation-state react/rules-of-hooks react/void-dom-elements-no-children
"""
_OPTIONS: dict[str, object] = {
    "no-constant-condition": {"checkLoops": "none"},
    "no-unused-vars": {"args": "none", "caughtErrors": "none", "ignoreRestSiblings": True, "vars": "local"},
    "no-unused-expressions": {"allowShortCircuit": True, "allowTernary": True, "allowTaggedTemplates": True},
}
_DANGERS = {
    "no-eval": Danger.foreign_code,
    "no-implied-eval": Danger.own_code,
    "no-new-func": Danger.own_code,
    "react/no-danger-with-children": Danger.html,
}
_BY_NAME = {rule.rpartition("/")[2]: danger for rule, danger in _DANGERS.items()}
_EXPECTS = re.compile(r"\s*(?:await\s+)?(?:expect\s*\(|(?:chai\.)?should\b|[\w.()\[\]]+\.should\b)")  # of chai
_OF_A_LITERAL = re.compile(r"^[\w.\s]*\(\s*(\"[^\"]*\"|'[^']*'|`[^`$]*`)\s*\)")
_ERROR_NAMES = frozenset(rule.rpartition("/")[2] for rule in _ERRORS.split()) | {"jsx-no-undef", "rules-of-hooks"}


def write_settings() -> bytes:
    """The settings file for oxlint."""
    rules = {rule: ["warn", *_list_options(rule)] for rule in _list_rules()}
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
    if name == "no-new-func" and SENT_ITSELF.search(_find_arguments(source)):
        return gravity.rate(Danger.foreign_code)
    if (danger := _BY_NAME.get(name)) is not None:
        is_own = danger is Danger.foreign_code and _OF_A_LITERAL.match(source)
        return gravity.rate(Danger.own_code if is_own else danger)
    if name in _ERROR_NAMES:
        return Severity.error
    return Severity.info if name in _REMARKS.split() else Severity.warning


def _find_arguments(source: str) -> str:
    """A call, or its arguments alone, without what follows its parentheses."""
    depth = 0
    for at, char in enumerate(source):
        depth += (char == "(") - (char == ")")
        if char == ")" and depth <= 0:
            return source[:at]
    return source


def is_meant_in_tests(name: str, source: str) -> bool:
    """Whether tests do on purpose what a rule finds: extend built-in objects for a while, or expect by naming."""
    return name == "no-extend-native" or (name == "no-unused-expressions" and _EXPECTS.match(source) is not None)


def choose_category(name: str) -> Category:
    """The category of a rule, by its name without its plugin."""
    return Category.security if name in _BY_NAME else Category.correctness


def _list_options(rule: str) -> list[object]:
    return [_OPTIONS[rule]] if rule in _OPTIONS else []


def _list_rules(*, in_jsx: bool = False) -> list[str]:
    named = _IN_JSX if in_jsx else _ERRORS + _WARNINGS + _REMARKS
    return [*named.split(), *(rule for rule in _DANGERS if rule.startswith("react/") is in_jsx)]
