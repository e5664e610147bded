"""A credential that a later push deletes asks for a person until one answers for it; all else is forgotten."""

import pytest

from domain.review.findings import Category, Finding, Layer, Severity
from domain.review.review import Conclusion, Decision, LayerReport, Review
from safety.suppression import with_dismissals, with_history
from tests.unit.checks.findings import build_finding
from tests.unit.safety.reviews import build_review


def finding(name: str, *, trail: str = "", rule: str = "secret/aws-access-key") -> Finding:
    return build_finding(
        id=f"F-{name}",
        rule=rule,
        category=Category.security,
        severity=Severity.critical,
        layer=Layer.security,
        fingerprint=name,
        trail=trail or f"trail of {name}",
    )


def apply_history(now: Review, *earlier: Finding, dismissed: set[str] | None = None) -> Review:
    return with_dismissals(with_history(now, earlier), dismissed or set())


def test_deleted_is_not_revoked() -> None:
    after = apply_history(build_review(), finding("A"))
    assert (after.decision, after.conclusion) == (Decision.require_human, Conclusion.action_required)
    assert [reason.code for reason in after.reasons] == ["credential.history"]
    assert after.reasons[0].text == "A credential was in an earlier commit and is in the history: revoke it"
    assert [child.text for child in after.reasons[0].children] == ["secret/aws-access-key, was in a.py:1"]


def test_a_person_answers_for_it_and_takes_that_back() -> None:
    after = apply_history(build_review(), finding("A"), dismissed={"A"})
    assert (after.decision, after.in_history) == (Decision.approve, ())
    assert [each.id for each in after.in_history_dismissed] == ["F-A"]
    assert with_dismissals(after, set()).decision is Decision.require_human


def test_every_one_is_answered_for() -> None:
    after = apply_history(build_review(), finding("A"), finding("B"), dismissed={"A"})
    assert [each.id for each in after.in_history] == ["F-B"]
    assert "2 credentials" in apply_history(build_review(), finding("A"), finding("B")).reasons[0].text


def test_nothing_was_there() -> None:
    assert apply_history(build_review()).decision is Decision.approve


@pytest.mark.parametrize("here", [finding("A"), finding("A2", trail="trail of A")])
def test_one_that_stands_or_only_moved_is_no_history(here: Finding) -> None:
    after = apply_history(build_review(here), finding("A"))
    assert (after.in_history, after.decision) == ((), Decision.request_changes)
    held = apply_history(build_review(here), finding("A"), dismissed={here.fingerprint})
    assert (held.in_history, held.decision) == ((), Decision.approve)


def test_another_one_in_its_place_excuses_nothing() -> None:
    after = apply_history(build_review(finding("B")), finding("A"), dismissed={"B"})
    assert ([each.id for each in after.in_history], after.decision) == (["F-A"], Decision.require_human)


def test_one_that_moved_before_it_went_is_said_once() -> None:
    after = apply_history(build_review(), finding("A", trail="x"), finding("A2", trail="x"))
    assert [each.id for each in after.in_history] == ["F-A2"]


def test_what_blocks_goes_first() -> None:
    after = apply_history(build_review(finding("C", rule="ruff/F821")), finding("A"))
    assert after.decision is Decision.request_changes
    assert [reason.code for reason in after.reasons] == ["findings.blocking", "credential.history"]


def test_a_reader_is_asked_for_only_as_long_as_the_risk_is_so_high() -> None:
    """What it counts is what it says, also after a dismissal and after that is taken back."""
    layer = LayerReport(layer=Layer.model, if_risky="{points} points")
    risky = build_review(finding("A", rule="ruff/S602")).model_copy(update={"layers": (layer,)})
    after = with_dismissals(risky, set())
    assert after.layers[0].missing == "20 points"
    calm = with_dismissals(after, {"A"})
    assert (calm.layers[0].missing, calm.decision) == (None, Decision.approve)
    assert with_dismissals(calm, set()).layers[0].missing == "20 points"
