"""Forge works with a GitHub that says nothing but what its published description requires (`TEST_MINIMAL=1`: in all)."""

import pytest
from inline_snapshot import snapshot

from domain.commands import Ignored
from handlers import translate
from simulator.webhooks import leave_out
from tests.stories.driver import Story
from tests.unit.handlers.examples import APP_ID, EXAMPLES
from tests.world.optional import load_nullable, load_optional
from tests.world.replies import first_lines

APP = "def main():\n    return 1\n"
BROKEN = "def main():\n    return missing\n"


_ABOUT_WHAT_MAY_BE_MISSING = {
    "check_run requested_action": "review_checked_head",  # which button
    "installation created": "repositories_not_told",  # which repositories
    "issues labeled": "incomplete_payload",  # which label
    "pull_request labeled": "incomplete_payload",
    "pull_request_review_thread resolved": "sent_by_an_app",  # who; it counts as nobody, as an App does
    "pull_request_review_thread unresolved": "sent_by_an_app",
}


@pytest.mark.parametrize("event", sorted(set(EXAMPLES) & set(load_optional()["events"])))
def test_an_event_means_the_same_without_what_is_optional(event: str) -> None:
    optional = load_optional()["events"][event]
    asked = [
        translate(event.split()[0], each, APP_ID) for each in (EXAMPLES[event], leave_out(EXAMPLES[event], optional))
    ]
    whole, bare = (each.reason if isinstance(each, Ignored) else each.kind for each in asked)
    assert bare == _ABOUT_WHAT_MAY_BE_MISSING.get(event, whole)


@pytest.mark.parametrize("event", ["pull_request_review_thread resolved", "pull_request_review_thread unresolved"])
def test_a_thread_may_be_forges_own_where_its_author_has_no_type(event: str) -> None:
    optional = load_optional(frozenset({"sender"}))["events"][event]
    bare = translate(event.split()[0], leave_out(EXAMPLES[event], optional), APP_ID)
    assert not isinstance(bare, Ignored)


async def test_a_pull_request_into_another_base_has_its_check(story: Story) -> None:
    """`protection` comes without `enabled`."""
    repository, alice = story.repository({"app.py": APP})
    story.github.leave_out(load_optional())
    await alice.push(repository, "develop", {"b.py": APP}, base="main")
    for protected in (False, True):
        if protected:
            story.github.protect(repository, "develop", ["ci"])
        head = await alice.push(repository, f"feature-{protected}", {"app.py": BROKEN}, base="develop")
        pull = await story.after(alice.open_pull_request(repository, f"feature-{protected}", base="develop"))
        assert story.check(repository, head, base="develop").conclusion == "failure"
        assert first_lines(story.comments(pull)) == snapshot(["🔴 **Error** · correctness"])


async def test_a_draft_is_known_and_becomes_ready(story: Story) -> None:
    """REST need not say what is a draft, so GraphQL is asked: a draft is not reviewed, and never passes for ready."""
    repository, alice = story.repository({"app.py": APP})
    story.github.leave_out(load_optional())
    pull, head = await story.propose(repository, alice, {"app.py": BROKEN}, draft=True)
    assert "This is a draft." in (story.check(repository, head).summary or "")
    await story.after(alice.mark_ready(pull))
    assert story.check(repository, head).conclusion == "failure"
    assert first_lines(story.comments(pull)) == snapshot(["🔴 **Error** · correctness"])


async def test_commands_and_buttons_work(story: Story) -> None:
    repository, alice = story.repository({"app.py": APP})
    root = story.member(repository, "root", "admin")
    story.github.leave_out(load_optional())
    pull, head = await story.propose(repository, alice, {"app.py": BROKEN})
    [name] = story.finding_names(pull)
    await root.press(story.check(repository, head), "review")
    await story.after(root.comment(pull, "/forge status"))
    await story.after(root.comment(pull, f"/forge dismiss {name} it is defined elsewhere"))
    assert len(story.answers(pull)) == 2
    assert story.check(repository, head).conclusion == "neutral"


async def test_what_a_deleted_account_left_is_reviewed(story: Story) -> None:
    """Its pull request names no author and no repository, its commits nobody, its issue no text."""
    repository, alice = story.repository({"app.py": APP})
    nullable = load_nullable()
    left = ("/repos/{}/{}/pulls/{}", "/repos/{}/{}/pulls/{}/commits", "/repos/{}/{}/issues/{}")
    answers = {f"GET {each}": nullable["answers"][f"GET {each}"] for each in left}
    story.github.leave_out({"answers": answers, "events": nullable["events"]})
    pull, head = await story.propose(repository, alice, {"app.py": BROKEN})
    assert story.check(repository, head).conclusion == "failure"
    assert first_lines(story.comments(pull)) == snapshot(["🔴 **Error** · correctness"])
    await story.after(alice.comment(pull, "/forge status"))
    assert story.check(repository, head).conclusion == "failure"
    story.pass_over(pull)
