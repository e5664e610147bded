"""The risk of a plan: the planner's word, raised by what the facts say and never lowered."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.config.configuration import Configuration
from domain.config.limits import ProjectPaths
from domain.review.review import RiskLevel
from domain.runs.plan import Component, Estimate, Plan
from safety.plan_risk import LIMITS, MOST_GRANTED, list_grantable, needs_approval, rate_plan
from tests.unit.planning.plans import plan, risky, task

LOW, MEDIUM, HIGH, CRITICAL = RiskLevel
WIDE = ("**",)


def codes(given_: Plan, paths: ProjectPaths | None = None) -> tuple[RiskLevel, list[str]]:
    found = rate_plan(given_, paths or ProjectPaths())
    return found.level, [reason.code for reason in found.reasons]


def plan_changing(*files: str) -> Plan:
    return plan(task(files=files), allowed_areas=WIDE)


def test_a_small_plan_keeps_the_word_of_the_planner() -> None:
    assert codes(plan()) == (LOW, ["plan.risk"])
    assert codes(plan_changing("src/a.py", "tests/test_a.py", "docs/a.md", "src/locking.py")) == (LOW, ["plan.risk"])


@pytest.mark.parametrize("level", RiskLevel)
def test_nothing_lowers_what_the_planner_said(level: RiskLevel) -> None:
    found = rate_plan(plan(risk=risky(level, "It is old.")))
    assert found.level is level
    assert [child.text for child in found.reasons[0].children] == ["It is old."]


@pytest.mark.parametrize(
    ("path", "level", "code"),
    [
        (".github/workflows/ci.yml", HIGH, "plan.protected_path"),
        (".GitHub/Workflows/ci.yml", HIGH, "plan.protected_path"),
        (".github/forge.yml", HIGH, "plan.protected_path"),
        ("CODEOWNERS", HIGH, "plan.protected_path"),
        ("lib/.gitattributes", HIGH, "plan.protected_path"),
        ("shop/migrations/0002_cart.py", HIGH, "plan.migration"),
        ("web/package-lock.json", HIGH, "plan.lock_file"),
        ("api/openapi.yaml", MEDIUM, "plan.contracts"),
    ],
)
def test_some_paths_are_of_more_risk(path: str, level: RiskLevel, code: str) -> None:
    for given_ in (plan_changing(path), plan(allowed_areas=("src", path))):
        found, named = codes(given_)
        assert found is level
        assert code in named


def test_a_folder_named_as_an_area_counts_and_a_wide_area_does_not() -> None:
    assert codes(plan(allowed_areas=("src", ".github/workflows")))[0] is HIGH
    assert codes(plan(allowed_areas=WIDE))[0] is LOW


def test_the_repository_says_what_is_protected_and_sensitive() -> None:
    paths = ProjectPaths(protected=("vault/**",), sensitive=("src/pay/**",))
    assert codes(plan_changing("vault/a.py"), paths) == (HIGH, ["plan.protected_path", "plan.risk"])
    assert codes(plan_changing("src/pay/a.py"), paths) == (MEDIUM, ["plan.sensitive_path", "plan.risk"])
    assert codes(plan_changing("vault/a.py", "src/pay/a.py")) == (LOW, ["plan.risk"])


def test_contracts_that_files_belong_to_are_added_to_those_the_planner_names() -> None:
    found = rate_plan(plan_changing("api/openapi.yaml", "a.proto").model_copy(update={"contracts": ("rpc",)}))
    assert found.plan.contracts == ("rpc", "openapi")
    assert found.level is HIGH
    assert rate_plan(plan()).plan.contracts == ()


def test_a_repository_may_have_contracts_of_its_own() -> None:
    found = rate_plan(plan(), contracts={"cart": ("src/cart.py",)})
    assert (found.plan.contracts, found.level) == (("cart",), MEDIUM)


def _build_plan(name: str, count: int) -> Plan:
    if name in {"lines", "minutes"}:
        return plan(estimate=Estimate(**{"lines": 1, "minutes": 1} | {name: count}))
    if name == "components":
        return plan(components=tuple(Component(name=f"c{number}", purpose="It is.") for number in range(count)))
    if name == "tasks":
        return plan(*(task(f"T{number + 1}") for number in range(count)))
    files = [f"src/{number}.py" for number in range(count)]
    return plan(*(task(f"T{at // 30 + 1}", files=tuple(files[at : at + 30])) for at in range(0, count, 30)))


@pytest.mark.parametrize("name", ["lines", "minutes", "tasks", "components", "files"])
def test_large_plans_are_of_more_risk(name: str) -> None:
    medium, high = getattr(LIMITS, name)
    for count, level in ((medium, LOW), (medium + 1, MEDIUM), (high, MEDIUM), (high + 1, HIGH)):
        found, named = codes(_build_plan(name, count))
        assert found is level
        assert (f"plan.{name}" in named) is (level is not LOW)


def test_a_reason_says_what_was_measured_and_the_gravest_comes_first() -> None:
    found = rate_plan(_build_plan("lines", 700).model_copy(update={"tasks": (task(files=("src/uv.lock",)),)}))
    assert [(reason.code, reason.value, reason.threshold) for reason in found.reasons] == [
        ("plan.lock_file", 1, 0),
        ("plan.lines", 700, 500),
        ("plan.risk", None, None),
    ]
    assert found.reasons[1].text == "700 changed lines expected, more than 500, so medium at least"


def test_high_and_critical_need_approval() -> None:
    assert [needs_approval(level) for level in (LOW, MEDIUM, HIGH, CRITICAL)] == [False, False, True, True]


_PATHS = st.sampled_from(["src/a.py", "uv.lock", "CODEOWNERS", "db/migrations/1.sql", "x.proto", "openapi.json"])


@given(st.sampled_from(RiskLevel), st.lists(_PATHS, max_size=6, unique=True), st.integers(0, 5_000), _PATHS)
def test_facts_only_raise(said: RiskLevel, files: list[str], lines: int, more: str) -> None:
    small = plan_changing(*files).model_copy(
        update={"risk": risky(said, "So."), "estimate": Estimate(lines=lines, minutes=1)}
    )
    larger = small.model_copy(update={"tasks": (task(files=(*files, more)),)})
    ranks = list(RiskLevel)
    levels = [ranks.index(level) for level in (said, rate_plan(small).level, rate_plan(larger).level)]
    assert levels == sorted(levels)


def test_protected_files_that_tasks_name_can_be_granted() -> None:
    configuration = Configuration.model_validate(
        {"paths": {"protected": ["vault/**"]}, "review": {"never_send": ["vault/key.*"]}}
    )
    ordinary = ("src/a.py", "migrations.md")
    grantable = (".github/workflows/ci.yml", "CodeOwners", "web/Yarn.lock", "shop/migrations/0002.py", "vault/a.py")
    never = (".gitmodules", "src/.gitattributes", "vault/key.pem")
    assert list_grantable(plan_changing(*ordinary, *grantable, *never), configuration) == grantable


def test_an_area_grants_nothing_and_no_question_is_about_more_than_it_shows() -> None:
    assert list_grantable(plan(allowed_areas=(".github/**", "poetry.lock")), Configuration()) == ()
    files = [f"part{number}/go.sum" for number in range(MOST_GRANTED + 1)]
    many = plan(task(files=tuple(files[:10])), task("T2", files=tuple(files[10:])), allowed_areas=WIDE)
    assert list(list_grantable(many, Configuration())) == files[:-1]
