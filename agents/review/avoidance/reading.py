"""Reads one version of one file into the facts that a comparison needs."""

import re
from collections.abc import Callable, Mapping
from typing import Any

from agents.review.avoidance import lines
from agents.review.avoidance.commands import find_commands, find_triggers
from agents.review.avoidance.embedded import find_embedded
from agents.review.avoidance.facts import FunctionFact, SourceFacts
from agents.review.avoidance.functions import find_functions
from agents.review.avoidance.hooks import find_replacements
from agents.review.avoidance.leaves import list_literals
from agents.review.avoidance.lookups import list_tables
from agents.review.avoidance.masking import MaskedText, mask_literals
from agents.review.avoidance.selection import find_choices
from agents.review.avoidance.tables import list_rows
from agents.review.avoidance.test_inventory import find_tests
from agents.review.avoidance.test_surroundings import complete, list_file_needs
from agents.syntax.languages import DATA, find_language
from agents.syntax.trees import ParsedSource, parse
from domain.paths import is_test

_BATS = re.compile(r"^([ \t]*)@test[ \t]+(?:\"([^\"\n]*)\"|'([^'\n]*)')[ \t]*\{", re.MULTILINE)
_EXPORTED = re.compile(
    r"^[ \t]*(?:export(?:[ \t]+(?:default|type))?|module\.exports[ \t]*=)[ \t]*\{[^}]{0,5000}\}|"
    r"^[ \t]*(?:export|module\.exports|exports\.)[^\n]*",
    re.MULTILINE,
)
_TEST_NAME = re.compile(
    r"\.bats$|(^|/)[\w.]*[.a-z]Tests?/|(?<=[a-z0-9])(Tests?|Spec|TestCase|IT)\.(cs|java|kt|php|scala|swift)$|(^|/)tests?\.([cm]?[jt]sx?|py|rb|php|go|rs)$|(^|/)(e2e|cypress|fixtures|testdata|__snapshots__|__mocks__)/"
)
"""Names of tests beside those that :func:`domain.paths.is_test` knows."""
_IS_SAMPLE = re.compile(r"(^|/)(fixtures|testdata|samples|__snapshots__)/")
"""Files with which tests feed the program."""
_SHEBANG = re.compile(r"#!\S*(?:/env (?:-S )?|/)((?:ba|da|k|z)?sh|python[\d.]*|bats)\b")
_SCRIPT = frozenset({"javascript", "typescript", "tsx"})


def read_facts(path: str, text: str) -> SourceFacts:
    """What one version of a file holds. Of a file that cannot be parsed, only what its lines tell."""
    language = find_language(path) or _find_by_content(path, text)
    is_a_test = _is_a_test(path)
    is_support = is_a_test or lines.is_support(path)
    is_no_program = language is None or language in DATA or language == "bash" or lines.is_script(path)
    parsed = None if language is None or language in DATA else parse(_rewrite(text, language), language)
    masked = MaskedText(text) if parsed is None or language == "bash" else mask_literals(text, parsed.tree)
    code = masked.code
    told = SourceFacts(
        is_test=is_a_test,
        suppressions=lines.find_suppressions(path, text, code),
        ignored=(
            *lines.find_ignored(path, text, is_shell=language == "bash"),
            *(lines.find_hooks(text, code) if is_support and not _IS_SAMPLE.search(path) else ()),
        ),
        deselected=(
            *(lines.find_deselected(path, masked.with_words) if is_support or is_no_program else ()),
            *(lines.find_taken_out(text, code) if is_support else ()),
        ),
        focused=lines.find_focused(text, code) if is_a_test and not lines.is_sample(path) else (),
        mocks=lines.find_mocks(masked.with_names) if is_a_test else (),
        thresholds=lines.find_thresholds(path, text),
        commands=find_commands(path, text),
        triggers=find_triggers(path, text),
        choices=find_choices(path, text) if is_support or is_no_program else (),
    )
    told = _add_embedded(told, path, text)
    if language is None or language in DATA:
        return told
    if parsed is None:
        return told.model_copy(update={"is_read": False})
    own = _read_tree(parsed, language, path, masked)
    return told.model_copy(update={**own, "functions": (*own["functions"], *told.functions)})


def _is_a_test(path: str) -> bool:
    return is_test(path) or _TEST_NAME.search(path) is not None


def _add_embedded(told: SourceFacts, path: str, text: str) -> SourceFacts:
    """The facts with the functions of programs that a file of another language holds; nobody else can name these."""
    functions = list[FunctionFact]()
    for each in find_embedded(path, text):
        parsed = parse(each.text, each.language)
        if parsed is not None:
            functions += find_functions(parsed.tree, each.language)
    return told.model_copy(
        update={"functions": tuple(one.model_copy(update={"is_public": False}) for one in functions)}
    )


def _find_by_content(path: str, text: str) -> str | None:
    """The language of a file whose name does not tell it: bats, or a script by its first line."""
    if path.endswith(".bats"):
        return "bash"
    first = _SHEBANG.match(text)
    return None if first is None else "python" if first[1].startswith("python") else "bash"


def _read_tree(parsed: ParsedSource, language: str, path: str, masked: MaskedText) -> dict[str, Any]:
    is_a_test = _is_a_test(path)
    holds_tests = is_a_test or language == "rust"
    tests = find_tests(parsed.tree, language) if holds_tests else ()
    tests = complete(tests, parsed.tree, language, path, masked.text)
    functions = find_functions(parsed.tree, language)
    if language in _SCRIPT:
        functions = _keep_exported(functions, masked.text)
    inside = [(test.line, test.end) for test in tests]
    functions = tuple(each for each in functions if not any(first <= each.line <= last for first, last in inside))
    own_rows = {row for test in tests for row in test.rows}
    rows = tuple(row for row in list_rows(parsed.tree) if row not in own_rows) if holds_tests else ()
    bare, told = (_strip(masked.text), _strip(masked.with_words)) if not is_a_test else ("", "")
    return {
        "tests": tests,
        "functions": functions,
        "rows": rows,
        "tables": () if is_a_test else list_tables(parsed.tree),
        "literals": frozenset(list_literals(parsed.tree)),
        "needs": tuple(list_file_needs(path, masked.text)),
        "replaced": find_replacements(parsed.tree, language, path, masked.text)
        if is_a_test or lines.is_support(path)
        else (),
        "options": lines.find_options(bare),
        "environment": lines.find_environment(told),
        "left_out": lines.find_left_out(masked.text, masked.code) if not is_a_test else (),
    }


def _keep_exported(functions: tuple[FunctionFact, ...], text: str) -> tuple[FunctionFact, ...]:
    """Which functions of a module others can name."""
    exported = " ".join(match[0] for match in _EXPORTED.finditer(text))
    names = set(re.findall(r"[\w$]+", exported))
    return tuple(
        each.model_copy(update={"is_public": each.is_public and each.name.partition(".")[0] in names})
        for each in functions
    )


def _strip(text: str) -> str:
    """The text without lines that are comments."""
    return "\n".join("" if re.match(r"^\s*(#(?!\[|!)|//|\*|/\*)", line) else line for line in text.split("\n"))


def _rewrite(text: str, language: str) -> str:
    return _REWRITES[language](text) if language in _REWRITES else text


def _rewrite_bats(text: str) -> str:
    """Tests of bats as functions, which their names become."""
    return _BATS.sub(
        lambda match: f"{match[1]}bats_{re.sub(r'[^A-Za-z0-9]+', '_', match[2] or match[3] or '')}() {{", text
    )


def _rewrite_php(text: str) -> str:
    """Comments that make a method a test as the attributes that do so, on as many lines."""
    parts = text.split("/**")
    for index, part in enumerate(parts[1:], 1):
        comment, closing, rest = part.partition("*/")
        marks = [f'Group("{name}")' for name in _GROUPS_OF_PHP.findall(comment)] if closing else []
        marks += ["Test"] if closing and _MARKS_A_TEST.search(comment) else []
        attribute = f"#[{', '.join(marks)}]{comment.count(chr(10)) * chr(10)}{rest}"
        parts[index] = attribute if marks else f"/**{part}"
    return "".join(parts)


_MARKS_A_TEST = re.compile(r"(?:^|\s|\*)@test\b")
_GROUPS_OF_PHP = re.compile(r"(?:^|\s|\*)@group[ \t]+([\w.-]+)")
_REWRITES: Mapping[str, Callable[[str], str]] = {"bash": _rewrite_bats, "php": _rewrite_php}
"""How a text is changed before it is parsed, so that its tests are functions or have marks."""
