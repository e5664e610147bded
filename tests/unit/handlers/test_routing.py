"""Which webhook becomes which command, and why the others are ignored; played on GitHub's own examples."""

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.commands import EndInstallation, EndPullRequest, Ignored, Repeat, ReviewCheckedHead, ReviewPullRequest
from domain.runs.run import Trigger
from github.registration import load_manifest
from handlers import EVENTS, translate
from tests.unit.handlers.examples import APP_ID, EXAMPLES, WRONG

EXPECTED = {
    "check_run completed": "action_not_used",
    "check_run created": "action_not_used",
    "check_run requested_action": "unknown_button",
    "check_run rerequested": "review_checked_head",
    "check_suite completed": "own_suite",
    "check_suite requested": "action_not_used",
    "check_suite rerequested": "review_checked_head",
    "deployment_status created": "unknown_event",
    "fork": "unknown_event",
    "installation created": "welcome_repositories",
    "installation deleted": "end_installation",
    "installation new_permissions_accepted": "action_not_used",
    "installation suspend": "end_installation",
    "installation unsuspend": "resume_installation",
    "installation_repositories added": "welcome_repositories",
    "installation_repositories removed": "end_installation",
    "issue_comment created": "no_command",
    "issue_comment deleted": "action_not_used",
    "issue_comment edited": "comment_edited",
    "issues edited": "action_not_used",
    "issues labeled": "labelled_issue",
    "issues opened": "action_not_used",
    "merge_group checks_requested": "report_merge_group",
    "ping": "ping",
    "pull_request assigned": "action_not_used",
    "pull_request closed": "end_pull_request",
    "pull_request converted_to_draft": "review_pull_request",
    "pull_request labeled": "labelled_issue",
    "pull_request opened": "review_pull_request",
    "pull_request ready_for_review": "review_pull_request",
    "pull_request reopened": "review_pull_request",
    "pull_request review_requested": "action_not_used",
    "pull_request synchronize": "review_pull_request",
    "pull_request_review dismissed": "action_not_used",
    "pull_request_review submitted": "no_command",
    "pull_request_review_comment created": "read_reply",
    "pull_request_review_comment deleted": "action_not_used",
    "pull_request_review_comment edited": "comment_edited",
    "pull_request_review_thread resolved": "thread_of_a_person",
    "pull_request_review_thread unresolved": "thread_of_a_person",
    "push": "nothing_rewritten",
    "repository renamed": "follow_repository",
    "repository transferred": "follow_repository",
    "star created": "unknown_event",
    "star deleted": "unknown_event",
    "status": "checks_ended",
    "workflow_run completed": "workflow_tests_no_head",
    "workflow_run requested": "action_not_used",
}


def test_every_event_that_the_app_asks_for_is_used() -> None:
    to_every_app = {"installation", "installation_repositories"}
    assert set(EVENTS) == {*load_manifest()["default_events"], *to_every_app}


def test_every_example_is_expected() -> None:
    assert set(EXAMPLES) == set(EXPECTED)


@pytest.mark.parametrize("name", EXPECTED)
def test_example(name: str) -> None:
    wanted = translate(name.split()[0], EXAMPLES[name], APP_ID)
    assert (wanted.reason if isinstance(wanted, Ignored) else wanted.kind) == EXPECTED[name]


def _pull_request(action: str, **more: object) -> Any:
    return translate("pull_request", {**EXAMPLES["pull_request opened"], "action": action, **more}, APP_ID)


def test_an_opened_pull_request_is_reviewed_as_it_says() -> None:
    payload = EXAMPLES["pull_request opened"]
    command = _pull_request("opened")
    assert isinstance(command, ReviewPullRequest)
    assert command.number == payload["pull_request"]["number"]
    assert command.head_sha == payload["pull_request"]["head"]["sha"]
    assert command.repository.full_name == payload["repository"]["full_name"]
    assert (command.repository.id, command.repository.installation_id) == (
        payload["repository"]["id"],
        payload["installation"]["id"],
    )
    assert command.sender.id == payload["sender"]["id"]
    assert not command.sender.is_app


@pytest.mark.parametrize(
    ("action", "repeat"),
    [
        ("opened", Repeat.never),
        ("synchronize", Repeat.never),
        ("reopened", Repeat.always),
        ("ready_for_review", Repeat.if_excluded),
        ("converted_to_draft", Repeat.if_begun),
    ],
)
def test_what_is_reviewed_again(action: str, repeat: Repeat) -> None:
    command = _pull_request(action)
    assert (command.trigger, command.repeat) == (Trigger.pull_request, repeat)


def test_only_an_edit_of_the_base_counts() -> None:
    assert _pull_request("edited", changes={"title": {"from": "Old"}}).reason == "base_not_changed"
    assert _pull_request("edited", changes={}).reason == "base_not_changed"
    assert isinstance(_pull_request("edited", changes={"base": {"ref": {"from": "main"}}}), ReviewPullRequest)


def test_a_closed_pull_request_ends_its_runs() -> None:
    command = _pull_request("closed")
    assert isinstance(command, EndPullRequest)
    assert command.number == EXAMPLES["pull_request opened"]["pull_request"]["number"]


def _check(event: str, **more: Any) -> Any:
    name = {"check_run": "check_run rerequested", "check_suite": "check_suite rerequested"}[event]
    return translate(event, {**EXAMPLES[name], **more}, APP_ID)


@pytest.mark.parametrize("event", ["check_run", "check_suite"])
def test_a_check_is_run_again_for_a_person_and_by_its_own_app_only(event: str) -> None:
    command = _check(event)
    assert isinstance(command, ReviewCheckedHead)
    assert command.trigger is Trigger.rerequested
    assert command.head_sha == EXAMPLES[f"{event} rerequested"][event]["head_sha"]
    bot = {"id": 7, "login": "dependabot[bot]", "type": "Bot"}
    assert _check(event, sender=bot).reason == "sent_by_an_app"
    assert translate(event, EXAMPLES[f"{event} rerequested"], APP_ID + 1) == Ignored(reason="check_of_another_app")


def test_the_button_of_a_check_that_is_ours() -> None:
    payload = EXAMPLES["check_run requested_action"]
    pressed = {**payload, "requested_action": {"identifier": "review"}}
    command = translate("check_run", pressed, APP_ID)
    assert isinstance(command, ReviewCheckedHead)
    assert command.trigger is Trigger.requested_action
    assert translate("check_run", {**pressed, "requested_action": None}, APP_ID) == command  # GitHub left it out
    other = {**pressed, "requested_action": {"identifier": "other"}}
    assert translate("check_run", other, APP_ID) == Ignored(reason="unknown_button")


def test_lost_repositories() -> None:
    everything = translate("installation", EXAMPLES["installation deleted"], APP_ID)
    assert isinstance(everything, EndInstallation)
    assert everything.repository_ids is None
    payload = EXAMPLES["installation_repositories removed"]
    some = translate("installation_repositories", payload, APP_ID)
    assert isinstance(some, EndInstallation)
    assert some.repository_ids == tuple(each["id"] for each in payload["repositories_removed"])


@pytest.mark.parametrize(
    "name", [name for name, kind in EXPECTED.items() if kind.startswith(("review_", "end_", "report_"))]
)
def test_a_part_that_is_missing_or_of_another_kind(name: str) -> None:
    """No command is made of half a payload, and nothing else than a reason comes of it."""
    payload = EXAMPLES[name]
    event = name.split()[0]
    parts = "pull_request", "merge_group", "check_run", "check_suite", "repository", "installation", "sender"
    needed = [part for part in parts if part in payload]
    for key in needed:
        for value in WRONG:
            assert translate(event, {**payload, key: value}, APP_ID) == Ignored(reason="incomplete_payload"), (
                key,
                value,
            )
        if key != "sender":  # GitHub's description calls it optional: what nobody sent is no person's word
            left = {name: value for name, value in payload.items() if name != key}
            assert translate(event, left, APP_ID) == Ignored(reason="incomplete_payload"), key


@pytest.mark.parametrize("name", EXPECTED)
def test_t_w14_a_body_of_another_event(name: str) -> None:
    """The signature does not cover the event's name: under another one a body does nothing."""
    for event in EVENTS.keys() - {name.split()[0]}:
        found = translate(event, EXAMPLES[name], APP_ID)
        assert isinstance(found, Ignored), event
        assert found.reason in {"not_of_this_event", "incomplete_payload"}, event


def test_t_w14_an_event_that_forge_does_not_know_is_no_event_of_the_repository() -> None:
    """A label, a milestone or a project of GitHub's that is deleted carries the repository, too."""
    payload = {**EXAMPLES["repository renamed"], "action": "deleted"}
    assert isinstance(translate("repository", payload, APP_ID), EndInstallation)
    for part in ("label", "milestone", "project"):
        assert translate("repository", {**payload, part: {"id": 1}}, APP_ID) == Ignored(reason="incomplete_payload")
    other = {**EXAMPLES["installation deleted"], "installation": {"id": 5, "node_id": "x"}}
    assert translate("installation", other, APP_ID) == Ignored(reason="incomplete_payload")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=10,
)


@given(
    name=st.sampled_from(sorted(EXPECTED)),
    changes=st.dictionaries(
        st.sampled_from(["action", "sender", "repository", "installation", "pull_request", "check_run", "comment"]),
        JSON,
        max_size=3,
    ),
)
def test_nothing_but_a_command_or_a_reason(name: str, changes: Mapping[str, Any]) -> None:
    """Whatever the payload holds, translating it raises nothing."""
    translate(name.split()[0], {**EXAMPLES[name], **changes}, APP_ID)


@pytest.mark.parametrize(
    ("title", "body", "number"),
    [
        ('Revert "A change"', "Reverts {here}#41", 41),
        ('Revert "A change"', "Reverts {here}#41\r\n\r\nIt lost money.", 41),
        ('Revert "A change"', "Because.\n\nReverts {here}#41", 41),
        ('Revert "A change"', None, None),
        ('Revert "A change"', "This reverts commit abc.", None),
        ('Revert "A change"', "Reverts somebody/else#41", None),
        ('Revert "A change"', "> Reverts {here}#41", None),
        ('Revert "A change"', "Reverts {here}#0", None),
        ("Take a change back", "Reverts {here}#41", None),
    ],
)
def test_a_revert_names_what_it_takes_back(title: str, body: str | None, number: int | None) -> None:
    example = EXAMPLES["pull_request opened"]
    said = None if body is None else body.format(here=example["repository"]["full_name"].upper())
    command = _pull_request("closed", pull_request={**example["pull_request"], "title": title, "body": said})
    assert isinstance(command, EndPullRequest)
    assert command.reverts == number
