"""Which findings one comment carries."""

from domain.review.findings import Category, Finding, Fix, Layer, Severity
from domain.review.inline_comments import MOST_FIXABLE, group_remarks
from messages import review as review_texts


def build_finding(line: int, rule: str = "ruff/F821", *, fixable: bool = False, layer: Layer = Layer.static) -> Finding:
    return Finding(
        id=f"F-{line}",
        rule=rule,
        category=Category.correctness,
        severity=Severity.error,
        confidence=1,
        path="a.py",
        line=line,
        message=f"Undefined name `n{line}`.",
        fix=Fix(start_line=line, end_line=line, replacement="x") if fixable else None,
        layer=layer,
        fingerprint=f"{line}",
        trail="",
    )


def lines(findings: list[Finding]) -> list[list[int | None]]:
    return [[finding.line for finding in remark] for remark in group_remarks(findings)]


def test_one_rule_is_said_once() -> None:
    assert lines([build_finding(1), build_finding(2), build_finding(3, "ruff/F401"), build_finding(4)]) == [
        [1, 2, 4],
        [3],
    ]


def test_the_first_few_with_a_fix_have_a_comment_each() -> None:
    fixable = [build_finding(line, fixable=True) for line in range(1, MOST_FIXABLE + 3)]
    assert lines([*fixable, build_finding(9)]) == [[1], [2], [3], [4, 5, 9]]


def test_what_a_model_says_is_never_shared() -> None:
    assert lines([build_finding(1, layer=Layer.model), build_finding(2, layer=Layer.model)]) == [[1], [2]]


def test_a_long_list_is_cut() -> None:
    [remark] = group_remarks([build_finding(line) for line in range(1, 41)])
    said = review_texts.render_comment(remark)
    assert "· 40 places" in said
    assert said.count("\n- ") == review_texts.SHOWN_IN_COMMENT
    assert "- and 10 more, listed in the check `Forge / review`" in said
    assert len(review_texts.render_outdated(remark, "a" * 40)) < 1000
