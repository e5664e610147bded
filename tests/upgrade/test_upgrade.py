"""A database of the version before, with runs that wait and runs that were killed, goes on in this version."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
from sqlalchemy import select

from memory.db.tables.runs import RunRow
from tests.chaos.driver import ChaosStage, Point
from tests.chaos.issues import Carried, Planned
from tests.chaos.scenes import Asked, Scene, prepare
from tests.invariants import find_violations
from tests.upgrade.version_before import updated_stage

pytestmark = pytest.mark.upgrade


@pytest.fixture
async def stage(tmp_path: Path) -> AsyncGenerator[ChaosStage]:
    async with updated_stage("sqlite", tmp_path) as made:
        yield made


async def test_a_review_waits_for_a_person(stage: ChaosStage) -> None:
    await prepare(stage, Asked)
    scene = Asked(stage, 1)
    stage.begin(scene.on_point, lambda _: False)
    await scene.push(scene.first)
    await scene.alice.open_pull_request(scene.repository, "feature-1")
    await stage.settle()
    assert list_gates(scene) == [("Forge / gate: protected_paths", "action_required")]
    await update(stage)
    await scene.go_on()
    assert list_gates(scene) == [("Forge / gate: protected_paths", "success")]
    assert await list_runs(stage) == [("pull_request", "completed")]
    assert list_reviews(scene) == (0, ["success"])
    assert await find_violations(stage.github, stage.database) == []


async def test_an_issue_waits_for_a_person(stage: ChaosStage) -> None:
    await prepare(stage, Planned)
    scene = Planned(stage, 1)
    stage.begin(scene.on_point, lambda _: False)
    scene.issue = await scene.alice.open_issue(scene.repository, "Discounts", "Customers want a discount.")
    await scene.ask(scene.issue)
    await stage.settle()
    assert await list_runs(stage) == [("issue", "waiting")]
    await update(stage)
    await scene.go_on()
    await expect_proposal(scene)


@pytest.mark.parametrize(
    "point",
    [
        Point("delivery 1: admit", "after"),
        Point("run 1: run the checks", "took effect"),
        Point("run 1 on GitHub: review", "took effect"),
        Point("run 1: post the review", "after"),
        Point("run 1: conclude the check", "took effect"),
    ],
    ids=str,
)
async def test_a_review_was_killed(stage: ChaosStage, point: Point) -> None:
    await prepare(stage)
    scene = Scene(stage, 1)
    await scene.play(lambda passed: passed == point)
    assert stage.kills == 1
    assert await list_runs(stage) == [("pull_request", "completed")]
    assert list_reviews(scene) == (1, ["failure"])
    assert await find_violations(stage.github, stage.database) == []


@pytest.mark.parametrize(
    "point",
    [
        Point("run 1: ask: plan 1", "after"),
        Point("run 1: act: implement T1 2", "took effect"),
        Point("run 1: ask: implement T2 2, the model", "took effect"),
        Point("run 1: push the branch", "after"),
        Point("on GitHub: POST pulls", "took effect"),
        Point("run 1: wait: in_review", "after"),
    ],
    ids=str,
)
async def test_an_issue_was_killed(stage: ChaosStage, point: Point) -> None:
    await prepare(stage, Carried)
    scene = Carried(stage, 1)
    await scene.play(lambda passed: passed == point)
    assert stage.kills == 1
    await expect_proposal(scene)


async def update(stage: ChaosStage) -> None:
    """Stop the Forge of the version before and start this one."""
    stage.forge.kill()
    await stage.forge.wait_until_dead()
    await stage.settle()


async def expect_proposal(scene: Carried) -> None:
    """One pull request with one commit for each task and one that corrects them, reviewed, and ready for people."""
    found = scene.collect_results()
    [(_, is_draft, state, title, _)] = found["proposed"]
    assert (is_draft, state, title) == (False, "open", "Discounts")
    assert [message.splitlines()[0] for (*_, message) in found["commits"]] == [
        "Take a discount off",
        "Refuse what is no discount",
        "Fix failing tests",
    ]
    assert await list_runs(scene.stage) == [("issue", "completed"), *[("pull_request", "completed")] * 2]
    assert list_reviews(scene) == (0, ["success"])
    assert await find_violations(scene.stage.github, scene.stage.database) == []


def list_gates(scene: Scene) -> list[tuple[str, str | None]]:
    checks = scene.stage.github.check_runs(scene.repository, scene.heads[-1])
    return [(check.name, check.conclusion) for check in checks if check.name.startswith("Forge / gate")]


def list_reviews(scene: Scene) -> tuple[int, list[str | None]]:
    """How many reviews Forge posted, and the conclusions of its checks on the newest head."""
    found = scene.collect_results()
    return len(found["reviews"]), [conclusion for (_, _, conclusion, *_) in found["checks"][-1]]


async def list_runs(stage: ChaosStage) -> list[tuple[str, str]]:
    """(what asked for it, state) of every run."""
    async with stage.database.transaction() as session:
        rows = await session.execute(select(RunRow.trigger, RunRow.state).order_by(RunRow.id))
        return [(trigger, state) for trigger, state in rows]
