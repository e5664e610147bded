"""What a plan has to be: bounded, without contradictions, and of tasks that can be done one after the other."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from domain.review.review import RiskLevel
from domain.runs.plan import MOST_TASKS, Plan, Planned, Task, covers_path, find_mistakes, sort_tasks
from tests.unit.planning.plans import plan, risky, task


def wrong(*tasks: Task, **changes: object) -> str | None:
    return find_mistakes(Planned(plan=plan(*tasks, **changes)))


@pytest.mark.parametrize(
    "good",
    [
        plan(),
        plan(task("T1"), task("T2", "T1", files=("tests/test_cart.py", "tests/deep/er.py"))),
        plan(task("T2", "T1"), task("T1")),
        plan(task(files=())),
        plan(task(files=("src/[id].tsx", "src/.env.example"))),
        plan(risk=risky(RiskLevel.high, "It touches every order.")),
        plan(allowed_areas=("src/",)),
    ],
)
def test_a_plan_that_fits_together_is_left_alone(good: Plan) -> None:
    assert find_mistakes(Planned(plan=good)) is None


def test_either_a_plan_or_questions() -> None:
    assert find_mistakes(Planned(questions=("Which cart?",))) is None
    assert "Hand in a plan, or questions" in (find_mistakes(Planned()) or "")
    assert "not both" in (find_mistakes(Planned(plan=plan(), questions=("Which cart?",))) or "")


def test_where_nothing_is_to_do_there_is_nothing_else() -> None:
    assert find_mistakes(Planned(nothing_to_do="It is done.")) is None
    for other in (Planned(plan=plan()), Planned(questions=("Which cart?",))):
        assert find_mistakes(other.model_copy(update={"nothing_to_do": "It is done."})) is not None


@pytest.mark.parametrize(
    ("bad", "told"),
    [
        (plan(task("T1"), task("T1")), "2 tasks have the id T1"),
        (plan(task("T1", "T9")), "T1 depends on T9, and there is no such task"),
        (plan(task("T1", "T1")), "in a circle: T1 → T1"),
        (plan(task("T1"), task("T2", "T3"), task("T3", "T1", "T2"), task("T4", "T3")), "in a circle: T2 → T3 → T2"),
        (plan(task(files=("docs/a.md",))), "“docs/a.md” of T1 lies outside allowed_areas"),
        (plan(task(files=("src/legacy/a.py",))), "“src/legacy/a.py” of T1 lies inside forbidden_areas"),
        (plan(task(files=("src/LEGACY/a.py",))), "inside forbidden_areas"),
        (plan(task(files=("/src/a.py",))), "starts with “/”"),
        (plan(task(files=("src/../a.py",))), "holds “.” or “..”"),
        (plan(task(files=("src/",))), "is a folder"),
        (plan(task(files=("src/*.py",))), "is a pattern"),
        (plan(task(files=("C:/src/a.py",))), "does not begin at the root"),
        (plan(task(files=("~/a.py",))), "does not begin at the root"),
        (plan(task(files=("src//a.py",))), "is no path inside"),
        (plan(task(files=("src/.GIT/config",))), "is no path inside"),
        (plan(task(files=("src\\a.py",))), "backslash"),
        (plan(task(files=("src/a\u202e.py",))), "cannot be seen"),
        (plan(allowed_areas=("src/**", "../**")), "“../**” in allowed_areas"),
        (plan(forbidden_areas=("!src",)), "“!src” in forbidden_areas"),
        (plan(risk=risky(RiskLevel.medium)), "risk.reasons does not say why"),
    ],
)
def test_a_mistake_is_told_in_one_line(bad: Plan, told: str) -> None:
    said = find_mistakes(Planned(plan=bad)) or ""
    assert told in said
    assert "\n" not in said


def test_of_many_mistakes_some_are_told() -> None:
    said = wrong(*(task(f"T{number}", files=(f"docs/{number}.md",)) for number in range(1, 10))) or ""
    assert said.count("lies outside") == 4
    assert said.endswith("5 more like these.")


def test_a_plain_name_covers_what_lies_below_it() -> None:
    assert covers_path(("src",), "src/a/b.py")
    assert covers_path(("src/",), "src/a.py")
    assert covers_path(("src/a.py",), "src/a.py")
    assert not covers_path(("src",), "src2/a.py")
    assert not covers_path(("src/*",), "src/a/b.py")


def test_tasks_are_put_in_order_and_otherwise_left_as_they_are() -> None:
    tasks = (task("T3", "T1"), task("T1"), task("T2"), task("T4", "T3", "T2"))
    assert [each.id for each in sort_tasks(plan(*tasks))] == ["T1", "T3", "T2", "T4"]


def test_a_circle_has_no_order() -> None:
    with pytest.raises(ValueError, match="circle"):
        sort_tasks(plan(task("T1", "T2"), task("T2", "T1")))


@st.composite
def _graphs(draw: st.DrawFn) -> tuple[Task, ...]:
    ids = [f"T{number}" for number in range(1, draw(st.integers(1, MOST_TASKS)) + 1)]
    return tuple(task(id_, *draw(st.lists(st.sampled_from(ids), max_size=2, unique=True))) for id_ in ids)


@given(_graphs())
def test_whatever_has_no_mistake_has_an_order(tasks: tuple[Task, ...]) -> None:
    if wrong(*tasks) is not None:
        with pytest.raises(ValueError, match="circle"):
            sort_tasks(plan(*tasks))
        return
    ordered = sort_tasks(plan(*tasks))
    done = set[str]()
    for each in ordered:
        assert done.issuperset(each.depends_on)
        done.add(each.id)
    assert sorted(ordered, key=tasks.index) == list(tasks)
    assert sort_tasks(plan(*ordered)) == ordered


@pytest.mark.parametrize(
    "changes",
    [
        {"summary": "x" * 1_001},
        {"summary": " "},
        {"tasks": []},
        {"tasks": [task(f"T{number}").model_dump() for number in range(1, MOST_TASKS + 2)]},
        {"tasks": [task().model_dump() | {"id": "one"}]},
        {"tasks": [task().model_dump() | {"files": ["x" * 301]}]},
        {"allowed_areas": []},
        {"estimate": {"lines": -1, "minutes": 1}},
        {"risk": {"level": "none", "reasons": []}},
        {"contracts": ["db"] * 21},
    ],
)
def test_what_a_model_hands_in_is_bounded(changes: dict[str, object]) -> None:
    whole = plan().model_dump(mode="json")
    assert Planned.model_validate({"plan": whole}).plan == plan()
    with pytest.raises(ValidationError):
        Planned.model_validate({"plan": whole | changes})


def test_questions_are_bounded() -> None:
    with pytest.raises(ValidationError):
        Planned(questions=("?",) * 6)
