"""Killed with SIGKILL in the middle of what it does, Forge does it once all the same, and tells it once."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import select

from domain.events import EventType
from domain.review.feedback import Word
from domain.runs.work_checkpoint import CheckpointCause
from memory import gates
from memory.db.tables.repositories import FeedbackRow, GateRow
from memory.db.tables.runs import AnswerRow, EventRow, RecoveryRow, WorkCheckpointRow
from memory.repositories import automation_level
from memory.runs import runs
from simulator.state import PullRequest, Repository
from tests.chaos.driver import ChaosStage, Point, stage
from tests.chaos.instructions import Instructed
from tests.chaos.issues import run_and_die
from tests.chaos.model import LESS, NAMELESS, SHOP, SLEEP, hang
from tests.chaos.scenes import PINNED, prepare
from tests.chaos.shadows import Delegated
from tests.chaos.sweep import SCENES, Sweep, at
from tests.invariants import find_violations
from tests.unit.sandbox.machine import is_gone
from tests.world import look_ups, summing_shop
from tests.world.automation import APP, TWO, git
from tests.world.command_line_agent import CART
from tests.world.waiting import until

PUSH = "on GitHub: POST git-receive-pack"
_FINDING = re.compile(r"F-[A-Z2-7]{6}")


# --- reviewing ----------------------------------------------------------------------------------------------------


@pytest.mark.deep
@pytest.mark.parametrize(
    ("where", "moment"),
    [
        (": run the earlier tests", "before"),
        (": run the earlier tests", "took effect"),
        (": post the earlier tests", "took effect"),
        (": post the earlier tests", "after"),
    ],
)
async def test_what_the_tests_of_before_say_is_told_once(where: str, moment: str, tmp_path: Path) -> None:
    async with stage("sqlite", tmp_path) as there:
        repository, alice = there.repository(summing_shop.FILES)
        await there.start()
        there.die_at(where, moment)
        pull = await there.propose(repository, alice, summing_shop.HIDES)
        assert there.kills == 1
        [_] = [each for each in there.github.review_comments(pull) if summing_shop.NAME in each.body]
        [check] = there.github.check_runs(repository, pull.head_sha, "Forge / review")
        assert check.conclusion == "action_required"
        assert f"**The change removes `{summing_shop.NAME}`" in (check.summary or "")
        [_] = [each for each in there.answers(pull) if each.body.startswith("**Forge asks: destructive**")]


@pytest.mark.deep
@pytest.mark.parametrize(
    ("where", "moment"),
    [
        (": ask: model review 1 of 1 2$", "took effect"),
        (": act: model review 1 of 1 1$", "before"),
        (": act: model review 1 of 1 1$", "took effect"),
        (": act: model review 1 of 1 2$", "after"),
    ],
)
async def test_each_turn_of_looking_up_is_asked_for_once(where: str, moment: str, tmp_path: Path) -> None:
    async with stage("sqlite", tmp_path) as there:
        there.forge.part = replace(there.forge.part, risk="low")
        repository, alice = there.repository(look_ups.UNCHANGED)
        await there.start()
        there.die_at(where, moment)
        pull = await there.propose(repository, alice, look_ups.LARGE)
        assert there.kills == 1
        assert [there.count_passed(f"ask: model review 1 of 1 {turn}, the model") for turn in (1, 2, 3)] == [1, 1, 1]
        assert there.count_passed("ask: model review 1 of 1 4, the model") == 0
        [comment] = there.github.review_comments(pull)
        assert (comment.path, comment.line) == ("shop/till.py", 1)
        [check] = there.github.check_runs(repository, pull.head_sha, "Forge / review")
        assert check.conclusion == "failure"
        assert "in 2 messages with " in (check.summary or "")


@pytest.mark.deep
@pytest.mark.parametrize(
    ("where", "moment"),
    [
        (": find out what can be run$", "after"),
        (": ask: model proof 1$", "took effect"),
        (": run the test for a finding 1$", "before"),
        (": run the test for a finding 1$", "took effect"),
    ],
)
async def test_the_test_of_a_finding_is_asked_for_and_told_once(where: str, moment: str, tmp_path: Path) -> None:
    async with stage("sqlite", tmp_path) as there:
        there.forge.part = replace(there.forge.part, risk="low")
        repository, alice = there.repository({**SHOP, ".github/forge.yml": "review: {proof_seconds: 600}\n"})
        await there.start()
        there.die_at(where, moment)
        pull = await there.propose(repository, alice, LESS)
        assert there.kills == 1
        assert there.count_passed("ask: model proof 1, the model") == 1
        [comment] = there.github.review_comments(pull)
        assert "**Shown by running**" in comment.body
        [check] = there.github.check_runs(repository, pull.head_sha, "Forge / review")
        assert check.conclusion == "failure"
        assert "1 finding shown by running" in (check.summary or "")


@pytest.mark.parametrize(
    ("where", "moment"),
    [
        pytest.param("look at it$", "took effect", marks=pytest.mark.deep),
        pytest.param("on GitHub: POST issues$", "took effect", marks=pytest.mark.deep),
        ("welcome it$", "took effect"),
    ],
)
async def test_it_introduces_itself_once(where: str, moment: str, tmp_path: Path) -> None:
    async with stage("sqlite", tmp_path) as there:
        settings = there.forge.part.settings.model_copy(update={"welcome": True})
        there.forge.part = replace(there.forge.part, settings=settings)
        await there.start()
        there.die_at(where, moment)
        repository, _ = there.repository({"app.py": "x = 1\n"})
        await there.settle()
        assert there.kills == 1, there.passed
        mine = [each for each in repository.issues.values() if each.user is there.github.app.bot]
        assert [each.title for each in mine] == ["Forge works here now"]


# --- what people say of findings ------------------------------------------------------------------------------------

TEST = "def test_north():\n    assert 'north'.isalpha()\n"
GATED = {".github/forge.yml": "avoidance: {test_skipped: gate}\n", "tests/test_a.py": TEST, "a.py": "A = 1\n"}
SKIPPED = f"import pytest\n\n\n@pytest.mark.skip\n{TEST}"


@pytest.mark.deep
@pytest.mark.parametrize("moment", ["before", "took effect"])
@pytest.mark.parametrize(
    ("words", "disputed"),
    [
        ("dismiss F-ID it moved", False),
        ("dismiss F-ID it moved", True),
        ("confirm F-ID it matters", True),
        ("dismiss F-ID file: no winter, no north", False),
        ("reject false_positive it matters", True),
    ],
)
async def test_what_is_said_of_a_finding_is_kept_once(words: str, disputed: bool, moment: str, tmp_path: Path) -> None:
    async with stage("sqlite", tmp_path) as there:
        repository, alice = there.repository(GATED)
        carol = there.github.user("carol")
        there.github.grant(repository, carol, "maintain")
        await there.start()
        pull = await there.propose(repository, alice, {"tests/test_a.py": SKIPPED})
        [check] = there.github.check_runs(repository, pull.head_sha, "Forge / review")
        [name] = set(_FINDING.findall(check.summary or ""))
        if disputed:
            await alice.comment(pull, f"/forge dismiss {name} it is tested elsewhere")
            await there.settle()
        said = len(there.answers(pull))
        there.clock.move(seconds=2)
        there.die_at(f": {words.split()[0]}$", moment)
        await carol.comment(pull, f"/forge {words.replace('F-ID', name)}")
        await there.settle()
        assert there.kills == 1
        is_right = words.startswith(("confirm", "reject"))
        check = there.github.check_runs(repository, pull.head_sha, "Forge / review")[-1]
        let = "success" if disputed else "neutral"  # who dismisses without a gate has not read the change
        assert check.conclusion == ("failure" if is_right else let)
        said_before = [Word.disputed] if disputed else []
        async with there.database.transaction() as session:
            kept = (await session.scalars(select(FeedbackRow).order_by(FeedbackRow.id))).all()
            assert [each.word for each in kept] == [*said_before, Word.confirmed if is_right else Word.dismissed]
            assert kept[-1].scope == ("file" if "file:" in words else "")
        asked = await gates.list_for_pull_request(there.database, repository.id, pull.number)
        [decided] = [each.state for each in asked if each.name == "false_positive"] or [""]
        assert decided == ("" if not disputed else "rejected" if is_right else "approved")
        assert len(there.answers(pull)) == said + 1


# --- what people ask for on a pull request --------------------------------------------------------------------------

_ALONE = {"updated": (Point("run 1: ask: resolve 1", "took effect"), Point("run 1: test the merge", "before"))}
"""Points that are no writes on GitHub, where the most could be lost."""


async def test_a_commit_that_was_asked_for_is_pushed_once(tmp_path: Path) -> None:
    """Killed when GitHub has the push and nobody has heard of it."""
    async with stage("sqlite", tmp_path) as there:
        await prepare(there, Instructed)
        scene = Instructed(there, 0)
        left = await scene.play(at(Point(PUSH, "took effect")))
        assert there.kills == 1
        assert [message.partition("\n")[0] for *_, message in left["commits"]] == ["Take a discount off"]
        [answer] = left["answers"]
        assert "SHA is on `feature`." in answer
        assert not await find_violations(there.github, there.database)


@pytest.mark.deep
@pytest.mark.timeout(3_600)
@pytest.mark.parametrize("scene", ["instructed", "mended", "left to chance", "updated"])
async def test_killed_at_each_write(scene: str, tmp_path: Path) -> None:
    """Before GitHub has it, and when nobody has heard of it: the same end, nothing twice."""
    async with stage("sqlite", tmp_path) as there:
        await prepare(there, SCENES[scene])
        sweep = Sweep(there, scene)
        points = await sweep.rehearse()
        writes = [each for each in points if each.where.startswith("on GitHub")]  # those of the review come behind
        result = await sweep.kill_at([*writes, *_ALONE.get(scene, ())])
        assert result.wrong == []
        assert result.missed == []


@pytest.mark.deep
@pytest.mark.parametrize("where", [": ask: mend 1", PUSH])
async def test_a_fix_that_was_asked_for_is_committed_and_answered_once(where: str, tmp_path: Path) -> None:
    async with stage("sqlite", tmp_path) as there:
        there.forge.part = replace(there.forge.part, risk="low")  # its model fixes it
        repository, alice = there.repository({"app.py": "import os\n", ".github/forge.yml": PINNED})
        await there.start()
        pull = await there.propose(repository, alice, {"app.py": NAMELESS})
        [comment], head = there.github.review_comments(pull), pull.head_sha
        there.die_at(where, "took effect")
        await alice.reply(comment, f"/forge fix {_FINDING.findall(comment.body)[0]}")
        await there.settle()
        assert there.kills == 1
        [made] = repository.git.commits_between(head, pull.head_sha)
        [said] = [each.body for each in comment.thread.comments if each.user is there.github.app.bot][1:]
        assert made.sha in said


# --- what it does unasked -------------------------------------------------------------------------------------------


async def act_and_die(
    there: ChaosStage, level: int, content: str, where: str, *, queue: bool = False
) -> tuple[Repository, PullRequest, str]:
    """A pull request is opened at a level, its one required check is green, and Forge dies at a point, once."""
    repository, alice = there.repository({"app.py": APP, "README.md": "# Shop\n"})
    there.github.protect(repository, "main", ["ci"], queue=queue)
    await there.start()
    await automation_level.set_level(there.database, repository.id, level, "carol", "the beginning", there.clock.now())

    def dies(point: Point) -> bool:
        # What a kill here cuts off is taken up by the sweep when its moment has come.
        if there.kills or not (point.where.endswith(where) and point.moment == "took effect"):
            return False
        there.clock.move(seconds=31)
        return True

    head = await alice.push(repository, "feature", {"app.py": content}, base="main")
    there.github.report_check(repository, head, "ci", "success")
    there.begin(None, dies)
    pull = await alice.open_pull_request(repository, "feature")
    await there.settle()
    return repository, pull, head


async def acts(there: ChaosStage) -> list[str]:
    latest = await runs.list_latest(there.database)
    return [each["act"] for run in latest for each in await automation_level.list_actions(there.database, run.id)]


async def until_recorded(there: ChaosStage, act: str) -> None:
    async def is_recorded() -> bool:
        return act in await acts(there)

    await until(is_recorded)
    await there.settle()


@pytest.mark.deep
@pytest.mark.parametrize("where", [": finish", PUSH, ": push the fix"])
async def test_a_fix_that_nobody_asked_for_is_pushed_once(where: str, tmp_path: Path) -> None:
    async with stage("sqlite", tmp_path) as there:
        repository, pull, head = await act_and_die(there, 2, TWO, where)
        await until_recorded(there, "auto_fix")
        assert there.kills == 1
        assert git(repository, "rev-list", "--count", f"{head}..{pull.head_sha}") == "1"
        assert repository.git.read(pull.head_sha, "app.py") == APP.encode()
        assert (await acts(there)).count("auto_fix") == 1


@pytest.mark.deep
@pytest.mark.parametrize(
    ("where", "queue"),
    [
        ("on GitHub: POST comments", False),
        ("on GitHub: PUT merge", False),
        ("on GitHub: enqueuePullRequest", True),
    ],
)
async def test_a_merge_is_told_and_recorded_once(where: str, queue: bool, tmp_path: Path) -> None:
    async with stage("sqlite", tmp_path) as there:
        there.forge.part = replace(there.forge.part, risk="low")  # a model reads it: what nobody read is not merged
        _, pull, _ = await act_and_die(there, 4, APP + "# The end.\n", where, queue=queue)
        await until_recorded(there, "auto_merge")
        assert there.kills == 1
        assert (pull.merged_at is None, pull.queued_head is not None) == (queue, queue)
        assert sorted(await acts(there)) == ["auto_approve", "auto_merge"]
        [_] = [each for each in there.github.reviews(pull) if each.state == "APPROVED"]
        [told] = [each.body for each in there.answers(pull) if each.body.startswith("**Forge ")]
        assert told.startswith("**Forge put**" if queue else "**Forge merged**")


# --- carrying out an issue ------------------------------------------------------------------------------------------

GENERATE = """\
import uuid
made = uuid.uuid4().hex
open("shop/made.py", "w").write(f"MADE = '{made}'\\n")
print(made)
"""
GENERATING = {
    **SHOP,
    ".github/forge.yml": "execution: {mode: interactive, commands: ['python3 tools/*']}\n",
    "tools/generate.py": GENERATE,
}


@pytest.mark.deep
@pytest.mark.parametrize(
    ("where", "moment", "most"),
    [
        (": act: implement T1 2", "after", 1),
        (": ask: implement T1 3", "took effect", 1),
        (": act: implement T1 2", "took effect", 2),  # nobody knows that it ended, so it runs again
    ],
)
async def test_a_command_runs_once(where: str, moment: str, most: int, tmp_path: Path) -> None:
    """It goes on with what the command made."""
    async with stage("sqlite", tmp_path) as there:
        there.forge.part = replace(there.forge.part, risk="low", runs="python3 tools/generate.py")
        repository, _, _ = await run_and_die(there, GENERATING, where, moment)
        assert there.kills == 1
        [pull] = repository.pulls()
        made = (repository.git.read(pull.head_sha, "shop/made.py") or b"").decode()
        async with there.database.transaction() as session:
            kept = [each.value for each in await session.scalars(select(AnswerRow))]
            ran = (await session.scalars(select(EventRow).where(EventRow.source == "run_command"))).all()
        [shown] = [text for value in kept for text in value.get("results", ()) if "exit status 0" in text]
        assert made.split("'")[1] in shown
        assert {each.type for each in ran} == {EventType.tool_executed.value}
        assert 1 <= len(ran) <= most


@pytest.mark.deep
@pytest.mark.parametrize("moment", ["before", "took effect", "after"])
@pytest.mark.parametrize(
    "where",
    [
        ": look for what is hidden",
        ": ask: recovery 1 of implement T1 1",
        ": ask how to recover",
        ": keep how to recover",
        ": ask: recovery 2 of implement T1 1",
    ],
)
async def test_an_attempt_to_recover_counts_once(where: str, moment: str, tmp_path: Path) -> None:
    async with stage("sqlite", tmp_path) as there:
        there.forge.part = replace(there.forge.part, risk="low", hides=True)
        repository, alice, issue = await run_and_die(there, SHOP, where, moment)
        await alice.comment(issue, "/forge approve recovery with: let the test count")
        await there.settle()
        assert there.kills == 1
        async with there.database.transaction() as session:
            rows = [*await session.scalars(select(RecoveryRow).order_by(RecoveryRow.id))]
            asked = [*await session.scalars(select(GateRow.name))]
        assert [(row.tried, row.strategy, row.outcome) for row in rows] == [
            ("implement T1", "cause", "hidden"),
            ("recovery 1 of implement T1", "guided", "escalated"),
        ]
        assert asked.count("recovery") == 1
        [pull] = repository.pulls()
        assert repository.git.read(pull.head_sha, "tests/test_cart.py") == SHOP["tests/test_cart.py"].encode()


class Hanging(Delegated):
    """The agent hangs in its first task."""

    delegate = staticmethod(hang)


@pytest.mark.deep
async def test_x9_killed_while_an_agent_of_another_make_works(tmp_path: Path) -> None:
    """None is left behind, and it goes on from the last checkpoint."""
    async with stage("sqlite", tmp_path) as there:

        async def list_causes() -> list[str]:
            async with there.database.transaction() as session:
                query = select(WorkCheckpointRow.cause).order_by(WorkCheckpointRow.work, WorkCheckpointRow.number)
                return [*await session.scalars(query)]

        async def is_kept() -> bool:
            return bool(await list_causes())

        await prepare(there, Hanging)
        scene = Hanging(there, there.scenes)
        there.begin(scene.on_point, lambda _: False)
        scene.issue = await scene.alice.open_issue(scene.repository, "Discounts", "Customers want a discount.")
        await scene.ask(scene.issue)
        await until(is_kept)
        there.forge.kill()
        assert await is_gone(f"sleep {SLEEP}")
        await there.settle()
        done = CheckpointCause.done.value
        assert await list_causes() == [CheckpointCause.changes.value, done, done]
        assert scene.repository.git.read(scene.pull.head_sha, "shop/cart.py") == CART.encode()
