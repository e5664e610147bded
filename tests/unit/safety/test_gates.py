"""What a review has to ask people, and its verdict with what they answered."""

from datetime import UTC, datetime, timedelta

import pytest

from domain.config.configuration import Configuration
from domain.config.limits import ProjectPaths
from domain.config.sections import GateSettings
from domain.gates import Gate, GateDecision, GateRequest, GateState
from domain.review.findings import Category, Finding, Layer, Severity
from domain.review.review import Conclusion, LayerReport, Review, Risk, RiskLevel
from domain.runs.run import Phase, RepositoryRef
from safety.gate_requests import build_request
from safety.gates import apply_answers, apply_blocking_gates, list_custom, list_requests
from tests.unit.checks.findings import build_finding
from tests.unit.safety.reviews import build_review

NOW = datetime(2026, 1, 31, 12, tzinfo=UTC)
SHOP = RepositoryRef(installation_id=1, id=7, owner="octo-org", name="shop")
USUAL = Configuration()


def finding(
    rule: str, severity: Severity, category: Category = Category.correctness, layer: Layer = Layer.static
) -> Finding:
    identity = {"fingerprint": rule, "trail": rule}
    return build_finding(rule=rule, severity=severity, category=category, layer=layer, **identity)


KEY = finding("secret/aws", Severity.critical, Category.security, Layer.security)
DEPENDENCY = finding("dependency/GHSA-1", Severity.critical, Category.dependencies, Layer.security)
BUG = finding("ruff/F821", Severity.error)


def review(*findings: Finding, level: RiskLevel = RiskLevel.low, missing: str | None = None) -> Review:
    score = {RiskLevel.low: 5, RiskLevel.medium: 30, RiskLevel.high: 60, RiskLevel.critical: 90}[level]
    layers, risk = (LayerReport(layer=Layer.model, missing=missing),), Risk(score=score, level=level, parts=())
    return apply_answers(build_review(*findings, layers=layers, risk=risk), [])


def gate_names(
    drawn: Review, *paths: str, configuration: Configuration = USUAL, gates: tuple[Gate, ...] = ()
) -> list[str]:
    context = {"review.lines_changed": 10}
    return [each.name for each in list_requests(drawn, ("shop.py", *paths), configuration, context, gates)]


def gate(wanted: GateRequest, state: GateState, words: str = "") -> Gate:
    return Gate(
        id="01HZZZZZZZZZZZZZZZZZZZZZZZ",
        run_id="run",
        repository=SHOP,
        number=1,
        head_sha="b" * 40,
        request=wanted,
        state=state,
        asked_at=NOW,
        until=NOW + timedelta(hours=1),
        decision=GateDecision(at=NOW, by_id=1, by_login="carol", words=words),
    )


def only(drawn: Review, *paths: str, gates: tuple[Gate, ...] = ()) -> GateRequest:
    [wanted] = list_requests(drawn, ("shop.py", *paths), USUAL, {}, gates)
    return wanted


@pytest.mark.parametrize(
    ("drawn", "paths", "names"),
    [
        (review(), (), []),
        (review(BUG), (), []),  # the author mends it first
        (review(BUG), (".github/workflows/ci.yml",), []),
        (review(KEY), (), ["security_findings"]),
        (review(DEPENDENCY), (), ["security_findings"]),
        (review(KEY, BUG), (".github/workflows/ci.yml",), ["security_findings"]),
        (review(level=RiskLevel.high), (), ["human_review"]),
        (review(missing="no key"), (), ["human_review"]),
        (review(), (".github/workflows/ci.yml",), ["protected_paths"]),
        (review(), ("CODEOWNERS",), ["protected_paths"]),
        (review(), (".github/forge-memory.md",), ["protected_paths"]),
        (review(), (".gitattributes",), ["protected_paths"]),
        (review(), ("lib/js/.gitattributes",), ["protected_paths"]),
        (review(), (".gitmodules",), ["protected_paths"]),
        (review(), (".github/dependabot.yml",), ["protected_paths"]),
        (review(), ("action.yml",), ["protected_paths"]),
        (review(), ("tools/setup/action.yaml",), ["protected_paths"]),
        (review(), ("src/reaction.yml", "gitattributes", "docs/forge-memory.md"), []),
        (review(), (".github/forge.yml",), ["protected_paths"]),
        (review(), ("poetry.lock",), []),
        (review(level=RiskLevel.high), ("CODEOWNERS",), ["human_review", "protected_paths"]),
    ],
)
def test_what_is_asked(drawn: Review, paths: tuple[str, ...], names: list[str]) -> None:
    assert gate_names(drawn, *paths) == names


def test_paths_of_the_repository_are_protected_too() -> None:
    configuration = Configuration(paths=ProjectPaths(protected=("db/**",)))
    assert gate_names(review(), "db/schema.sql", configuration=configuration) == ["protected_paths"]
    assert gate_names(review(), "db.py", configuration=configuration) == []


@pytest.mark.parametrize(("lines", "names"), [(9, ["large"]), (10, [])])
def test_gate_of_the_repository(lines: int, names: list[str]) -> None:
    own = GateSettings(
        phase="review", when=f"review.lines_changed > {lines}", prompt="Large.", role="admin", timeout="4h"
    )
    configuration = Configuration(gates={"large": own})
    assert gate_names(review(), configuration=configuration) == names
    for wanted in list_requests(review(), (), configuration, {"review.lines_changed": 10}):
        assert (wanted.role, wanted.timeout, wanted.prompt) == ("admin", timedelta(hours=4), "Large.")


@pytest.mark.parametrize(
    ("state", "about", "is_asked"),
    [
        (GateState.rejected, "head", True),
        (GateState.waiting, "head", True),
        (GateState.rejected, "other head", False),
        (GateState.void, "head", False),
    ],
)
def test_what_was_asked_once_is_not_taken_back(state: GateState, about: str, is_asked: bool) -> None:
    """An answer counts also where the condition of the gate holds no more, such as that of tests that are flaky."""
    configured = GateSettings(phase="testing", when="testing.failed > 0", prompt="Go on all the same?")
    configuration = Configuration(gates={"flaky": configured})
    [wanted] = list_custom(Phase.testing, configuration, {"testing.failed": 1}, about)
    known = [gate(wanted, state)]
    found = list_custom(Phase.testing, configuration, {"testing.failed": 0}, "head", known=known)
    assert [each.name for each in found] == ["flaky"] * is_asked


def test_what_is_protected_for_one_reason_is_told_once_and_a_rename_is_one_path() -> None:
    paths = [".github/workflows/a.yml", ".github/workflows/b.yaml", ".github/workflows/b.yml", "CODEOWNERS"]
    drawn = review().model_copy(update={"renamed": {".github/workflows/b.yml": ".github/workflows/b.yaml"}})
    [reason] = only(drawn, *paths).reasons
    assert (reason.text, reason.value) == ("3 protected paths changed", 3)
    actions, owners = reason.children
    assert actions.text.startswith("GitHub Actions: jobs on a push")
    assert [each.text for each in actions.children] == [".github/workflows/a.yml", ".github/workflows/b.yaml"]
    assert owners.text.startswith("CODEOWNERS (GitHub's code owners")
    assert only(drawn, *paths).subject == only(review(), *paths).subject


def test_a_protected_file_that_moves_away_asks() -> None:
    drawn = review().model_copy(update={"renamed": {"CODEOWNERS": "docs/owners.txt"}})
    [reason] = only(drawn, "CODEOWNERS", "docs/owners.txt").reasons
    assert (reason.text, len(reason.children)) == ("1 protected path changed", 1)


def test_gate_of_another_phase_is_not_asked() -> None:
    own = GateSettings(phase="deployment", when="true", prompt="Deploy?")
    assert gate_names(review(), configuration=Configuration(gates={"any_deploy": own})) == []


@pytest.mark.parametrize(("level", "role"), [(RiskLevel.high, "write"), (RiskLevel.critical, "maintain")])
def test_critical_risk_asks_a_maintainer(level: RiskLevel, role: str) -> None:
    assert only(review(level=level)).role == role


def test_configured_role_can_only_be_higher() -> None:
    configuration = Configuration(gates={"human_review": GateSettings(role="admin", timeout="2h")})
    wanted = build_request("human_review", Phase.review, "s", "?", (), configuration)
    assert (wanted.role, wanted.seconds) == ("admin", 7200)


def test_accepted_risk_does_not_block_and_other_findings_still_do() -> None:
    drawn = review(KEY)
    approved = gate(only(drawn), GateState.approved, "rotate it")
    accepted = apply_answers(drawn, [approved])
    assert accepted.conclusion is Conclusion.success
    assert "rotate it" in accepted.reasons[0].text
    assert apply_answers(review(KEY, BUG), [approved]).conclusion is Conclusion.failure


def test_answer_holds_for_these_findings_only() -> None:
    approved = gate(only(review(KEY)), GateState.approved)
    both = review(KEY, DEPENDENCY)
    assert apply_answers(both, [approved]).conclusion is Conclusion.failure
    assert gate_names(both, gates=(approved,)) == ["security_findings"]
    assert only(both).subject != approved.request.subject


def test_approved_human_review_approves() -> None:
    drawn = review(level=RiskLevel.high)
    assert drawn.conclusion is Conclusion.action_required
    approved = gate(only(drawn), GateState.approved)
    assert apply_answers(drawn, [approved]).conclusion is Conclusion.success
    assert apply_answers(review(missing="no key"), [approved]).conclusion is Conclusion.action_required


@pytest.mark.parametrize("state", [GateState.waiting, GateState.rejected, GateState.expired, GateState.void])
def test_nothing_but_an_approval_approves(state: GateState) -> None:
    drawn = review(level=RiskLevel.high)
    there = gate(only(drawn), state)
    assert apply_answers(drawn, [there]).conclusion is not Conclusion.success
    assert apply_blocking_gates(apply_answers(drawn, [there]), [there]).conclusion is not Conclusion.success


@pytest.mark.parametrize(
    ("state", "conclusion", "code"),
    [
        (GateState.waiting, Conclusion.action_required, "gate.waiting"),
        (GateState.rejected, Conclusion.failure, "gate.rejected"),
        (GateState.expired, Conclusion.action_required, "gate.expired"),
    ],
)
def test_verdict_while_and_after(state: GateState, conclusion: Conclusion, code: str) -> None:
    drawn = review()
    stopped = apply_blocking_gates(drawn, [gate(only(drawn, "CODEOWNERS"), state)])
    assert stopped.conclusion is conclusion
    assert stopped.reasons[0].code == code
    assert apply_blocking_gates(review(BUG), [gate(only(drawn, "CODEOWNERS"), state)]).conclusion is Conclusion.failure
