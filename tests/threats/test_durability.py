"""T-D (docs/threats.md): nothing is lost and nothing happens twice, whenever a process dies."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from inline_snapshot import snapshot

from domain.commands import Sender
from domain.runs.run import RepositoryRef
from memory.repositories import permits
from pipeline.durable.journal import Call, Durable, run_durable_step
from simulator import Simulator
from simulator.check_runs import update
from simulator.errors import Dropped, Moment, RequestInfo
from simulator.state import Repository
from simulator.webhooks import Actor
from tests.chaos.driver import Point, ProcessSlot, sample, stage
from tests.chaos.scenes import Scene, Superseded, prepare
from tests.chaos.sweep import SCENES, Sweep, at
from tests.clock import MovableClock
from tests.databases import Backend, create_database
from tests.invariants import find_violations
from tests.stories.driver import SECRET, run_forge
from tests.world.replies import first_lines
from tests.world.verification import ACTIONS


@pytest.mark.timeout(1_200)
@pytest.mark.deep
@pytest.mark.parametrize(
    ("backend", "scene", "most"),
    [
        ("sqlite", "reviewed", 6),
        ("sqlite", "pushed", 2),
        ("sqlite", "superseded", 4),
        ("sqlite", "closed", 2),
        ("postgresql", "superseded", 2),
    ],
)
async def test_d1_killed_at_a_step_or_a_write(backend: Backend, scene: str, most: int, tmp_path: Path) -> None:
    """Kill −9 before or after it, start again: the same end, nothing twice. A sample; `make chaos` has every point."""
    async with stage(backend, tmp_path) as there:
        await prepare(there)
        sweep = Sweep(there, scene)
        chosen = sample(await sweep.rehearse(), most)
        result = await sweep.kill_at(chosen)
        assert result.wrong == []
        assert result.kills == len(chosen)


@pytest.mark.timeout(1_200)
@pytest.mark.deep
@pytest.mark.parametrize(
    ("backend", "scene", "most"), [("sqlite", "asked", 4), ("sqlite", "expired", 2), ("postgresql", "asked", 2)]
)
async def test_d1_killed_at_a_gate(backend: Backend, scene: str, most: int, tmp_path: Path) -> None:
    """While it is asked, waits, is decided or runs out, and while its run goes on: one answer, shown once."""
    async with stage(backend, tmp_path) as there:
        await prepare(there)
        sweep = Sweep(there, scene)
        points = list(await sweep.rehearse())
        asked = next(number for number, point in enumerate(points) if point.where == "run 1: ask people")
        chosen = sample(points[asked:], most)
        result = await sweep.kill_at(chosen)
        assert result.wrong == []
        assert result.kills == len(chosen)


_ON_AN_ISSUE = {
    "issue": [
        ("run 1: act: implement T2 2", "after"),
        ("on GitHub: POST git-receive-pack", "took effect"),
        ("on GitHub: POST pulls", "took effect"),
        ("run *: run the tests", "took effect"),
        ("run *: send it back", "took effect"),
        ("run *: mark it ready", "took effect"),
        ("run *: whose pull request it is", "took effect"),
    ],
    "planned": [
        ("run 1: ask people", "took effect"),
        ("delivery 2: approve", "took effect"),
        ("run 2: is it planned", "before"),
    ],
}
"""Where the most could be lost or happen twice."""


@pytest.mark.timeout(1_200)
@pytest.mark.deep
@pytest.mark.parametrize("scene", _ON_AN_ISSUE)
async def test_d1_killed_while_an_issue_is_carried_out(scene: str, tmp_path: Path) -> None:
    """One plan, one branch, one pull request, and each answer of the model paid for once."""
    async with stage("sqlite", tmp_path) as there:
        await prepare(there, SCENES[scene])
        sweep = Sweep(there, scene)
        await sweep.rehearse()
        result = await sweep.kill_at([Point(*where) for where in _ON_AN_ISSUE[scene]])
        assert result.wrong == []
        assert result.kills == len(_ON_AN_ISSUE[scene])


@pytest.mark.timeout(1_200)
@pytest.mark.parametrize("scene", ["superseded", "closed"])
async def test_d1_killed_while_a_write_of_a_run_that_was_ended_is_on_its_way(scene: str, tmp_path: Path) -> None:
    """The check of the older head does not stay open, whoever closed it before that write arrived."""
    async with stage("sqlite", tmp_path) as there:
        await prepare(there)
        points = await Sweep(there, "reviewed").rehearse()
        writes = [point for point in points if "on GitHub" in point.where and point.moment == "took effect"]
        result = await Sweep(there, scene).interrupt_at(writes, kill=True)
        assert result.wrong == []


async def test_g7_an_update_that_arrives_after_its_check_was_closed(tmp_path: Path) -> None:
    """GitHub applies a run's last update only after the newer run closed the check: it does not stay open."""
    async with stage("sqlite", tmp_path) as there:
        await prepare(there)
        late: list[RequestInfo] = []
        landed: list[RequestInfo] = []

        async def lose(request: RequestInfo, moment: Moment) -> None:
            if moment == "before" and not late and request.body.get("status") == "in_progress":
                late.append(request)
                raise Dropped

        class Late(Superseded):
            async def on_point(self, point: Point) -> None:
                await super().on_point(point)
                if late and not landed and point.where.startswith("run 1: "):
                    [check] = there.github.check_runs(self.repository, self.heads[0])
                    assert check.conclusion == "cancelled"
                    app = there.github.app
                    update(there.github.world, check, Actor(app.bot, app), late[0].body)
                    landed.append(late[0])

        there.github.on_write(lose)
        scene = Late(there, there.scenes)
        scene.at = Point("run 1 on GitHub: check in_progress", "before")
        await scene.play()
        assert landed
        assert await find_violations(there.github, there.database) == []


async def test_d3_two_executors_share_the_work(tmp_path: Path) -> None:
    async with stage("postgresql", tmp_path) as there:
        await prepare(there)
        await there.join("colleague")
        left = [await Superseded(there, there.scenes).play() for _ in range(4)]
        assert all(each == left[0] for each in left)
        assert await find_violations(there.github, there.database) == []


@pytest.mark.parametrize("where", ["delivery 1: first sign", "run 1: post the review"])
async def test_d3_a_lapsed_lease_is_recovered_by_the_other(where: str, tmp_path: Path) -> None:
    async with stage("postgresql", tmp_path) as there:
        await prepare(there)
        expected = await Scene(there, there.scenes).play()

        first = there.forge
        there.forge = ProcessSlot(
            replace(first.part, settings=first.part.settings.model_copy(update={"executor_id": "b"}))
        )
        there.clock.move(seconds=40)  # for whoever starts from now on the lease of the first has lapsed
        dies = at(Point(where, "took effect"))

        def first_dies(point: Point) -> bool:
            if dies(point):
                first.kill()
            return False

        assert await Scene(there, there.scenes).play(first_dies) == expected
        await first.wait_until_dead()
        assert await find_violations(there.github, there.database) == []


@pytest.mark.parametrize("backend", ["sqlite", "postgresql"])
async def test_d4_a_run_that_waits_is_finished_by_changed_code(backend: Backend, tmp_path: Path) -> None:
    async with stage(backend, tmp_path) as there:
        await prepare(there)
        expected = await Scene(there, there.scenes).play()

        there.github.faults.add(
            kind="before", method="PATCH", path="/check-runs/", skip=1, status=403, headers={"retry-after": "3600"}
        )
        scene = Scene(there, there.scenes)
        await scene.play()
        assert scene.collect_results() != expected
        there.forge.kill()
        there.forge.part = replace(there.forge.part, changed=True)
        there.clock.move(seconds=3700)
        await there.forge.wait_until_dead()
        await there.settle()
        assert scene.collect_results() == expected
        assert await find_violations(there.github, there.database) == []

        passed = [point.where for point in there.passed]
        assert "run 1: new, before post the review" not in passed  # it was past that when its code changed
        await Scene(there, there.scenes).play()
        assert "run 1: new, before post the review" in [point.where for point in there.passed]


async def test_d4_a_run_whose_journal_does_not_fit_its_code_ends(tmp_path: Path) -> None:
    """A step has another name without being patched in: whoever waits is told, and what is asked again is done."""
    clock, url = MovableClock(), create_database("sqlite", tmp_path)
    async with Simulator(tmp_path / "github", webhook_secret=SECRET, now=clock.now) as github:
        async with run_forge(github, clock, url, tmp_path) as story:
            repository, alice = story.repository({"app.py": "import os\n"})
            await alice.push(repository, "feature", {"app.py": "import os\n\nNAME = os.name + missing\n"}, base="main")
            wait = {"retry-after": "3600"}
            github.faults.add(kind="before", method="POST", path="/reviews$", status=403, headers=wait)
            pull = await alice.open_pull_request(repository, "feature")
            await story.settle()
            [run] = await story.runs()
            assert (run.state, run.reason) == ("waiting", "rate_limited")
        async with run_forge(github, clock, url, tmp_path, durable=_rename_step("run the checks")) as story:
            clock.move(minutes=61)
            await story.settle()
            [run] = await story.runs()
            assert (run.state, run.reason) == ("failed", "error")
            check = story.check(repository, pull.head_sha)
            assert (check.status, check.conclusion) == ("completed", "action_required")
            assert "cannot go on where this run was" in (check.summary or "")
            await alice.press(check, "review")
            await story.settle()
            assert story.check(repository, pull.head_sha).conclusion == "failure"
            assert len(story.comments(pull)) == 1


@pytest.mark.parametrize(
    ("said", "answered"),
    [
        ("/forge status", "Nothing has run here yet"),
        ("/forge pause", "Forge was updated while this comment waited for GitHub"),
    ],
)
async def test_d4_a_comment_whose_journal_does_not_fit_the_code_is_answered(
    said: str, answered: str, tmp_path: Path
) -> None:
    """What only shows is shown; what acts is not done twice, hours apart."""
    clock, url = MovableClock(), create_database("sqlite", tmp_path)
    async with Simulator(tmp_path / "github", webhook_secret=SECRET, now=clock.now) as github:
        async with run_forge(github, clock, url, tmp_path) as story:
            repository, alice = story.repository({"app.py": "import os\n"})
            github.grant(repository, alice, "admin")
            issue = await alice.open_issue(repository, "Prices")
            wait = {"retry-after": "3600"}
            github.faults.add(kind="before", method="POST", path="/comments$", status=403, headers=wait)
            await alice.comment(issue, said)
            await story.settle()
        async with run_forge(github, clock, url, tmp_path, durable=_rename_step("reply")) as story:
            services = story.forge.services
            if said == "/forge pause":  # somebody else ended it meanwhile
                await permits.unpause(
                    services.database, _get_repository(repository), Sender(id=1, login="ada"), clock.now()
                )
            clock.move(minutes=61)
            await story.settle()
            [answer] = story.answers(issue)
            assert answered in answer.body
            assert await permits.find_pauser(services.database, _get_repository(repository)) is None


async def test_d4_a_test_whose_journal_does_not_fit_the_code_is_done(tmp_path: Path) -> None:
    """It waits for the repository's own workflows; its check does not stay open."""
    clock, url = MovableClock(), create_database("sqlite", tmp_path)
    async with Simulator(tmp_path / "github", webhook_secret=SECRET, now=clock.now) as github:
        async with run_forge(github, clock, url, tmp_path) as story:
            repository, alice = story.repository({"app.py": "import os\n", **ACTIONS})
            pull, head = await story.propose(repository, alice, {"notes.md": "# Notes\n"})
            await alice.comment(pull, "/forge test")
            await story.settle()
            [check] = github.check_runs(repository, head, "Forge / test")
            assert check.status != "completed"
            assert first_lines(story.answers(pull)) == snapshot(
                ["Testing `SHA`; the check `Forge / test` shows the progress."]
            )
            assert first_lines(story.comments(pull)) == snapshot([])
        async with run_forge(github, clock, url, tmp_path, durable=_rename_step("run the tests")) as story:
            github.run_workflow(repository, head, "CI", {"test": ("success", "")})
            clock.move(minutes=2)
            await story.settle()
            [check] = github.check_runs(repository, head, "Forge / test")
            assert (check.status, check.conclusion) == ("completed", "success")
            assert first_lines(story.answers(pull)) == snapshot(
                ["Testing `SHA`; the check `Forge / test` shows the progress."]
            )
            assert first_lines(story.comments(pull)) == snapshot([])


def _rename_step(old: str) -> Durable:
    """Code whose step of this name has another one."""

    async def run_step(name: str, call: Call) -> dict[str, Any]:
        return await run_durable_step("look" if name == old else name, call)

    return run_step


def _get_repository(repository: Repository) -> RepositoryRef:
    return RepositoryRef(installation_id=1, id=repository.id, owner="octo-org", name=repository.name)
