"""From the webhook of a comment, a review or a thread to a command, or to the reason it is ignored."""

from datetime import UTC, datetime
from typing import Any

import pytest

from domain.commands import ChangesRequested, ExecuteComment, Ignored, ReadReply, RecordThread, Sender
from domain.github.conversation import CommentKind, CommentRef
from domain.slash import Dismiss, PlainCommand, Problem, SlashMistake
from domain.verbs import Verb
from handlers import translate
from tests.unit.handlers.payloads import ANN, APP_ID, BOB, FORGE, HEAD, issue_comment, review, review_comment, thread

STATUS = (PlainCommand(verb=Verb.status),)


def _translate(event: str, payload: dict[str, Any]) -> ExecuteComment:
    command = translate(event, payload, APP_ID)
    assert isinstance(command, ExecuteComment), command
    return command


def _reason(event: str, payload: dict[str, Any]) -> str:
    ignored = translate(event, payload, APP_ID)
    assert isinstance(ignored, Ignored), ignored
    return ignored.reason


def test_a_comment_below_a_pull_request() -> None:
    command = _translate("issue_comment", issue_comment("/forge status"))
    assert command.asked == STATUS
    assert command.comment == CommentRef(kind=CommentKind.issue_comment, id=11, node_id="N_11")
    assert command.sender == Sender(id=5, login="ann")
    assert (command.number, command.is_pull_request, command.opened_by, command.head_sha) == (3, True, 6, None)
    assert command.written_at == datetime(2026, 3, 1, 12, tzinfo=UTC)


def test_a_comment_below_an_issue() -> None:
    assert not _translate("issue_comment", issue_comment("/forge run", pull=False)).is_pull_request


def test_a_reply_in_a_thread_names_its_root() -> None:
    command = _translate("pull_request_review_comment", review_comment("/forge dismiss not a bug", reply_to=21))
    assert command.asked == (Dismiss(reason="not a bug"),)
    assert (command.comment.kind, command.comment.thread) == (CommentKind.review_comment, 21)
    assert command.head_sha == HEAD


def test_a_comment_that_begins_a_thread_must_name_the_finding() -> None:
    [made] = _translate("pull_request_review_comment", review_comment("/forge dismiss not a bug")).asked
    assert isinstance(made, SlashMistake)
    assert made.problem is Problem.no_finding


def test_words_on_the_diff_without_a_command() -> None:
    made = translate("pull_request_review_comment", review_comment("Is that so?", reply_to=21), APP_ID)
    assert isinstance(made, ReadReply)
    assert (made.words, made.path, made.line, made.comment.thread) == ("Is that so?", "app.py", 3, 21)
    assert (made.opened_by, made.head_sha) == (6, HEAD)


@pytest.mark.parametrize("words", ["", "\u200b", " \n "])
def test_a_comment_that_shows_nothing_says_nothing(words: str) -> None:
    assert _reason("pull_request_review_comment", review_comment(words, reply_to=21)) == "no_command"


def test_a_review_that_requests_changes_in_words() -> None:
    made = translate("pull_request_review", review("Put it in brackets.", state="changes_requested"), APP_ID)
    assert isinstance(made, ChangesRequested)
    assert (made.head_sha, made.sender.login) == (HEAD, ANN["login"])
    assert _reason("pull_request_review", review("Fine.", state="approved")) == "no_command"
    assert _reason("pull_request_review", review("x", "edited", state="changes_requested")) == "comment_edited"
    by_command = _translate("pull_request_review", review("/forge status", state="changes_requested"))
    assert by_command.asked == STATUS


def test_the_body_of_a_review() -> None:
    command = _translate("pull_request_review", review("Fine so far\n\n/forge status"))
    assert (command.asked, command.comment.kind, command.head_sha) == (STATUS, CommentKind.review, HEAD)
    assert _reason("pull_request_review", review(None)) == "no_command"


def test_without_a_command_nothing_is_asked() -> None:
    assert _reason("issue_comment", issue_comment("What does /forge status do?")) == "no_command"


def test_a_thread_that_begins_asks_nothing() -> None:
    assert _reason("pull_request_review_thread", thread("opened")) == "action_not_used"


@pytest.mark.parametrize("action", ["resolved", "unresolved"])
def test_a_person_resolves_a_thread_or_opens_it_again(action: str) -> None:
    command = translate("pull_request_review_thread", thread(action), APP_ID)
    assert isinstance(command, RecordThread)
    assert (command.root, command.thread, command.is_resolved) == (21, "PRRT_1", action == "resolved")
    assert (command.sender.id, command.number, command.head_sha) == (5, 3, HEAD)


@pytest.mark.parametrize(
    ("payload", "reason"),
    [
        (thread("resolved", sender=FORGE), "sent_by_an_app"),
        (thread("resolved", root=BOB), "thread_of_a_person"),
        (thread("resolved", root=None), "thread_of_a_person"),
        ({**thread("resolved"), "thread": {"node_id": "PRRT_1", "comments": []}}, "incomplete_payload"),
        ({**thread("resolved"), "sender": None}, "incomplete_payload"),
    ],
)
def test_threads_that_mean_nothing(payload: dict[str, Any], reason: str) -> None:
    assert _reason("pull_request_review_thread", payload) == reason


@pytest.mark.parametrize("missing", ["comment", "issue", "repository", "installation"])
def test_a_payload_without_what_is_needed(missing: str) -> None:
    payload = issue_comment("/forge status")
    del payload[missing]
    assert _reason("issue_comment", payload) == "incomplete_payload"


def test_what_nobody_sent_is_no_persons_word() -> None:
    payload = issue_comment("/forge status")
    del payload["sender"]
    assert _reason("issue_comment", payload) == "sent_by_an_app"


def test_a_stranger_may_speak_for_nobody_else() -> None:
    assert _reason("issue_comment", issue_comment("/forge status", user=BOB)) == "sender_is_not_the_author"
    assert _reason("issue_comment", issue_comment("/forge status", user=None)) == "sent_by_an_app"
    assert _translate("issue_comment", issue_comment("/forge status", user=ANN)).sender.id == ANN["id"]
