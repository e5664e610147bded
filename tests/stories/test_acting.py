"""What Forge does unasked at each level, what it leaves to people, and how they stop it."""

from datetime import timedelta

import pytest
from inline_snapshot import snapshot

from memory.repositories import automation_level
from pipeline.maintenance.retention import remove_old
from simulator import User
from simulator.errors import Dropped, Moment, RequestInfo
from simulator.state import PullRequest, Repository
from tests.stories.driver import LAG, Story
from tests.world.automation import (
    APP,
    BROKEN,
    TWO,
    after_looks,
    announcements,
    approvals,
    at_level,
    git,
    jump_ahead,
    list_actions,
    open_approved,
    open_pull_request,
    settle_looks,
)
from tests.world.replies import first_lines

pytestmark = [
    pytest.mark.tells("protection"),  # which checks a branch requires, without which nothing is approved
    pytest.mark.usefixtures("model"),  # it reads all that Forge may approve or merge, and finds nothing
]
UNUSED = APP.replace("import os\n", "import os\nimport sys\n")


def subject(repository: Repository, sha: str) -> str:
    return git(repository, "log", "-1", "--format=%B", sha)


# --- correcting ---------------------------------------------------------------------------------------------------


async def test_simple_lint_is_corrected_in_one_commit(story: Story) -> None:
    repository, alice, _ = await at_level(story, 2)
    pull, head = await open_pull_request(story, repository, alice, {"app.py": TWO})
    fixed = pull.head_sha
    assert fixed != head
    assert repository.git.read(fixed, "app.py") == APP.encode()
    said = subject(repository, fixed)
    assert said.startswith("Correct 2 findings of formatting and simple lint")
    assert "ruff/F401 in app.py:2" in said
    assert "Level 2 (acts) lets Forge correct the change (rule ladder.auto_fix)." in said
    assert git(repository, "rev-parse", f"{fixed}^") == head
    check = story.check(repository, fixed)
    assert (check.conclusion, check.title) == ("success", "No findings")
    assert ("auto_fix", 2, "ladder.auto_fix") in await list_actions(story)


async def test_the_configuration_bounds_what_was_set(story: Story) -> None:
    repository, alice, _ = await at_level(story, 3, "ladder: {max_level: 1}\n")
    pull, head = await open_pull_request(story, repository, alice, {"app.py": UNUSED})
    assert pull.head_sha == head
    assert await list_actions(story) == []
    assert "Automation level 3 → 1: " in (story.check(repository, head).summary or "")


async def test_a_head_of_its_own_is_never_corrected(story: Story) -> None:
    repository, alice, _ = await at_level(story, 2)
    body = "import os\nimport sys\n\n\ndef main():\n    return os.name\n\n\ndef b():\n    if main():\n        pass\n"
    pull, head = await open_pull_request(story, repository, alice, {"app.py": body})
    assert git(repository, "rev-list", "--count", f"{head}..{pull.head_sha}") == "1"
    # A person's commit that names itself Forge's is left alone.
    again = await after_looks(story, alice.push(repository, "feature", {"app.py": UNUSED}, "Mine\n\nForge-Run: 01"))
    assert first_lines(story.comments(pull)) == snapshot(["🟡 **Warning** · correctness"])
    assert pull.head_sha == again


async def test_a_fork_is_never_touched(story: Story) -> None:
    repository, _, _ = await at_level(story, 4)
    bob = story.github.user("bob")
    fork = await bob.fork(repository)
    head = await bob.push(fork, "feature", {"app.py": UNUSED}, base="main")
    pull = await after_looks(story, bob.open_pull_request(repository, "feature", head_repo=fork))
    assert first_lines(story.comments(pull)) == snapshot(["🟡 **Warning** · correctness"])
    assert (pull.head_sha, pull.state) == (head, "open")
    assert await list_actions(story) == []


async def test_protected_paths_are_never_touched(story: Story) -> None:
    repository, alice, carol = await at_level(story, 4, "paths: {protected: [app.py]}\n")
    pull, head = await open_pull_request(story, repository, alice, {"app.py": UNUSED})
    assert story.gates(pull) == snapshot(["protected_paths"])
    story.clock.move(seconds=5)
    await after_looks(story, carol.comment(pull, "/forge approve"))
    assert story.gate_outcomes(pull) == ["protected_paths: Approved by carol"]
    assert story.check(repository, head).conclusion == "success"
    assert (pull.head_sha, pull.state) == (head, "open")
    assert await list_actions(story) == []


async def test_the_default_branch_is_never_pushed_to(story: Story) -> None:
    repository, alice, _ = await at_level(story, 4)
    await alice.push(repository, "release", {"notes.md": "1\n"}, base="main")
    head = await alice.push(repository, "main", {"app.py": UNUSED})
    pull = await after_looks(story, alice.open_pull_request(repository, "main", base="release"))
    assert first_lines(story.comments(pull)) == snapshot(["🟡 **Warning** · correctness"])
    assert (story.answers(pull), repository.git.branch("main")) == ([], head)


# --- approving ----------------------------------------------------------------------------------------------------


async def test_low_risk_is_approved_once_its_checks_are_green(story: Story) -> None:
    repository, alice, _ = await at_level(story, 2)
    story.github.protect(repository, "main", ["ci"], approvals=1)
    pull, head = await open_pull_request(story, repository, alice, {"README.md": "# Store\n"})
    assert approvals(story, pull) == []
    story.github.report_check(repository, head, "ci", None)
    await jump_ahead(story, minutes=1.1)
    assert approvals(story, pull) == []
    story.github.report_check(repository, head, "ci", "success")
    await jump_ahead(story, minutes=2.1)
    [approval] = approvals(story, pull)
    assert approval.commit_id == head
    assert "Level 2 (acts) lets Forge approve (rule `ladder.auto_approve`)." in approval.body
    assert await list_actions(story) == [("auto_approve", 2, "ladder.auto_approve")]
    assert pull.state == "open"
    await jump_ahead(story, hours=10)
    assert len(approvals(story, pull)) == 1


async def test_a_dismissed_approval_is_not_given_again(story: Story) -> None:
    repository, alice, carol = await at_level(story, 2)
    pull, _ = await open_pull_request(story, repository, alice, {"README.md": "# Store\n"})
    [approval] = approvals(story, pull)
    await carol.dismiss_review(approval, "I want to look myself")
    await after_looks(story, alice.comment(pull, "/forge review full"))
    assert first_lines(story.answers(pull)) == snapshot(["Reviewing `SHA` from scratch; the check shows the progress."])
    assert approvals(story, pull) == []


async def test_an_approval_that_became_old_is_taken_back_all_the_same(story: Story) -> None:
    repository, alice, _ = await at_level(story, 2)
    pull, _ = await open_pull_request(story, repository, alice, {"README.md": "# Store\n"})
    [approval] = approvals(story, pull)
    services = story.forge.services
    assert "outbox" in await remove_old(services, story.clock.now() + timedelta(days=400))

    await after_looks(story, alice.push(repository, "feature", {"app.py": BROKEN}))
    assert first_lines(story.comments(pull)) == snapshot(["🔴 **Error** · correctness"])
    assert approvals(story, pull) == []
    assert approval.state == "DISMISSED"


@pytest.mark.parametrize("conclusion", ["failure", None])
async def test_a_check_that_failed_or_never_reports_is_no_green_one(story: Story, conclusion: str | None) -> None:
    repository, alice, _ = await at_level(story, 4)
    story.github.protect(repository, "main", ["ci"])
    head = await alice.push(repository, "feature", {"README.md": "# Store\n"}, base="main")
    if conclusion is not None:
        story.github.report_check(repository, head, "ci", conclusion)
    pull = await after_looks(story, alice.open_pull_request(repository, "feature"))
    for _ in range(12):
        await jump_ahead(story, hours=5)
    assert approvals(story, pull) == []
    assert pull.state == "open"
    assert await list_actions(story) == []


# --- merging ------------------------------------------------------------------------------------------------------


async def announce_merge(story: Story, level: int = 3) -> tuple[Repository, User, User, PullRequest, str]:
    """A pull request whose merge people were told of."""
    repository, alice, carol = await at_level(story, level)
    story.github.protect(repository, "main", ["ci"])
    head = await alice.push(repository, "feature", {"README.md": "# Store\n"}, base="main")
    story.github.report_check(repository, head, "ci", "success")
    pull = await after_looks(story, alice.open_pull_request(repository, "feature"))
    [text] = announcements(story, pull)
    assert text.startswith(f"**Forge merges** `{head[:7]}` after ")
    assert "Level 3 (acts and tells) lets Forge merge (rule `ladder.auto_merge`)." in text
    assert len(approvals(story, pull)) == 1
    assert pull.state == "open"
    return repository, alice, carol, pull, head


async def is_not_merged(story: Story, pull: PullRequest, why: str) -> None:
    await jump_ahead(story, hours=12)
    assert pull.merged_at is None
    assert not any(act == "auto_merge" for act, _, _ in await list_actions(story))
    assert first_lines(story.reviews(pull)) == snapshot(["Approved without being asked, for head `SHA` only."])
    assert why in announcements(story, pull)[0]


async def test_people_are_told_before_a_merge(story: Story) -> None:
    repository, _, _, pull, head = await announce_merge(story)
    await jump_ahead(story, minutes=9)
    assert pull.merged_at is None
    await jump_ahead(story, minutes=2)
    assert pull.merged_at is not None
    [text] = announcements(story, pull)
    assert text.startswith(f"**Forge merged** `{head[:7]}` as ")
    assert "(rule `ladder.auto_merge`)" in text
    assert set(await list_actions(story)) == {
        ("auto_approve", 3, "ladder.auto_approve"),
        ("auto_merge", 3, "ladder.auto_merge"),
    }
    facts = await automation_level.load_facts(story.forge.services.database, repository.id)
    assert list(facts.decisions) == []  # what Forge merges is nobody's approval


@pytest.mark.parametrize(
    ("happens", "why"),
    [
        ("rejected", "alice rejected it"),
        ("paused for a moment", "carol paused"),
        ("changes requested", "carol requested changes"),
        ("pushed", "the head is {} now"),
        ("a draft again", "the pull request is a draft"),
        ("red", "checks are not green: ci"),
        ("a missed bug", "it takes level 3 or higher"),
    ],
)
async def test_what_happens_meanwhile_stops_the_merge(story: Story, happens: str, why: str) -> None:
    repository, alice, carol, pull, head = await announce_merge(story)
    match happens:
        case "rejected":
            await alice.comment(pull, "/forge reject the name is not decided")
        case "paused for a moment":
            await carol.comment(pull, "/forge pause\n\n/forge unpause")
        case "changes requested":
            await carol.review(pull, "REQUEST_CHANGES", "not yet")
        case "pushed":
            await alice.push(repository, "feature", {"README.md": "# Bazaar\n"})
        case "a draft again":
            await alice.convert_to_draft(pull)
        case "red":
            story.github.report_check(repository, head, "ci", "failure")
        case _:
            await alice.comment(pull, "/forge missed carts lose their contents")
    await settle_looks(story)
    await is_not_merged(story, pull, why.format(pull.head_sha[:7]))


async def test_who_may_not_write_stops_nothing_with_a_command(story: Story) -> None:
    repository, _, _, pull, _ = await announce_merge(story)
    mallory = story.member(repository, "mallory", "read")
    await after_looks(story, mallory.comment(pull, "/forge reject no"))
    assert first_lines(story.answers(pull)) == snapshot(
        ["**Forge merges** `SHA` after TIME, if nothing changes until then.", "No gate is waiting here."]
    )
    await jump_ahead(story, minutes=11)
    assert pull.merged_at is not None


async def test_cancelling_stops_the_merge(story: Story) -> None:
    _, alice, _, pull, _ = await announce_merge(story)
    await after_looks(story, alice.comment(pull, "/forge cancel"))
    assert "The announced merge is stopped." in story.answers(pull)[-1].body
    await is_not_merged(story, pull, "Forge does not merge")


async def test_what_a_person_merged_is_left_to_nobody(story: Story) -> None:
    _, _, carol, pull, _ = await announce_merge(story)
    await after_looks(story, carol.merge(pull))
    await jump_ahead(story, hours=12)
    told = announcements(story, pull)[0]
    assert "it is merged already." in told
    assert "A person can merge it." not in told


async def test_checks_that_run_again_are_waited_for(story: Story) -> None:
    repository, _, _, pull, head = await announce_merge(story)
    story.github.report_check(repository, head, "ci", None)
    await jump_ahead(story, minutes=11)
    assert pull.merged_at is None
    story.github.report_check(repository, head, "ci", "success")
    await jump_ahead(story, minutes=10)
    assert pull.merged_at is not None
    announcements(story, pull)


async def test_at_the_highest_level_green_is_merged_at_once(story: Story) -> None:
    repository, alice, _ = await at_level(story, 4)
    story.github.protect(repository, "main", ["ci"])
    head = await alice.push(repository, "feature", {"README.md": "# Store\n"}, base="main")
    story.github.report_check(repository, head, "ci", "success")
    await story.wait_for_lag()
    pull = await after_looks(story, alice.open_pull_request(repository, "feature"))
    assert pull.merged_at is not None
    [text] = announcements(story, pull)
    assert text.startswith("**Forge merged**")
    assert len(approvals(story, pull)) == 1


async def test_without_required_checks_people_have_time_at_every_level(story: Story) -> None:
    repository, alice, _ = await at_level(story, 4)
    pull, _ = await open_pull_request(story, repository, alice, {"README.md": "# Store\n"})
    assert pull.merged_at is None
    [text] = announcements(story, pull)
    assert text.startswith("**Forge merges**")
    await jump_ahead(story, minutes=11)
    assert pull.merged_at is not None
    assert len(approvals(story, pull)) == 1
    announcements(story, pull)


# --- taking an approval back ----------------------------------------------------------------------------------------


async def test_an_approval_falls_before_a_first_sign_that_is_left_out(story: Story) -> None:
    repository, alice, pull = await open_approved(story)
    there: list[int] = []

    async def look(request: RequestInfo, moment: Moment) -> None:
        if moment == "before" and request.path.endswith("/check-runs"):
            there.append(len(approvals(story, pull)))
            if len(there) == 1:
                raise Dropped

    story.github.on_write(look)
    await after_looks(story, alice.push(repository, "feature", {"app.py": BROKEN}))
    assert first_lines(story.comments(pull)) == snapshot(["🔴 **Error** · correctness"])
    assert there[0] == 0
    assert len(there) > 1


async def test_an_approval_is_of_one_base(story: Story) -> None:
    repository, alice, pull = await open_approved(story)
    await alice.push(repository, "next", {"app.py": BROKEN}, base="main")
    story.github.protect(repository, "next", ["never"], approvals=1)
    await after_looks(story, alice.edit_base(pull, "next"))
    assert approvals(story, pull) == []


async def ask_gate(story: Story) -> tuple[User, PullRequest]:
    """A pull request that Forge approved, and about which a gate was asked since; who may answer it."""
    repository, _, pull = await open_approved(story)
    carol = story.github.user("carol")
    repository.rules.clear()
    gate = "gates: {look: {phase: review, when: 'review.files_changed > 0', prompt: Is it meant}}\n"
    await carol.push(repository, "main", {".github/forge.yml": gate})
    await after_looks(story, carol.comment(pull, "/forge review full"))
    assert first_lines(story.answers(pull)) == snapshot(["Reviewing `SHA` from scratch; the check shows the progress."])
    assert story.gates(pull) == ["look"]
    return carol, pull


async def test_where_stale_approvals_are_dismissed_there_is_nothing_left_to_take_back(story: Story) -> None:
    repository, alice, _ = await at_level(story, 2)
    story.github.protect(repository, "main", approvals=1, dismisses_stale=True)
    pull, _ = await open_pull_request(story, repository, alice, {"README.md": "# Store\n"})
    assert len(approvals(story, pull)) == 1
    head = await after_looks(story, alice.push(repository, "feature", {"README.md": "# Bazaar\n"}))
    assert [each.commit_id for each in approvals(story, pull)] == [head]


async def open_into_main(story: Story, dev: list[str]) -> tuple[Repository, User, User, PullRequest]:
    """A pull request into main that Forge approved, and dev, which requires checks of its own."""
    repository, alice, carol = await at_level(story, 2)
    await alice.push(repository, "dev", {"NEWS.md": "# News\n"}, base="main")
    story.github.protect(repository, "main", ["ci"])
    story.github.protect(repository, "dev", dev)
    head = await alice.push(repository, "feature", {"README.md": "# Store\n"}, base="main")
    story.github.report_check(repository, head, "ci", "success")
    pull = await after_looks(story, alice.open_pull_request(repository, "feature"))
    assert len(approvals(story, pull)) == 1
    return repository, alice, carol, pull


async def retarget(story: Story, by: User, pull: PullRequest, base: str) -> list[str]:
    """What became of Forge's approvals, oldest first."""
    await after_looks(story, by.edit_base(pull, base))
    if LAG:  # the verdict, where the base requires it, is seen at the next look
        await jump_ahead(story, minutes=1.1)
    assert first_lines(story.comments(pull)) == snapshot([])
    return [review.state for review in story.reviews(pull)]


async def test_what_fell_with_its_verdict_is_given_again_with_the_next(story: Story) -> None:
    carol, pull = await ask_gate(story)
    assert approvals(story, pull) == []
    story.clock.move(seconds=5)
    await after_looks(story, carol.comment(pull, "/forge approve look"))
    assert first_lines(story.answers(pull)) == snapshot(["Reviewing `SHA` from scratch; the check shows the progress."])
    assert len(approvals(story, pull)) == 1


@pytest.mark.parametrize("dev", [["never"], ["ci"], ["ci", "Forge / review"]])
async def test_what_forge_took_back_for_another_base_it_gives_again(story: Story, dev: list[str]) -> None:
    """And an approval into that one does not outlast the way back."""
    _, alice, _, pull = await open_into_main(story, dev)
    there = ["DISMISSED"] if "never" in dev else ["DISMISSED", "APPROVED"]
    assert await retarget(story, alice, pull, "dev") == there
    assert await retarget(story, alice, pull, "main") == [*["DISMISSED"] * len(there), "APPROVED"]


async def test_t_p13_another_base_does_not_get_round_a_persons_dismissal(story: Story) -> None:
    _, alice, carol, pull = await open_into_main(story, ["ci"])
    await carol.dismiss_review(approvals(story, pull)[0], "I want to look myself")
    assert await retarget(story, alice, pull, "dev") == ["DISMISSED"]
    assert await retarget(story, alice, pull, "main") == ["DISMISSED"]


async def test_a_persons_dismissal_lasts_where_forge_took_back_another(story: Story) -> None:
    _, alice, carol, pull = await open_into_main(story, ["ci"])
    await retarget(story, alice, pull, "dev")
    await carol.dismiss_review(approvals(story, pull)[0], "not into dev, not like this")
    assert await retarget(story, alice, pull, "main") == ["DISMISSED", "DISMISSED"]


async def test_a_rewritten_base_stops_the_merge(story: Story) -> None:
    """What a force push took from the base would come back with the merge, and nobody reviewed that."""
    repository, _, carol, pull, _ = await announce_merge(story)
    await carol.push(repository, "main", {"later.py": "LATER = 1\n"})  # that it moves on changes nothing
    anew = git(repository, "-c", "user.name=c", "-c", "user.email=c@c", "commit-tree", "main^{tree}", "-m", "Anew")
    await after_looks(story, carol.reset_branch(repository, "main", anew))
    await is_not_merged(story, pull, "another review")
