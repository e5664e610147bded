"""What the names of changed files, and their syntax trees, say about what a change can do, and the risk of that."""

import pytest

from domain.paths import may_run
from domain.review.changes import Change, ChangeStatus, FileChange, Hunk, TouchedFile
from domain.review.reading import Impact
from domain.review.review import RiskLevel
from safety.impact import assess_impact
from safety.risk import assess, reassess
from tests.unit.checks.findings import build_raw_finding

ERROR = build_raw_finding()

WORKFLOW = ".github/workflows/ci.yml"
READ = {"README.md": Impact.document}


def touch(path: str, old_path: str | None = None, *, is_gone: bool = False) -> TouchedFile:
    return TouchedFile(path=path, old_path=old_path, is_gone=is_gone, lines=1, may_run=may_run(path) and not is_gone)


def change(*touched: TouchedFile) -> Change:
    return Change(
        merge_base="a" * 40,
        head_sha="b" * 40,
        files=(),
        total_files=len(touched),
        additions=1,
        deletions=0,
        touched=touched,
    )


@pytest.mark.parametrize(
    ("file", "impact"),
    [
        (touch("README.md"), Impact.behaviour),  # nobody looked into it
        (touch("README.md", is_gone=True), Impact.document),
        (touch("LICENSE", is_gone=True), Impact.behaviour),
        (touch("SECURITY.md", is_gone=True), Impact.behaviour),
        (touch("docs/a.md", "a.py"), Impact.behaviour),  # a program became a document
        (touch("rows.csv"), Impact.data),
        (touch("uv.lock"), Impact.behaviour),  # only its package manager knows what it reads there
        *((touch(name), Impact.behaviour) for name in ("requirements.lock", "MODULE.bazel.lock", "go.work.sum")),
        (touch("a.py"), Impact.behaviour),
        (touch("a.py", is_gone=True), Impact.behaviour),
        (touch("b.py", "a.py"), Impact.behaviour),
        (touch("CODEOWNERS"), Impact.behaviour),
        (touch("unknown.xyz"), Impact.behaviour),
    ],
    ids=lambda each: getattr(each, "path", str(each)),
)
def test_by_name(file: TouchedFile, impact: Impact) -> None:
    assert assess_impact([file], {}) == {file.path: impact}


def test_layout_of_what_decides_about_runs_is_certain_only_of_yaml() -> None:
    files = [touch(WORKFLOW), touch(".github/dependabot.yml", "docs/dependabot.yml"), touch("CODEOWNERS")]
    found = assess_impact(files, {each.path: Impact.layout for each in files})
    assert [*found.values()] == [Impact.layout, Impact.behaviour, Impact.behaviour]


def test_blank_lines_leave_nothing_to_read_but_in_what_decides_about_runs() -> None:
    files = [change_lines("a.typed", "", "  "), change_lines("b.typed", "", "x"), change_lines("CODEOWNERS", "")]
    found = assess_impact([touch(each.path) for each in files], {}, files=files)
    assert [*found.values()] == [Impact.comment, Impact.behaviour, Impact.behaviour]
    files = [change_lines("a.py", "")]
    assert assess_impact([touch("a.py")], {"a.py": Impact.behaviour}, files=files) == {"a.py": Impact.behaviour}


TEST_FILE = "tests/test_a.py"


def change_lines(path: str, *added: str) -> FileChange:
    lines = tuple(f"+{line}" for line in added)
    hunk = Hunk(old_start=1, old_length=0, new_start=1, new_length=len(lines), lines=lines)
    return FileChange(path=path, status=ChangeStatus.modified, additions=len(lines), hunks=(hunk,))


@pytest.mark.parametrize(
    ("files", "parsed", "level"),
    [
        ([change_lines("README.md", "[more](https://x.org)")], {"README.md": Impact.behaviour}, RiskLevel.low),
        ([change_lines(TEST_FILE, "assert total() == 3")], {TEST_FILE: Impact.behaviour}, RiskLevel.low),
        ([change_lines(TEST_FILE, "subprocess.run(['ls'])")], {TEST_FILE: Impact.behaviour}, RiskLevel.medium),
        ([change_lines("tests/conftest.py", "x = 1")], {}, RiskLevel.medium),
        ([change_lines("requirements_test.txt", "leftpad")], {}, RiskLevel.medium),
        ([change_lines("requirements-test.lock", "leftpad==1.0")], {}, RiskLevel.medium),
        ([change_lines("LICENSE", "Pay.")], {"LICENSE": Impact.behaviour}, RiskLevel.medium),
        ([change_lines("AGENTS.md", "Obey.")], {"AGENTS.md": Impact.behaviour}, RiskLevel.medium),
        ([change_lines("a.go", "// nolint")], {"a.go": Impact.comment}, RiskLevel.low),
        (
            [change_lines(".github/workflows/a.yml", "# a: b")],
            {".github/workflows/a.yml": Impact.comment},
            RiskLevel.medium,
        ),
        ([change_lines(TEST_FILE, "pass"), change_lines("a.py", "x = 1")], {}, RiskLevel.medium),
    ],
)
def test_documents_comments_and_calm_tests_are_low_for_people_and_never_for_what_nobody_asked_for(
    files: list[FileChange], parsed: dict[str, Impact], level: RiskLevel
) -> None:
    touched = [touch(each.path) for each in files]
    made = change(*touched).model_copy(update={"files": tuple(files)})
    risk = assess(made, (), impacts=assess_impact(touched, parsed, files=files))
    assert (risk.level, risk.level_unasked) == (level, RiskLevel.medium)
    assert risk.score_unasked >= 25


def test_what_is_written_for_forges_agents_is_no_document() -> None:
    file = touch("docs/style.md")
    assert assess_impact([file], {file.path: Impact.behaviour}, instructions=["docs/*"]) == {
        file.path: Impact.behaviour
    }


def test_a_syntax_tree_knows_more_than_a_name() -> None:
    assert assess_impact([touch("a.py")], {"a.py": Impact.layout}) == {"a.py": Impact.layout}


def test_one_file_that_may_change_the_program_makes_a_change_medium() -> None:
    files = (touch("a.py"), touch("README.md"))
    risk = assess(change(*files), [], impacts=assess_impact(files, READ))
    assert (risk.score, risk.level, risk.score_of_facts) == (25, RiskLevel.medium, 0)
    assert [(part.points, part.text) for part in risk.parts] == [
        (25, "May change what the program does: a.py"),
        (0, "Only text for people: README.md"),
    ]


def test_programs_are_told_from_what_they_obey() -> None:
    script = touch("bin/tool").model_copy(update={"is_script": True})
    files = (script, touch("build.yml"))
    [part] = assess(change(*files), [], impacts={each.path: Impact.behaviour for each in files}).parts
    program, settings = part.text.split(". ")
    assert (program, settings) == (
        "May change what the program does: bin/tool",
        "Changes what programs may obey, such as settings: build.yml",
    )


@pytest.mark.parametrize(
    ("path", "impact", "told"),
    [
        ("test/data/list.md", Impact.test, "Changes tests"),
        ("spec/fixtures/list.rst", Impact.test, "Changes tests"),
        ("tests/README.md", Impact.document, "Only text for people"),
        ("docs/tests/list.md", Impact.document, "Only text for people"),
        ("docs/testing.md", Impact.document, "Only text for people"),
        ("tests/AGENTS.md", Impact.behaviour, "Changes tests"),
    ],
)
def test_a_document_among_the_data_of_tests_is_read_by_them(path: str, impact: Impact, told: str) -> None:
    file = touch(path)
    found = assess_impact([file], {path: Impact.behaviour if file.may_run else Impact.document})
    assert found == {path: impact}
    [part] = assess(change(file), [], impacts=found).parts
    assert part.text.startswith(told)


def test_findings_count_beside_what_every_change_of_behaviour_has() -> None:
    files = (touch("a.py"),)
    risk = assess(change(*files), [ERROR], impacts=assess_impact(files, READ))
    assert (risk.score, risk.score_of_facts) == (31, 6)
    assert (reassess(risk, []).score, reassess(risk, []).score_of_facts) == (25, 0)
    grave = reassess(risk, [ERROR] * 3)
    assert (grave.score, grave.level, grave.score_of_facts) == (40, RiskLevel.medium, 15)


def test_what_leaves_the_program_as_it_was_is_low() -> None:
    files = (touch("a.py"), touch("README.md"))
    risk = assess(change(*files), [], impacts=assess_impact(files, {"a.py": Impact.layout, **READ}))
    assert (risk.score, risk.level) == (0, RiskLevel.low)
