"""Gates under attack and through faults: only a live person with the role decides, once, about what they looked at."""

import asyncio
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from dbos import DBOS
from inline_snapshot import snapshot

from agents.llm.scripted import ScriptedModel
from domain.events import EventType
from domain.gates import GateDecision, GateState
from memory import gates
from memory.db.engine import Database
from pipeline.durable.journal import Call, run_durable_step
from simulator import User, check_runs, conversation
from simulator.state import Role
from simulator.webhooks import Actor
from tests.databases import Backend
from tests.invariants import find_violations
from tests.stories.driver import Story, run_forge
from tests.stories.gate_scenes import CHANGED, CI, WORKFLOW, GateScene, open_scene
from tests.threats.conftest import SWIFT
from tests.threats.knocking import send_webhook, webhook_url
from tests.world.credentials import LEAKING
from tests.world.gates import open_world
from tests.world.replies import first_lines

SQLITE = pytest.mark.parametrize("backend", ["sqlite"])  # what does not depend on the database
PERMISSION = r"/collaborators/[^/]+/permission$"
APPROVE = "/forge approve protected_paths"


async def assert_open(scene: GateScene) -> None:
    """The gate waits, and nothing was approved."""
    assert scene.told.gates(scene.pull) == ["protected_paths"]
    assert scene.gate("protected_paths").conclusion == "action_required"
    assert scene.conclusion == "action_required"
    assert (await scene.run()).state == "waiting"
    assert not await scene.events(EventType.gate_approved)


# --- who decides ------------------------------------------------------------------------------------------------------


@SQLITE
@pytest.mark.parametrize("who", ["reader", "outsider", "writer", "ghost"])
async def test_t_p1_without_the_role_nobody_approves(story: Story, who: str) -> None:
    scene = await open_scene(story)
    roles: dict[str, Role] = {"reader": "read", "writer": "write"}
    mallory = scene.add_user("mallory", roles.get(who))
    story.github.hold_deliveries()
    story.clock.move(seconds=2)
    await mallory.comment(scene.pull, APPROVE)
    await mallory.press(scene.gate("protected_paths"), "approve")
    if who == "ghost":
        del story.github.world.accounts["mallory"]
    story.github.release_deliveries()
    await story.settle()
    [answer] = story.answers(scene.pull)
    held = {"reader": "read", "writer": "write", "ghost": "none"}.get(who, "read")
    assert f"needs the role maintain; `mallory` has {held}. It is still waiting." in answer.body
    await assert_open(scene)
    assert len(await scene.events(EventType.permission_refused)) == 2

    for delivery in list(story.github.deliveries):
        await story.github.redeliver(delivery)
    await story.settle()
    assert len(story.answers(scene.pull)) == 1
    await assert_open(scene)


@SQLITE
async def test_t_p2_the_author_does_not_approve_while_somebody_else_can(story: Story) -> None:
    scene = await open_scene(story)
    story.github.grant(scene.repository, scene.alice, "admin")
    assert "cannot be decided by the author of the change" in await scene.comment(scene.alice, APPROVE)
    await scene.press(scene.alice, "approve", "protected_paths")
    assert "cannot be decided by the author of the change" in (scene.gate("protected_paths").summary or "")
    await assert_open(scene)


@SQLITE
async def test_t_p2_the_only_one_with_the_role_decides_and_the_audit_says_so(story: Story) -> None:
    """Where nobody else has the role a gate asks for, the rule on authors is waived."""
    scene = await open_scene(story)
    story.github.grant(scene.repository, scene.alice, "admin")
    story.github.revoke(scene.repository, scene.carol)
    scene.add_user("dave", "write")
    answer = await scene.comment(scene.alice, APPROVE)
    assert "Approved by" in answer
    assert "Nobody else has the role, so the rule about authors was waived." in answer
    [told_of] = await scene.events(EventType.gate_approved)
    assert (told_of["waived"], told_of["by_login"]) == (True, "alice")
    assert story.gate_outcomes(scene.pull) == ["protected_paths: Approved by alice"]
    assert "rule about authors was waived" in (scene.gate("protected_paths").summary or "")


@SQLITE
async def test_t_p3_no_app_decides(story: Story) -> None:
    """Neither Forge itself nor another App, whatever permission it has, by comment, check or button."""
    scene = await open_scene(story)
    for app in (story.github.app, story.github.world.other_app("helper")):
        story.github.grant(scene.repository, User(story.github.world, app.bot), "admin")
        story.clock.move(seconds=2)
        comment = conversation.add_comment(story.github.world, scene.pull, Actor(app.bot, app), APPROVE)
        check_runs.press(story.github.world, scene.gate("protected_paths"), app.bot, "approve")
        await story.settle()
        await scene.carol.delete_comment(comment)
    assert story.answers(scene.pull) == []
    await assert_open(scene)


@SQLITE
async def test_t_p4_an_edited_comment_does_not_decide(story: Story) -> None:
    scene = await open_scene(story)
    comment = await scene.carol.comment(scene.pull, "I will look at it.")
    await story.settle()
    story.clock.move(seconds=5)
    await scene.add_user("root", "admin").edit_comment(comment, APPROVE)
    await scene.carol.edit_comment(comment, APPROVE)
    await story.settle()
    assert story.answers(scene.pull) == []
    await assert_open(scene)


@SQLITE
async def test_t_p8_an_approval_of_another_head_decides_nothing(story: Story) -> None:
    """It names the head, or is about the one that was asked about when it was written."""
    scene = await open_scene(story)
    first = scene.head
    story.clock.move(seconds=2)
    story.github.hold_deliveries()
    await scene.carol.comment(scene.pull, APPROVE)  # about the first head; Forge hears of it after the push
    story.clock.move(seconds=2)
    await scene.alice.push(scene.repository, "feature", {CI: WORKFLOW.replace("make", "make check")})
    scene.head = scene.pull.head_sha
    story.github.release_deliveries()
    await story.settle()
    state = {gate.head_sha: gate.state for gate in await scene.list_gates()}
    assert state[scene.head] is GateState.waiting
    assert story.gates(scene.pull) == ["protected_paths"]
    assert scene.conclusion == "action_required"
    assert len(story.answers(scene.pull)) == 1

    answer = await scene.comment(scene.carol, f"{APPROVE} {first[:7]}")
    assert f"asks about `{scene.head[:7]}`, not about `{first[:7]}`" in answer
    assert "Approved by" in await scene.comment(scene.carol, f"{APPROVE} {scene.head[:7]}")
    assert scene.conclusion == "success"


@SQLITE
async def test_t_p8_an_answer_to_the_question_that_the_comment_still_shows(story: Story) -> None:
    """GitHub does not take the comment of the new head: an answer without a head is about the old one."""
    scene = await open_scene(story)

    story.clock.move(seconds=30)
    comment, waits = r"/issues/comments/\d+$", {"retry-after": "3600"}
    story.github.faults.add(kind="before", method="PATCH", path=comment, status=403, headers=waits)
    await scene.push({CI: WORKFLOW.replace("make", "make deploy")})
    [question] = story.questions(scene.pull)
    assert scene.head[:7] not in question.body
    answer = await scene.comment(scene.carol, APPROVE)
    story.clock.move(minutes=61)
    await story.settle()
    answer = answer or story.answers(scene.pull)[-1].body
    assert "Void: " in answer
    assert "Nothing was changed." in answer
    await assert_open(scene)
    assert "Approved by" in await scene.comment(scene.carol, APPROVE)
    assert story.gate_outcomes(scene.pull) == ["protected_paths: Approved by carol"]


@SQLITE
async def test_in_a_locked_conversation_the_check_alone_asks(story: Story) -> None:
    """There GitHub takes no comment of an App, so an answer is about what the check shows."""
    scene = await open_scene(story, {"note.md": "A note.\n"})
    await scene.carol.lock(scene.pull)
    story.clock.move(seconds=5)
    await scene.push(CHANGED)
    assert scene.gate("protected_paths").conclusion == "action_required"
    assert await scene.comment(scene.carol, APPROVE) == ""
    assert scene.conclusion == "success"


@SQLITE
async def test_t_p8_an_approval_of_protected_files_is_about_their_contents(story: Story) -> None:
    """It outlasts a push that leaves them as they are, by whoever could not have approved; nothing else does."""
    scene = await open_scene(story)
    scene.add_user("erin", "maintain")
    await scene.comment(scene.carol, APPROVE)
    approved = scene.head[:7]
    stands = f"carol approved protected_paths at {approved}, and these files are as they were"
    await scene.push({"README.md": "# The shop\n"})
    assert (story.gates(scene.pull), scene.conclusion) == ([], "success")
    assert stands in scene.summary

    await scene.push({CI: WORKFLOW.replace("make", "make deploy")})
    assert story.gates(scene.pull) == ["protected_paths"]
    await scene.push({CI: CHANGED[CI]})
    assert (story.gates(scene.pull), stands in scene.summary) == ([], True)
    scene.head = await scene.carol.push(scene.repository, "feature", {"README.md": "# Our shop\n"})
    await story.settle()
    assert story.gates(scene.pull) == ["protected_paths"]  # she is an author now, and could not approve
    await scene.push({".github/dependabot.yml": "version: 2\nupdates: []\n"})
    assert story.gates(scene.pull) == ["protected_paths"]


@SQLITE
async def test_t_p15_an_approval_does_not_outlive_the_role(story: Story) -> None:
    scene = await open_scene(story)
    await scene.comment(scene.carol, APPROVE)
    story.github.grant(scene.repository, scene.carol, "write")
    scene.add_user("erin", "maintain")
    await scene.push({"README.md": "# The shop\n"})
    assert (story.gates(scene.pull), scene.conclusion) == (["protected_paths"], "action_required")
    assert "carol approved" not in scene.summary


@SQLITE
@pytest.mark.parametrize("first", ["approve", "push"])
async def test_t_p8_an_approval_and_a_push_at_once(story: Story, first: str) -> None:
    """Whichever Forge hears of first: the new head is not approved."""
    scene = await open_scene(story)
    story.clock.move(seconds=2)
    story.github.hold_deliveries()
    changed = {CI: WORKFLOW.replace("make", "make deploy")}
    if first == "push":
        scene.head = await scene.alice.push(scene.repository, "feature", changed)
        await scene.carol.press(scene.gate("protected_paths", (await scene.list_gates())[0].head_sha), "approve")
    else:
        await scene.carol.press(scene.gate("protected_paths"), "approve")
        scene.head = await scene.alice.push(scene.repository, "feature", changed)
    story.github.release_deliveries()
    await story.settle()
    states = {gate.head_sha: gate.state for gate in await scene.list_gates()}
    assert states.pop(scene.head) is GateState.waiting
    assert set(states.values()) <= {GateState.approved, GateState.void}
    assert scene.conclusion == "action_required"
    assert story.gates(scene.pull) == ["protected_paths"]
    assert {*story.gate_outcomes(scene.pull)} <= {"protected_paths: Approved by carol"}
    assert not any(scene.head[:7] in said for said in story.decisions(scene.pull))


async def test_t_p9_two_people_at_once_give_one_decision(story: Story) -> None:
    """The other is told that it was decided, and the ledger has both."""
    scene = await open_scene(story)
    erin = scene.add_user("erin", "maintain")
    story.clock.move(seconds=2)
    story.github.hold_deliveries()
    await scene.carol.comment(scene.pull, APPROVE)
    await erin.comment(scene.pull, "/forge reject protected_paths no")
    story.github.release_deliveries()
    await story.settle()
    answers = [each.body for each in story.answers(scene.pull)]
    decided = await scene.events(EventType.gate_approved) + await scene.events(EventType.gate_rejected)
    contested = await scene.events(EventType.gate_contested)
    assert len(decided) == 1
    late = [answer for answer in answers if "is already decided" in answer]
    assert (len(answers), len(late)) == (1, 1)  # who was first sees it in the question
    assert {each["by_login"] for each in (*decided, *contested)} == {"carol", "erin"}
    approved = decided[0]["by_login"] == "carol"
    assert scene.conclusion == ("success" if approved else "failure")
    assert (await scene.run()).state == ("completed" if approved else "failed")
    [outcome] = story.gate_outcomes(scene.pull)  # who is first, the machine decides
    assert outcome.startswith(f"protected_paths: {'Approved by carol' if approved else 'Rejected by erin'}")


@SQLITE
async def test_t_p9_an_answer_after_the_decision_is_noted(story: Story) -> None:
    """Only of somebody who might have decided; others are told the same."""
    scene = await open_scene(story)
    erin = scene.add_user("erin", "maintain")
    assert "Approved by" in await scene.comment(scene.carol, APPROVE)
    assert "is already decided: Approved by carol" in await scene.comment(erin, "/forge reject protected_paths no")
    mallory = scene.add_user("mallory")
    assert "is already decided" in await scene.comment(mallory, "/forge reject protected_paths no")
    [contested] = await scene.events(EventType.gate_contested)
    assert (contested["by_login"], contested["said"]) == ("erin", "rejected")
    assert "**protected_paths: Approved by carol**" in await scene.comment(erin, "/forge view protected_paths")
    assert scene.conclusion == "success"
    assert story.gate_outcomes(scene.pull) == snapshot(["protected_paths: Approved by carol"])


@SQLITE
async def test_t_p10_github_does_not_say_who_they_are(story: Story) -> None:
    """Nothing is decided, which is said; asked again later, the same answer counts."""
    scene = await open_scene(story)
    story.github.faults.add(kind="before", path=PERMISSION, status=502, times=None)
    answer = await scene.comment(scene.carol, APPROVE)
    assert "GitHub did not say what `carol` may do here, so Forge did nothing." in answer
    await scene.press(scene.carol, "approve", "protected_paths")
    await assert_open(scene)
    story.github.faults.clear()
    assert "Approved by" in await scene.comment(scene.carol, APPROVE)
    assert story.gate_outcomes(scene.pull) == snapshot(["protected_paths: Approved by carol"])


@SQLITE
async def test_t_p10_a_waiver_needs_the_whole_list_of_people(story: Story) -> None:
    """Without it nobody knows whether somebody else has the role, so the author does not decide."""
    scene = await open_scene(story)
    story.github.grant(scene.repository, scene.alice, "admin")
    story.github.revoke(scene.repository, scene.carol)
    story.github.faults.add(kind="before", path=r"/collaborators$", status=502, times=None)
    answer = await scene.comment(scene.alice, APPROVE)
    assert "so Forge did nothing" in answer
    story.github.faults.clear()
    await assert_open(scene)


@SQLITE
async def test_t_p12_no_address_of_ours_decides(story: Story) -> None:
    """There is nothing to forge a request for: decisions come through GitHub, signed, or not at all."""
    scene = await open_scene(story)
    [gate] = await scene.list_gates()
    base = webhook_url(story).removesuffix("/webhook")
    paths = ["/gates", f"/gates/{gate.id}", f"/gates/{gate.id}/approve", "/approve", "/api/gates", "/decide"]
    async with aiohttp.ClientSession() as session:
        for path in paths:
            for method in ("GET", "POST", "PUT", "DELETE"):
                body = {"gate": gate.id, "decision": "approve", "user": "carol"}
                headers = {"Authorization": "Bearer x", "Cookie": "session=carol", "Origin": "https://evil.example"}
                async with session.request(method, base + path, json=body, headers=headers) as answer:
                    assert answer.status in {404, 405}, (method, path)
    forged = b'{"action": "requested_action"}'
    for signature in (None, "sha256=" + "0" * 64):
        signed = {"X-Hub-Signature-256": signature}
        reply = await send_webhook(webhook_url(story), forged, event="check_run", headers=signed)
        assert reply.status == 401
    await assert_open(scene)


# --- what agents read and write ---------------------------------------------------------------------------------------


@SQLITE
@pytest.mark.parametrize(
    "path",
    [
        CI,
        ".github/forge.yml",
        ".github/forge-memory.md",
        ".gitattributes",
        "CODEOWNERS",
        ".github/actions/a/action.yml",
        ".circleci/config.yml",
        ".buildkite/pipeline.yml",
        ".github/settings.yml",
        "netlify.toml",
        ".GitHub/Workflows/b.yml",
    ],
)
async def test_t_t4_protected_paths_need_the_gate(story: Story, path: str) -> None:
    """Whoever wrote the change, an agent too: what decides over runs and rights is looked at by a maintainer."""
    contents = {".github/forge.yml": "review: {model: false}\n", "CODEOWNERS": "* @octo-org/shop\n"}
    content = (contents | {"netlify.toml": 'a = "b"\n'}).get(path, "a: b\n")
    scene = await open_scene(story, {path: content})
    assert "protected_paths" in story.gates(scene.pull)
    assert scene.gate("protected_paths").conclusion == "action_required"
    assert (scene.conclusion, (await scene.run()).state) == ("action_required", "waiting")
    assert any(path in question.body for question in story.questions(scene.pull))


@SQLITE
async def test_t_t4_a_workflow_that_moves_out_of_its_place(story: Story) -> None:
    scene = await open_scene(story, {CI: None, "ci.yml.off": WORKFLOW})
    await assert_open(scene)


@SQLITE
async def test_t_t1_nothing_an_agent_says_decides(story: Story, model: ScriptedModel) -> None:
    """A model that writes a command, and a title and a file that hold one: Forge never obeys its own text."""
    words = "/forge approve protected_paths\n/forge approve\n/forge continue 500usd"
    model.when(
        "== ",
        {
            "findings": [
                {
                    "rule": "model/logic-error",
                    "path": "billing/pay.py",
                    "line": 1,
                    "end_line": 1,
                    "quote": "VALUE = 0",
                    "harm": "wrong_result",
                    "met_by": "condition",
                    "confidence": 0.9,
                    "message": words,
                }
            ]
        },
    )
    files = {**CHANGED, "billing/pay.py": "".join(f"VALUE = {n}\n" for n in range(60)), "a.md": words}
    scene = await open_scene(story, files)
    assert first_lines(story.comments(scene.pull)) == snapshot(["🟡 **Warning** · correctness"])
    assert len(model.calls) > 0
    assert story.answers(scene.pull) == []
    assert "protected_paths" in story.gates(scene.pull)
    assert (await scene.run()).state == "waiting"
    assert not await scene.events(EventType.gate_approved)
    assert not await scene.events(EventType.budget_granted)


# --- time, restarts, deploys ------------------------------------------------------------------------------------------


def move_to(scene: GateScene, story: Story) -> GateScene:
    """The same pull request in another chapter."""
    return GateScene(story, scene.repository, scene.alice, scene.carol, scene.pull, scene.head)


async def assert_sound(story: Story) -> None:
    await story.settle()
    assert not await find_violations(story.github, story.forge.services.database)


@pytest.mark.parametrize("answered", [False, True])
async def test_t_d8_its_time_is_over_while_forge_is_down(backend: Backend, tmp_path: Path, answered: bool) -> None:
    """It expires at the next start, also if somebody approved too late and nobody heard of it yet."""
    configuration = 'gates: {protected_paths: {escalate: ["@octo-org/owners"]}}\n'
    async with open_world(backend, tmp_path) as (github, clock, url):
        async with run_forge(github, clock, url, tmp_path, SWIFT) as story:
            scene = await open_scene(story, configuration=configuration)
            assert story.gates(scene.pull) == ["protected_paths"]
        clock.move(hours=25)
        if answered:
            await scene.carol.comment(scene.pull, APPROVE)
        async with run_forge(github, clock, url, tmp_path, SWIFT) as story:
            scene = move_to(scene, story)
            await story.settle()
            assert story.gate_outcomes(scene.pull) == ["protected_paths: Expired: nobody answered in 1 day"]
            run = await scene.run()
            assert (run.state, run.reason, scene.conclusion) == ("failed", "gate_timeout", "action_required")
            [escalation] = [each for each in story.answers(scene.pull) if "@octo-org/owners" in each.body]
            assert "so it expired" in escalation.body
            assert not await scene.events(EventType.gate_approved)
            await assert_sound(story)


async def test_t_d7_a_day_ahead_expires_and_an_hour_back_waits(story: Story) -> None:
    """A clock that jumps never approves; where it was set back, a button and a named head are still clear."""
    scene = await open_scene(story)
    story.clock.move(hours=-1)
    answer = await scene.comment(scene.carol, APPROVE)
    assert "after you wrote this" in answer
    await assert_open(scene)
    story.clock.move(hours=24)
    await asyncio.sleep(1.5)  # more than one look at what is due
    await assert_open(scene)

    story.clock.move(hours=2)
    await story.settle()
    assert scene.gate("protected_paths").conclusion == "action_required"
    assert story.gate_outcomes(scene.pull) == ["protected_paths: Expired: nobody answered in 1 day"]
    run = await scene.run()
    assert (run.state, run.reason) == ("failed", "gate_timeout")
    story.clock.move(days=-1)
    answer = await scene.comment(scene.carol, f"{APPROVE} {scene.head[:7]}")
    assert "Expired: nobody answered in 1 day." in answer
    assert (await scene.run()).reason == "gate_timeout"


async def test_t_d4_a_deploy_changes_the_steps_while_a_run_waits(backend: Backend, tmp_path: Path) -> None:
    """The run that went to sleep under one version of the code goes on under another that has steps before each."""
    passed: list[str] = []

    async def run_changed(name: str, call: Call) -> dict[str, Any]:
        """Steps of code in which each step follows one that was not there before."""
        await run_durable_step(f"new, before {name}", _nothing)
        passed.append(f"{(DBOS.workflow_id or '').partition('/')[0]}: {name}")
        return await run_durable_step(name, call)

    async with open_world(backend, tmp_path) as (github, clock, url):
        async with run_forge(github, clock, url, tmp_path, SWIFT) as story:
            scene = await open_scene(story)
            assert story.gates(scene.pull) == ["protected_paths"]
            waiting = await scene.run()
        async with run_forge(github, clock, url, tmp_path, SWIFT, durable=run_changed) as story:
            scene = move_to(scene, story)
            assert "Approved by" in await scene.comment(scene.carol, APPROVE)
            run = await scene.run()
            assert (run.id, run.state, scene.conclusion) == (waiting.id, "completed", "success")
            assert f"{run.id}: finish" in passed
            assert story.gate_outcomes(scene.pull) == ["protected_paths: Approved by carol"]
            assert len(story.github.check_runs(scene.repository, scene.head, "Forge / review")) == 1
            await assert_sound(story)


async def test_t_d4_one_that_was_answered_before_the_deploy(backend: Backend, tmp_path: Path) -> None:
    """Decided by a process that died right after it: the next one finds the answer and lets the run go on."""
    async with open_world(backend, tmp_path) as (github, clock, url):
        async with run_forge(github, clock, url, tmp_path, SWIFT) as story:
            scene = await open_scene(story)
            assert story.gates(scene.pull) == ["protected_paths"]
            [gate] = await scene.list_gates()
        database = Database(url)
        by = GateDecision(at=clock.now(), by_id=scene.carol.id, by_login="carol", via="command", cause="a delivery")
        assert (await gates.decide(database, gate.id, GateState.approved, by)).counted
        await database.close()
        async with run_forge(github, clock, url, tmp_path, SWIFT) as story:
            scene = move_to(scene, story)
            await story.settle()
            assert story.gate_outcomes(scene.pull) == ["protected_paths: Approved by carol"]
            assert ((await scene.run()).state, scene.conclusion) == ("completed", "success")
            assert scene.gate("protected_paths").conclusion == "success"
            await assert_sound(story)


@SQLITE
async def test_a_finding_is_dismissed_right_before_its_run_waits(backend: Backend, tmp_path: Path) -> None:
    """Forge hears of it after it asked and before the run waits: the run does not wait for nothing."""
    running: list[Story] = []

    async def run_interrupted(name: str, call: Call) -> dict[str, Any]:
        if name == "wait: gate":
            story = running.pop()
            [pull] = [each for each in story.github.world.all_pulls() if story.comments(each)]
            [comment] = story.comments(pull)
            story.github.grant(pull.repository, story.github.user("carol"), "maintain")
            await story.github.user("carol").reply(comment, "/forge dismiss made up for a test")
            while not story.thread_answers(pull, comment):  # noqa: ASYNC110  # Forge is at work
                await asyncio.sleep(0.05)
        return await run_durable_step(name, call)

    async with (
        open_world(backend, tmp_path) as (github, clock, url),
        run_forge(github, clock, url, tmp_path, SWIFT, durable=run_interrupted) as story,
    ):
        running.append(story)
        scene = await open_scene(story, {"app.py": LEAKING}, "review: {model: false}\n")
        assert story.gate_outcomes(scene.pull) == ["security_findings: Void: there is nothing left to decide"]
        assert (story.gates(scene.pull), scene.conclusion) == ([], "neutral")
        assert (await scene.run()).state == "completed"
        await assert_sound(story)


async def _nothing() -> dict[str, Any]:
    return {"value": None}
