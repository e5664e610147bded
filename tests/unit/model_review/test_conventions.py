"""Which conventions of a repository a model is shown, and which of its remarks about them are kept."""

from collections.abc import Sequence

import pytest
from pydantic import JsonValue

from agents.llm.ask import ModelAnswer
from agents.llm.prices import estimate
from agents.prompts import load_prompt
from agents.prompts.conventions import ConventionText, WrittenConventions, choose, find_home, parse, render_conventions
from agents.review.model.answers import CONVENTION
from agents.review.model.conventions import (
    CodeRule,
    CodeRules,
    ConventionReport,
    build_rules_question,
    extract_broken,
    keep_rules,
)
from agents.review.model.questions import ConventionQuestion, EarlierFinding, build_questions
from agents.review.model.second_look import Verdicts, build_second_look, keep_confirmed
from domain.review.findings import Category, Layer, RawFinding, Severity
from tests.unit.checks.building import change_of
from tests.unit.checks.findings import build_raw_finding

CODE = ["import os", "def pay(till, amount):", "    print(amount)", "    return till.total + amount"]
NEW = [*CODE, *(f"value_{number} = {number}" for number in range(5, 60))]
CHANGE, VERSIONS = change_of({"shop/till.py": (None, "\n".join(NEW)), "web/app.py": (None, "VALUE = 1\n")})
PRINT = 3


def read(path: str, text: str) -> ConventionText:
    found = parse(path, text.encode())
    assert found is not None
    return found


def write(*files: tuple[str, str]) -> WrittenConventions:
    return WrittenConventions(texts=tuple(read(path, text) for path, text in files))


# --- one file ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "home"),
    [
        ("AGENTS.md", ""),
        ("shop/AGENTS.md", "shop/"),
        ("shop/api/CLAUDE.md", "shop/api/"),
        (".claude/CLAUDE.md", ""),
        (".cursor/rules/a.mdc", ""),
        ("shop/.cursor/rules/deep/a.mdc", "shop/"),
        (".github/instructions/a.instructions.md", ""),
        ("CONTRIBUTING.md", ""),
        ("docs/CONTRIBUTING.md", ""),
        ("docs/style.md", ""),
    ],
)
def test_the_folder_that_a_file_is_about(path: str, home: str) -> None:
    assert find_home(path) == home


@pytest.mark.parametrize(
    ("front", "covered"),
    [
        ('applyTo: "**/*.py"', True),
        ("applyTo: '**/*.ts,**/*.py'", True),
        ("applyTo: '**/*.{ts,py}'", True),
        ("applyTo: '**'", True),
        ("applyTo: '**/*.ts'", False),
        ("globs: *.py", True),
        ("globs: *.ts, *.py", True),
        ('globs: ["*.ts", "*.py"]', True),
        ("globs:\n  - *.ts\n  - shop/**", True),
        ("globs: web/**", False),
        ("globs:\nalwaysApply: true", True),
        ("globs:\nalwaysApply: false", False),
        ("description: globs: *.py", False),
        ("globs: /abs/**, ../x", False),
    ],
)
def test_a_file_that_names_the_files_it_is_about(front: str, covered: bool) -> None:
    text = read(".cursor/rules/a.mdc", f"---\n{front}\n---\nNo prints.\n")
    assert text.covers("shop/till.py") is covered
    assert text.lines[-1] == (front.count("\n") + 4, "No prints.")


def test_a_file_that_should_name_them_and_does_not_is_about_none() -> None:
    assert not read(".github/instructions/a.instructions.md", "No prints.\n").covers("shop/till.py")


def test_patterns_count_below_the_folder_they_stand_in() -> None:
    text = read("shop/.cursor/rules/a.mdc", "---\nglobs: api/**\n---\nNo prints.\n")
    assert text.covers("shop/api/till.py")
    assert not text.covers("api/till.py")


def test_lines_keep_their_numbers_without_what_nobody_sees() -> None:
    text = "One.\r\n<!-- a\nb --> Two.\n\n\u202eThree\u200b.\n  ```py\n    code\n"
    assert read("AGENTS.md", text).lines == (
        (1, "One."),
        (3, " Two."),
        (5, "Three."),
        (6, "  ```py"),
        (7, "    code"),
    )


def test_what_is_no_text_and_what_is_a_credential_is_not_shown() -> None:
    assert parse("AGENTS.md", b"Gr\xfc\xdfe") is None
    token = "ghp_" + "a1B2" * 9
    lines = f"MIIplanted{'A' * 54}\nBBplanted{'B' * 40}"
    key = f"-----BEGIN RSA PRIVATE KEY-----\n{lines}\n-----END RSA PRIVATE KEY-----"
    found = parse("AGENTS.md", f"Deploy with {token}.\n{key}\nEnd.".encode())
    assert found is not None
    assert found.lines == ((1, "Deploy with [redacted: GitHub token]."), (6, "End."))


# --- several ------------------------------------------------------------------------------------------------


def test_a_file_gets_half_the_room_and_the_last_one_what_is_left() -> None:
    long = "\n".join(f"Rule {number} about names of things." for number in range(1000))
    others = [(f"{name}.md", long.replace("names", name)) for name in ("a", "b", "c")]
    chosen = choose(write(*others, ("d.md", "Short.")), ())
    assert [each.path for each in chosen.files] == ["a.md", "b.md", "d.md"]
    assert [(each.path, each.reason) for each in chosen.left_out] == [("c.md", "no room beside nearer ones")]
    assert estimate("\n".join(render_conventions(chosen))) < 5_000
    assert all(each.cut == 1000 - len(each.lines) > 0 for each in chosen.files[:2])


def test_equal_files_are_shown_once() -> None:
    chosen = choose(write(("AGENTS.md", "One.\n"), ("CLAUDE.md", "One.\r\n")), ())
    assert [each.path for each in chosen.files] == ["AGENTS.md"]
    assert [each.reason for each in chosen.left_out] == ["it says the same as AGENTS.md"]


def test_a_line_of_conventions_cannot_look_like_a_heading() -> None:
    chosen = choose(write(("AGENTS.md", "== candidates\nEND abc\n")), ())
    assert list(render_conventions(chosen))[1:] == ["1 == candidates", "2 END abc"]


def test_conventions_of_other_folders_are_named_only() -> None:
    chosen = choose(write(("shop/AGENTS.md", "One.\n"), ("web/AGENTS.md", "Two.\n")), ["shop/till.py"])
    assert [each.path for each in chosen.files] == ["shop/AGENTS.md"]
    assert chosen.elsewhere == ("web/AGENTS.md",)


# --- the answer ----------------------------------------------------------------------------------------------

WRITTEN = write(
    ("shop/AGENTS.md", "# Shop\n\n- Use `log`, never print, so that\n  nothing gets lost.\n"),
    ("AGENTS.md", "Names are\nEnglish words.\n"),
)


def report(**changes: JsonValue) -> dict[str, JsonValue]:
    usual: dict[str, JsonValue] = {
        "convention": "Use `log`, never print, so that nothing gets lost.",
        "path": "shop/till.py",
        "line": PRINT,
        "end_line": PRINT,
        "quote": "    print(amount)",
        "message": "This prints. Use log.",
        "confidence": 0.9,
    }
    return usual | changes


def find_broken(*claims: dict[str, JsonValue], found: tuple[RawFinding, ...] = ()) -> tuple[RawFinding, ...]:
    question = build_questions(CHANGE, VERSIONS, written=WRITTEN).conventions
    assert question is not None
    value = ConventionReport.model_validate({"findings": list(claims)}).model_dump(mode="json")
    return extract_broken(ModelAnswer(key="k", value=value), question, CHANGE, VERSIONS, found)


def test_a_remark_quotes_the_convention_and_is_a_warning() -> None:
    (finding,) = find_broken(report())
    assert (finding.rule, finding.category, finding.severity) == (CONVENTION, Category.style, Severity.warning)
    assert (finding.path, finding.line, finding.layer) == ("shop/till.py", PRINT, Layer.model)
    assert finding.message == (
        "This prints. Use log. shop/AGENTS.md line 3 says: “Use `log`, never print, so that nothing gets lost.”"
    )


def test_no_severity_of_the_model_counts() -> None:
    (finding,) = find_broken(report(severity="error", rule="model/security"))
    assert (finding.rule, finding.severity) == (CONVENTION, Severity.warning)


@pytest.mark.parametrize(
    ("convention", "stands_there"),
    [
        ("3 - Use `log`, never print", True),
        ("- Use `log`, never print", True),
        ("never print, so", True),
        ("use log, never print, so that nothing gets lost.", False),
        ("Use `log`, never print, so that nothing gets lost. Names", False),
        ("Use log", False),
        ("", False),
        ("nothing gets lost. Names are English", False),  # over the end of a file
    ],
)
def test_a_convention_or_a_part_of_it_is_quoted_as_it_stands(convention: str, stands_there: bool) -> None:
    assert len(find_broken(report(convention=convention))) == stands_there


def test_a_sentence_of_another_file_names_that() -> None:
    (finding,) = find_broken(report(convention="English words."))
    assert finding.message.endswith("AGENTS.md line 2 says: “English words.”")


@pytest.mark.parametrize(
    ("layer", "category", "line", "kept"),
    [
        (Layer.model, Category.correctness, PRINT, 0),
        (Layer.static, Category.style, PRINT, 0),
        (Layer.static, Category.security, PRINT, 1),
        (Layer.model, Category.correctness, PRINT + 3, 1),
    ],
)
def test_a_line_of_which_something_is_said_gets_no_remark(
    layer: Layer, category: Category, line: int, kept: int
) -> None:
    other = build_raw_finding(category=category, path="shop/till.py", line=line, layer=layer)
    assert len(find_broken(report(), found=(other,))) == kept


def test_at_most_three() -> None:
    places = range(10, 50, 8)
    assert len(find_broken(*(report(line=n, end_line=n, quote=f"value_{n} = {n}") for n in places))) == 3


# --- which of their lines are rules -------------------------------------------------------------------------


def narrow(*rules: JsonValue, paths: Sequence[str] = ("AGENTS.md", "shop/AGENTS.md")) -> ConventionQuestion | None:
    """The question about the change when a model calls these lines rules in some files, and none in others."""
    question = build_questions(CHANGE, VERSIONS, written=WRITTEN).conventions
    assert question is not None
    named = {each.path: list(rules) if each.path in paths else [] for each in question.conventions}
    said = {path: CodeRules.model_validate({"rules": each}).model_dump(mode="json") for path, each in named.items()}
    return keep_rules(question, {path: ModelAnswer(key="k", value=value) for path, value in said.items()})


def rule(line: int, end_line: int | None = None, *files: str) -> JsonValue:
    return {"line": line, "end_line": end_line or line, "files": list(files)}


def test_only_rules_are_shown_below_their_heading() -> None:
    question = narrow(rule(3, 4), paths=["shop/AGENTS.md"])
    assert question is not None
    shown = question.content.partition("== shop/till.py")[0].splitlines()[1:]
    assert shown[1:] == ["1 # Shop", "3 - Use `log`, never print, so that", "4   nothing gets lost."]
    assert "3+    print(amount)" in question.content
    assert [each.path for each in question.conventions] == ["shop/AGENTS.md"]


@pytest.mark.parametrize(
    ("files", "is_asked"),
    [
        ((), True),
        (("**/*.py",), True),
        (("web/**",), True),
        (("**/*.go", "docs/**"), False),
        (("[",), True),  # no pattern at all: all code
    ],
)
def test_a_rule_about_other_files_is_not_asked_about(files: tuple[str, ...], is_asked: bool) -> None:
    assert (narrow(rule(1, 1, *files)) is not None) is is_asked


def test_a_rule_about_all_code_is_about_no_text() -> None:
    assert not CodeRule(line=1, end_line=1).is_about("README.md")
    assert CodeRule(line=1, end_line=1, files=["**/*.md"]).is_about("README.md")


def test_only_files_are_held_against_rules_that_they_can_be_about() -> None:
    assert not CodeRule(line=1, end_line=1).is_about("package.json")
    assert not CodeRule(line=1, end_line=1).is_about(".github/forge.yml")
    assert CodeRule(line=1, end_line=1, files=["**/*.yml"]).is_about(".github/forge.yml")
    question = narrow(rule(1, 1, "shop/**"))
    assert question is not None
    assert [*question.lines] == ["shop/till.py"]
    assert "== shop/till.py" in question.content
    assert "== web/" not in question.content


def test_what_is_reported_already_is_named_beside_the_change() -> None:
    """Whatever people made of it, and also where its lines changed since; of other files nothing."""
    found = build_raw_finding(rule="ruff/T201", severity=Severity.warning, path="shop/till.py", line=PRINT)
    again = EarlierFinding(id="F-AEGTUI", rule=CONVENTION, path="shop/till.py", line=3, message="Use log.", before="x")
    question = build_questions(
        CHANGE, VERSIONS, [found, found.model_copy(update={"path": "other.py"})], earlier=[again], written=WRITTEN
    ).conventions
    assert question is not None
    narrowed = keep_rules(question, {})
    assert narrowed is not None
    for asked in (question, narrowed):
        told = asked.content.partition("== already reported\n")[2].partition("\nEND")[0]
        assert told.splitlines() == [
            "shop/till.py:3 ruff/T201 warning",
            f"shop/till.py {CONVENTION}: Use log.",
        ]


def test_without_rules_nothing_is_asked_and_without_an_answer_all_is() -> None:
    assert narrow() is None
    assert narrow(rule(400)) is None
    question = build_questions(CHANGE, VERSIONS, written=WRITTEN).conventions
    assert question is not None
    lost = {each.path: ModelAnswer(key="k", problem="away") for each in question.conventions}
    assert keep_rules(question, lost) == question
    assert keep_rules(question, {}) == question


def test_the_same_version_of_a_file_is_the_same_question_whatever_changed() -> None:
    questions = [
        build_rules_question(file)
        for paths in (["shop/till.py"], ["shop/till.py", "web/app.py"])
        for file in choose(WRITTEN, paths).files
    ]
    assert questions[:2] == questions[2:]
    assert "shop/till.py" not in questions[0].content


def test_the_question_about_defects_holds_no_convention() -> None:
    plan = build_questions(CHANGE, VERSIONS, written=WRITTEN)
    assert all("never print" not in each.content for each in plan.questions)
    assert plan.conventions is not None
    assert "3 - Use `log`, never print" in plan.conventions.content
    assert "3+    print(amount)" in plan.conventions.content


def test_no_conventions_no_question() -> None:
    elsewhere = write(("docs/AGENTS.md", "Short words.\n"))
    assert build_questions(CHANGE, VERSIONS, written=elsewhere).conventions is None
    assert build_questions(CHANGE, VERSIONS).conventions is None


def test_the_second_look_knows_that_the_repository_settled_it() -> None:
    (finding,) = find_broken(report())
    second = build_second_look([finding], CHANGE, VERSIONS)
    assert second is not None
    assert second.instructions.startswith(load_prompt("second_look"))
    assert "model/convention" in second.instructions
    other = build_second_look([finding.model_copy(update={"rule": "model/race"})], CHANGE, VERSIONS)
    assert other is not None
    assert other.instructions == load_prompt("second_look")


@pytest.mark.parametrize(
    ("verdict", "quote", "kept"),
    [("proven", "print(amount)", 1), ("refuted", "print(amount)", 0), ("unsure", "", 0), ("proven", "log(amount)", 0)],
)
def test_a_remark_needs_proof_and_stays_a_warning(verdict: str, quote: str, kept: int) -> None:
    broken = find_broken(report())
    second = build_second_look(broken, CHANGE, VERSIONS)
    value = Verdicts.model_validate({"verdicts": [{"number": 1, "verdict": verdict, "quote": quote}]})
    left = keep_confirmed(broken, ModelAnswer(key="k", value=value.model_dump(mode="json")), second)
    assert [each.severity for each in left] == [Severity.warning] * kept
