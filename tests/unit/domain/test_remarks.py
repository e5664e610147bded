"""Which findings one comment carries."""

import pytest

from domain.review.findings import Category, Finding, Fix, Layer, Severity
from domain.review.review import MOST_FIXABLE, MOST_TOPICS, group_remarks, split_topics
from messages import inline_comments as comment_texts


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


def shift(finding: Finding, **other: object) -> Finding:
    return finding.model_copy(update=other)


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


SHELL = build_finding(7, "ruff/S602")
SLOW = shift(build_finding(7, "model/performance", layer=Layer.model), fingerprint="slow", severity=Severity.warning)
IMPORT = build_finding(7, "ruff/F401", fixable=True)


@pytest.mark.parametrize(
    ("findings", "said"),
    [
        ([SHELL, SLOW], [[7, 7]]),
        ([SHELL, shift(SLOW, line=5, end_line=7)], [[7, 5]]),
        ([SHELL, shift(SLOW, line=8)], [[7], [8]]),
        ([shift(SHELL, end_line=9), shift(SLOW, line=9), shift(SLOW, line=10, fingerprint="2")], [[7, 9], [10]]),
        ([SHELL, shift(SLOW, path="b.py")], [[7], [7]]),
        ([SHELL, IMPORT], [[7, 7]]),
        ([shift(SHELL, end_line=9), IMPORT], [[7], [7]]),  # its suggestion would replace three lines
        ([build_finding(3), build_finding(7), shift(SLOW, line=3)], [[3, 7, 3]]),
        ([build_finding(3), build_finding(7), SLOW], [[3, 7], [7]]),  # the comment stands at line 3
        ([shift(SLOW, fingerprint=f"{n}") for n in range(MOST_TOPICS + 1)], [[7] * MOST_TOPICS, [7]]),
    ],
)
def test_what_is_said_of_the_same_lines_is_one_comment(findings: list[Finding], said: list[list[int]]) -> None:
    assert lines(findings) == said


def test_a_comment_about_several_lines_names_them_and_offers_each_fix() -> None:
    said = comment_texts.render_comment((IMPORT, shift(SLOW, line=5, end_line=7, id="F-5")))
    assert "correctness · `a.py:7`" in said
    assert "correctness · `a.py:5`" in said
    assert "```suggestion\nx\n```" in said


def test_what_is_gone_offers_no_fix_and_all_rules_are_named_when_nothing_is_left() -> None:
    remark = (IMPORT, shift(SLOW, id="F-5"))
    assert "suggestion" not in comment_texts.render_comment(remark, {"F-7"})
    assert "F-7, F-5 · `ruff/F401`, `model/performance`" in comment_texts.render_outdated(remark, "a" * 40)


def test_a_long_list_is_cut() -> None:
    [remark] = group_remarks([build_finding(line) for line in range(1, 41)])
    said = comment_texts.render_comment(remark)
    assert "· 40 places" in said
    assert said.count("\n- ") == comment_texts.SHOWN_IN_COMMENT
    assert "- and 10 more, listed in the check `Forge / review`" in said
    assert len(comment_texts.render_outdated(remark, "a" * 40)) < 1000


SAID = shift(build_finding(7, "model/security", layer=Layer.model), id="F-model", fingerprint="said")
NOTED = shift(SHELL, severity=Severity.warning)


def test_what_a_tool_and_a_model_say_alike_is_said_once() -> None:
    assert split_topics([SAID, NOTED]) == [(SAID, NOTED)]
    assert split_topics([NOTED, SAID]) == [(SAID, NOTED)]


@pytest.mark.parametrize(
    "other",
    [
        shift(NOTED, line=9),
        shift(NOTED, category=Category.security),
        shift(NOTED, severity=Severity.critical),
        shift(NOTED, fix=Fix(start_line=7, end_line=7, replacement="x")),
        shift(NOTED, rule="secret/token"),
    ],
)
def test_what_differs_or_has_more_to_it_is_said_apart(other: Finding) -> None:
    assert split_topics([SAID, other]) == [(SAID,), (other,)]


def test_once_one_of_them_is_gone_the_other_is_said_apart() -> None:
    assert split_topics([SAID, NOTED], gone={SAID.id}) == [(SAID,), (NOTED,)]
