"""What Forge does unasked at each level, what it leaves to people, and how they stop it."""

from datetime import timedelta

import pytest
from sqlalchemy import update

from memory.db.tables.runs import RunRow
from memory.repositories import automation_level
from pipeline.maintenance.retention import remove_old
from simulator import User
from simulator.errors import Refusal
from simulator.faults import Dropped, Moment, RequestInfo
from simulator.state import PullRequest, Repository
from tests.stories.driver import LAG, Story
from tests.world.automation import (
    APP,
    BROKEN,
    TWO,
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

UNUSED = APP.replace("import os\n", "import os\nimport sys\n")


def subject(repository: Repository, sha: str) -> str:
    return git(repository, "log", "-1", "--format=%B", sha)


# --- correcting ---------------------------------------------------------------------------------------------------


async def test_simple_lint_is_corrected_in_one_commit(told: Story) -> None:
    repository, alice, _ = await at_level(told, 2)
    pull, head = await open_pull_request(told, repository, alice, {"app.py": TWO})
    fixed = pull.head_sha
    assert fixed != head
    assert repository.git.read(fixed, "app.py") == APP.encode()
    said = subject(repository, fixed)
    assert said.startswith("Correct 2 findings of formatting and simple lint")
    assert "ruff/F401 in app.py:2" in said
    assert "Level 2 (acts) lets Forge correct the change (rule ladder.auto_fix)." in said
    assert git(repository, "rev-parse", f"{fixed}^") == head
    check = told.check(repository, fixed)
    assert (check.conclusion, check.title) == ("success", "Approved: no findings")
    assert ("auto_fix", 2, "ladder.auto_fix") in await list_actions(told)


async def test_at_level_one_people_fix(told: Story) -> None:
    repository, alice, _ = await at_level(told, 1)
    pull, head = await open_pull_request(told, repository, alice, {"app.py": UNUSED})
    assert pull.head_sha == head
    assert await list_actions(told) == []


async def test_the_configuration_bounds_what_was_set(told: Story) -> None:
    repository, alice, _ = await at_level(told, 3, "ladder: {max_level: 1}\n")
    pull, head = await open_pull_request(told, repository, alice, {"app.py": UNUSED})
    assert pull.head_sha == head
    assert await list_actions(told) == []
    assert "Automation level 3 → 1: " in (told.check(repository, head).summary or "")


async def test_a_head_of_its_own_is_never_corrected(told: Story) -> None:
    repository, alice, _ = await at_level(told, 2)
    body = "import os\nimport sys\n\n\ndef main():\n    return os.name\n\n\ndef b():\n    if main():\n        pass\n"
    pull, head = await open_pull_request(told, repository, alice, {"app.py": body})
    assert git(repository, "rev-list", "--count", f"{head}..{pull.head_sha}") == "1"
    # A person's commit that names itself Forge's is left alone.
    again = await alice.push(repository, "feature", {"app.py": UNUSED}, "Mine\n\nForge-Run: 01")
    await settle_looks(told)
    told.comments(pull)
    assert pull.head_sha == again


async def test_what_is_wrong_is_not_corrected(told: Story) -> None:
    repository, alice, _ = await at_level(told, 4)
    pull, head = await open_pull_request(told, repository, alice, {"app.py": BROKEN})
    assert pull.head_sha == head
    assert await list_actions(told) == []


async def test_a_fork_is_never_touched(told: Story) -> None:
    repository, _, _ = await at_level(told, 4)
    bob = told.github.user("bob")
    fork = await bob.fork(repository)
    head = await bob.push(fork, "feature", {"app.py": UNUSED}, base="main")
    pull = await bob.open_pull_request(repository, "feature", head_repo=fork)
    await settle_looks(told)
    told.comments(pull)
    assert (pull.head_sha, pull.state) == (head, "open")
    assert await list_actions(told) == []


async def test_protected_paths_are_never_touched(told: Story) -> None:
    repository, alice, carol = await at_level(told, 4, "paths: {protected: [app.py]}\n")
    pull, head = await open_pull_request(told, repository, alice, {"app.py": UNUSED})
    told.gates(pull)
    told.clock.move(seconds=5)
    await carol.comment(pull, "/forge approve")
    await settle_looks(told)
    told.answers(pull)
    assert told.check(repository, head).conclusion == "success"
    assert (pull.head_sha, pull.state) == (head, "open")
    assert await list_actions(told) == []


async def test_the_default_branch_is_never_pushed_to(told: Story) -> None:
    repository, alice, _ = await at_level(told, 4)
    await alice.push(repository, "release", {"notes.md": "1\n"}, base="main")
    head = await alice.push(repository, "main", {"app.py": UNUSED})
    pull = await alice.open_pull_request(repository, "main", base="release")
    await settle_looks(told)
    told.comments(pull)
    told.answers(pull)
    assert repository.git.branch("main") == head


# --- approving ----------------------------------------------------------------------------------------------------


async def test_low_risk_is_approved_once_its_checks_are_green(told: Story) -> None:
    repository, alice, _ = await at_level(told, 2)
    told.github.protect(repository, "main", ["ci"], approvals=1)
    pull, head = await open_pull_request(told, repository, alice, {"README.md": "# Store\n"})
    assert approvals(told, pull) == []
    told.github.report_check(repository, head, "ci", None)
    await jump_ahead(told, minutes=1.1)
    assert approvals(told, pull) == []
    told.github.report_check(repository, head, "ci", "success")
    await jump_ahead(told, minutes=2.1)
    [approval] = approvals(told, pull)
    assert approval.commit_id == head
    assert "Level 2 (acts) lets Forge approve (rule `ladder.auto_approve`)." in approval.body
    assert await list_actions(told) == [("auto_approve", 2, "ladder.auto_approve")]
    assert pull.state == "open"
    await jump_ahead(told, hours=10)
    assert len(approvals(told, pull)) == 1


async def test_a_dismissed_approval_is_not_given_again(told: Story) -> None:
    repository, alice, carol = await at_level(told, 2)
    pull, _ = await open_pull_request(told, repository, alice, {"README.md": "# Store\n"})
    [approval] = approvals(told, pull)
    await carol.dismiss_review(approval, "I want to look myself")
    await alice.comment(pull, "/forge review full")
    await settle_looks(told)
    told.answers(pull)
    assert approvals(told, pull) == []


async def test_an_approval_that_became_old_is_taken_back_all_the_same(told: Story) -> None:
    repository, alice, _ = await at_level(told, 2)
    pull, _ = await open_pull_request(told, repository, alice, {"README.md": "# Store\n"})
    [approval] = approvals(told, pull)
    services = told.forge.services
    assert "outbox" in await remove_old(services, told.clock.now() + timedelta(days=400))

    await alice.push(repository, "feature", {"app.py": BROKEN})
    await settle_looks(told)
    told.comments(pull)
    assert approvals(told, pull) == []
    assert approval.state == "DISMISSED"


async def test_a_failing_check_is_no_green_one(told: Story) -> None:
    repository, alice, _ = await at_level(told, 4)
    told.github.protect(repository, "main", ["ci"])
    head = await alice.push(repository, "feature", {"README.md": "# Store\n"}, base="main")
    told.github.report_check(repository, head, "ci", "failure")
    pull = await alice.open_pull_request(repository, "feature")
    await settle_looks(told)
    await jump_ahead(told, hours=10)
    assert approvals(told, pull) == []
    assert pull.state == "open"
    assert await list_actions(told) == []


async def test_a_check_that_never_reports_is_given_up(told: Story) -> None:
    repository, alice, _ = await at_level(told, 4)
    told.github.protect(repository, "main", ["ci"])
    pull, _ = await open_pull_request(told, repository, alice, {"README.md": "# Store\n"})
    for _ in range(12):
        await jump_ahead(told, hours=5)
    assert approvals(told, pull) == []
    assert pull.state == "open"
    assert await list_actions(told) == []


# --- merging ------------------------------------------------------------------------------------------------------


async def announce_merge(told: Story, level: int = 3) -> tuple[Repository, User, User, PullRequest, str]:
    """A pull request whose merge people were told of."""
    repository, alice, carol = await at_level(told, level)
    told.github.protect(repository, "main", ["ci"])
    head = await alice.push(repository, "feature", {"README.md": "# Store\n"}, base="main")
    told.github.report_check(repository, head, "ci", "success")
    pull = await alice.open_pull_request(repository, "feature")
    await settle_looks(told)
    [text] = announcements(told, pull)
    assert text.startswith(f"**Forge merges** `{head[:7]}` after ")
    assert "Level 3 (acts and tells) lets Forge merge (rule `ladder.auto_merge`)." in text
    assert len(approvals(told, pull)) == 1
    assert pull.state == "open"
    return repository, alice, carol, pull, head


async def is_not_merged(told: Story, pull: PullRequest, why: str) -> None:
    await jump_ahead(told, hours=12)
    assert pull.merged_at is None
    assert not any(act == "auto_merge" for act, _, _ in await list_actions(told))
    told.reviews(pull)
    assert why in announcements(told, pull)[0]


async def test_people_are_told_before_a_merge(told: Story) -> None:
    repository, _, _, pull, head = await announce_merge(told)
    await jump_ahead(told, minutes=9)
    assert pull.merged_at is None
    await jump_ahead(told, minutes=2)
    assert pull.merged_at is not None
    [text] = announcements(told, pull)
    assert text.startswith(f"**Forge merged** `{head[:7]}` as ")
    assert "(rule `ladder.auto_merge`)" in text
    assert set(await list_actions(told)) == {
        ("auto_approve", 3, "ladder.auto_approve"),
        ("auto_merge", 3, "ladder.auto_merge"),
    }
    facts = await automation_level.load_facts(told.forge.services.database, repository.id)
    assert list(facts.decisions) == []  # what Forge merges is nobody's approval


async def test_a_rejection_stops_the_merge(told: Story) -> None:
    _, alice, _, pull, _ = await announce_merge(told)
    await alice.comment(pull, "/forge reject the name is not decided")
    await settle_looks(told)
    assert "The announced merge is stopped." in told.answers(pull)[-1].body
    await is_not_merged(told, pull, "alice rejected it")


async def test_who_may_not_write_stops_nothing_with_a_command(told: Story) -> None:
    repository, _, _, pull, _ = await announce_merge(told)
    mallory = told.github.user("mallory")
    told.github.grant(repository, mallory, "read")
    await mallory.comment(pull, "/forge reject no")
    await settle_looks(told)
    told.answers(pull)
    await jump_ahead(told, minutes=11)
    assert pull.merged_at is not None


async def test_cancelling_stops_the_merge(told: Story) -> None:
    _, alice, _, pull, _ = await announce_merge(told)
    await alice.comment(pull, "/forge cancel")
    await settle_looks(told)
    assert "The announced merge is stopped." in told.answers(pull)[-1].body
    await is_not_merged(told, pull, "Forge does not merge")


async def test_a_pause_stops_the_merge_also_after_it_ended(told: Story) -> None:
    _, _, carol, pull, _ = await announce_merge(told)
    await carol.comment(pull, "/forge pause\n\n/forge unpause")
    await settle_looks(told)
    told.answers(pull)
    await is_not_merged(told, pull, "carol paused")


async def test_requested_changes_stop_the_merge(told: Story) -> None:
    _, _, carol, pull, _ = await announce_merge(told)
    await carol.review(pull, "REQUEST_CHANGES", "not yet")
    await is_not_merged(told, pull, "carol requested changes")


async def test_a_push_stops_the_merge(told: Story) -> None:
    repository, alice, _, pull, _ = await announce_merge(told)
    again = await alice.push(repository, "feature", {"README.md": "# Bazaar\n"})
    await settle_looks(told)
    await is_not_merged(told, pull, f"the head is {again[:7]} now")


async def test_what_a_version_before_reviewed_is_not_merged(told: Story) -> None:
    """It did not keep which branch its review was about."""
    _, _, _, pull, _ = await announce_merge(told)
    async with told.forge.services.database.transaction() as session:
        await session.execute(update(RunRow).values(base_ref=""))
    await is_not_merged(told, pull, "its review does not say which branch it was about")


async def test_a_draft_is_not_merged(told: Story) -> None:
    _, alice, _, pull, _ = await announce_merge(told)
    await alice.convert_to_draft(pull)
    await is_not_merged(told, pull, "the pull request is a draft")


async def test_a_check_that_turned_red_stops_the_merge(told: Story) -> None:
    repository, _, _, pull, head = await announce_merge(told)
    told.github.report_check(repository, head, "ci", "failure")
    await is_not_merged(told, pull, "checks are not green: ci")


async def test_a_level_that_fell_stops_the_merge(told: Story) -> None:
    _, alice, _, pull, _ = await announce_merge(told)
    await alice.comment(pull, "/forge missed everything")
    await settle_looks(told)
    told.answers(pull)
    await is_not_merged(told, pull, "it takes level 3 or higher")


async def test_checks_that_run_again_are_waited_for(told: Story) -> None:
    repository, _, _, pull, head = await announce_merge(told)
    told.github.report_check(repository, head, "ci", None)
    await jump_ahead(told, minutes=11)
    assert pull.merged_at is None
    told.github.report_check(repository, head, "ci", "success")
    await jump_ahead(told, minutes=10)
    assert pull.merged_at is not None
    announcements(told, pull)


async def test_at_the_highest_level_green_is_merged_at_once(told: Story) -> None:
    repository, alice, _ = await at_level(told, 4)
    told.github.protect(repository, "main", ["ci"])
    head = await alice.push(repository, "feature", {"README.md": "# Store\n"}, base="main")
    told.github.report_check(repository, head, "ci", "success")
    await told.wait_for_lag()
    pull = await alice.open_pull_request(repository, "feature")
    await settle_looks(told)
    assert pull.merged_at is not None
    [text] = announcements(told, pull)
    assert text.startswith("**Forge merged**")
    assert len(approvals(told, pull)) == 1


async def test_without_required_checks_people_have_time_at_every_level(told: Story) -> None:
    repository, alice, _ = await at_level(told, 4)
    pull, _ = await open_pull_request(told, repository, alice, {"README.md": "# Store\n"})
    assert pull.merged_at is None
    [text] = announcements(told, pull)
    assert text.startswith("**Forge merges**")
    await jump_ahead(told, minutes=11)
    assert pull.merged_at is not None
    assert len(approvals(told, pull)) == 1
    announcements(told, pull)


# --- taking an approval back ----------------------------------------------------------------------------------------


async def test_an_approval_does_not_outlast_a_push(told: Story) -> None:
    """GitHub goes on counting it, whatever is pushed, unless the branch is set up otherwise."""
    repository, alice, pull = await open_approved(told)
    await alice.push(repository, "feature", {"app.py": BROKEN})
    await settle_looks(told)
    told.comments(pull)
    assert approvals(told, pull) == []
    with pytest.raises(Refusal, match="At least 1 approving review is required"):
        await alice.merge(pull)


async def test_an_approval_falls_before_a_first_sign_that_is_left_out(told: Story) -> None:
    repository, alice, pull = await open_approved(told)
    there: list[int] = []

    async def look(request: RequestInfo, moment: Moment) -> None:
        if moment == "before" and request.path.endswith("/check-runs"):
            there.append(len(approvals(told, pull)))
            if len(there) == 1:
                raise Dropped

    told.github.on_write(look)
    await alice.push(repository, "feature", {"app.py": BROKEN})
    await settle_looks(told)
    told.comments(pull)
    assert there[0] == 0
    assert len(there) > 1


async def test_an_approval_is_of_one_base(told: Story) -> None:
    repository, alice, pull = await open_approved(told)
    await alice.push(repository, "next", {"app.py": BROKEN}, base="main")
    told.github.protect(repository, "next", ["never"], approvals=1)
    await alice.edit_base(pull, "next")
    await settle_looks(told)
    assert approvals(told, pull) == []


async def ask_gate(told: Story) -> tuple[User, PullRequest]:
    """A pull request that Forge approved, and about which a gate was asked since; who may answer it."""
    repository, _, pull = await open_approved(told)
    carol = told.github.user("carol")
    repository.rules.clear()
    gate = "gates: {look: {phase: review, when: 'review.files_changed > 0', prompt: Is it meant}}\n"
    await carol.push(repository, "main", {".github/forge.yml": gate})
    await carol.comment(pull, "/forge review full")
    await settle_looks(told)
    told.answers(pull)
    assert told.gates(pull) == ["look"]
    return carol, pull


async def test_an_approval_falls_with_its_verdict(told: Story) -> None:
    _, pull = await ask_gate(told)
    assert approvals(told, pull) == []


async def test_where_stale_approvals_are_dismissed_there_is_nothing_left_to_take_back(told: Story) -> None:
    repository, alice, _ = await at_level(told, 2)
    told.github.protect(repository, "main", approvals=1, dismisses_stale=True)
    pull, _ = await open_pull_request(told, repository, alice, {"README.md": "# Store\n"})
    assert len(approvals(told, pull)) == 1
    head = await alice.push(repository, "feature", {"README.md": "# Bazaar\n"})
    await settle_looks(told)
    assert [each.commit_id for each in approvals(told, pull)] == [head]


async def open_into_main(told: Story, dev: list[str]) -> tuple[Repository, User, User, PullRequest]:
    """A pull request into main that Forge approved, and dev, which requires checks of its own."""
    repository, alice, carol = await at_level(told, 2)
    await alice.push(repository, "dev", {"NEWS.md": "# News\n"}, base="main")
    told.github.protect(repository, "main", ["ci"])
    told.github.protect(repository, "dev", dev)
    head = await alice.push(repository, "feature", {"README.md": "# Store\n"}, base="main")
    told.github.report_check(repository, head, "ci", "success")
    pull = await alice.open_pull_request(repository, "feature")
    await settle_looks(told)
    assert len(approvals(told, pull)) == 1
    return repository, alice, carol, pull


async def retarget(told: Story, by: User, pull: PullRequest, base: str) -> list[str]:
    """What became of Forge's approvals, oldest first."""
    await by.edit_base(pull, base)
    await settle_looks(told)
    if LAG:  # the verdict, where the base requires it, is seen at the next look
        await jump_ahead(told, minutes=1.1)
    told.comments(pull)
    return [review.state for review in told.reviews(pull)]


async def test_what_forge_took_back_it_gives_again(told: Story) -> None:
    _, alice, _, pull = await open_into_main(told, ["never"])
    assert await retarget(told, alice, pull, "dev") == ["DISMISSED"]
    assert await retarget(told, alice, pull, "main") == ["DISMISSED", "APPROVED"]


async def test_what_fell_with_its_verdict_is_given_again_with_the_next(told: Story) -> None:
    carol, pull = await ask_gate(told)
    assert approvals(told, pull) == []
    told.clock.move(seconds=5)
    await carol.comment(pull, "/forge approve look")
    await settle_looks(told)
    told.answers(pull)
    assert len(approvals(told, pull)) == 1


@pytest.mark.parametrize("dev", [["ci"], ["ci", "Forge / review"]])
async def test_an_approval_into_another_base_does_not_outlast_the_way_back(told: Story, dev: list[str]) -> None:
    _, alice, _, pull = await open_into_main(told, dev)
    assert await retarget(told, alice, pull, "dev") == ["DISMISSED", "APPROVED"]
    assert await retarget(told, alice, pull, "main") == ["DISMISSED", "DISMISSED", "APPROVED"]


async def test_t_p13_another_base_does_not_get_round_a_persons_dismissal(told: Story) -> None:
    _, alice, carol, pull = await open_into_main(told, ["ci"])
    await carol.dismiss_review(approvals(told, pull)[0], "I want to look myself")
    assert await retarget(told, alice, pull, "dev") == ["DISMISSED"]
    assert await retarget(told, alice, pull, "main") == ["DISMISSED"]


async def test_a_persons_dismissal_lasts_where_forge_took_back_another(told: Story) -> None:
    _, alice, carol, pull = await open_into_main(told, ["ci"])
    await retarget(told, alice, pull, "dev")
    await carol.dismiss_review(approvals(told, pull)[0], "not into dev, not like this")
    assert await retarget(told, alice, pull, "main") == ["DISMISSED", "DISMISSED"]
