"""What the names of changed files, and their syntax trees, say about what a change can do, and the risk of that."""

import pytest

from domain.paths import may_run
from domain.review.changes import Change, TouchedFile
from domain.review.findings import Category, Layer, RawFinding, Severity
from domain.review.impact import Impact
from domain.review.review import RiskLevel
from safety.impact import assess_impact
from safety.risk import assess, reassess

ERROR = RawFinding(
    rule="ruff/F821",
    category=Category.correctness,
    severity=Severity.error,
    confidence=0.9,
    path="a.py",
    line=1,
    message="No.",
    layer=Layer.static,
)

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
    ("file", "is_explained", "impact"),
    [
        (touch("README.md"), False, Impact.behaviour),  # nobody looked into it
        (touch("README.md", is_gone=True), False, Impact.document),
        (touch("LICENSE", is_gone=True), False, Impact.behaviour),
        (touch("SECURITY.md", is_gone=True), False, Impact.behaviour),
        (touch("docs/a.md", "a.py"), False, Impact.behaviour),  # a program became a document
        (touch("rows.csv"), False, Impact.data),
        (touch("uv.lock"), True, Impact.lock),
        (touch("uv.lock"), False, Impact.behaviour),
        *((touch(name), False, Impact.behaviour) for name in ("requirements.lock", "MODULE.bazel.lock", "go.work.sum")),
        (touch("a.py"), True, Impact.behaviour),
        (touch("a.py", is_gone=True), True, Impact.behaviour),
        (touch("b.py", "a.py"), True, Impact.behaviour),
        (touch("CODEOWNERS"), True, Impact.behaviour),
        (touch("unknown.xyz"), True, Impact.behaviour),
    ],
    ids=lambda each: getattr(each, "path", str(each)),
)
def test_by_name(file: TouchedFile, is_explained: bool, impact: Impact) -> None:
    assert assess_impact([file], {}, {file.path} if is_explained else ()) == {file.path: impact}


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
