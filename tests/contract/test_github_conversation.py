"""Comments, replies, reactions and threads over real HTTP, end to end against the simulator."""

import pytest

from domain.errors import Forbidden, NotFound, RateLimited, Unavailable, Unprocessable
from domain.github.conversation import CommentKind, CommentRef, Reaction, Thumb
from domain.github.pull_requests import DraftReview, InlineComment
from simulator.state import ReviewComment, Thread
from tests.contract.stage import CODE, Stage

MARKER = "<!-- forge:reply:1:0123abcd -->"


async def _post_review(stage: Stage, *lines: int) -> int:
    """Forge's review with a comment on each line; its id."""
    comments = tuple(InlineComment(path="a.py", start_line=line, line=line, body=f"on {line}") for line in lines)
    draft = DraftReview(head_sha=stage.head, body="Look", comments=comments)
    return await stage.host.create_review(stage.repository, 1, draft)


async def _root(stage: Stage) -> ReviewComment:
    await _post_review(stage, 3)
    return stage.sim.review_comments(stage.pull)[0]


def _thread(stage: Stage) -> Thread:
    return stage.pull.threads[0]


async def test_each_kind_of_comment_is_reacted_to_and_twice_is_once(stage: Stage) -> None:
    plain = await stage.ann.comment(stage.pull, "/forge status")
    on_line = await stage.ann.comment_on_line(stage.pull, "a.py", 3, "/forge status")
    review = await stage.ann.review(stage.pull, "COMMENT", "/forge status")
    subjects = {
        CommentKind.issue_comment: (plain, f"IC_{plain.id}"),
        CommentKind.review_comment: (on_line, f"PRRC_{on_line.id}"),
        CommentKind.review: (review, f"PRR_{review.id}"),
    }
    for kind, (subject, node_id) in subjects.items():
        reference = CommentRef(kind=kind, id=subject.id, node_id=node_id)
        for reaction in (Reaction.seen, Reaction.seen, Reaction.confused):
            await stage.host.react(stage.repository, reference, reaction)
        assert [one.content for one in subject.reactions] == ["eyes", "confused"]
        assert {one.user for one in subject.reactions} == {stage.sim.app.bot}


async def test_a_comment_is_written_found_and_edited(stage: Stage) -> None:
    host, repository = stage.host, stage.repository
    await stage.ann.comment(stage.pull, f"I copied {MARKER}")
    for number in range(120):
        await stage.ann.comment(stage.pull, f"chatter {number}")
    assert await host.find_comment(repository, 1, MARKER) is None
    made = await host.create_comment(repository, 1, f"Done\n\n{MARKER}")
    assert await host.find_comment(repository, 1, MARKER) == made
    await host.edit_comment(repository, made, f"Done again\n\n{MARKER}")
    assert stage.pull.comments[-1].body == f"Done again\n\n{MARKER}"


async def test_a_half_list_of_comments_is_not_taken_for_all(stage: Stage) -> None:
    for number in range(120):
        await stage.ann.comment(stage.pull, f"chatter {number}")
    await stage.host.create_comment(stage.repository, 1, MARKER)
    stage.sim.faults.add(kind="before", path="/comments", skip=1, times=None)
    with pytest.raises(Unavailable):
        await stage.host.find_comment(stage.repository, 1, MARKER)


async def test_a_comment_whose_answer_was_lost_is_found_not_repeated(stage: Stage) -> None:
    stage.sim.faults.add(kind="reset", method="POST", path="/comments")
    with pytest.raises(Unavailable):
        await stage.host.create_comment(stage.repository, 1, MARKER)
    assert [one.body for one in stage.pull.comments] == [MARKER]
    assert await stage.host.find_comment(stage.repository, 1, MARKER) == stage.pull.comments[0].id


async def test_a_reply_stands_in_its_thread_and_is_found_there_only(stage: Stage) -> None:
    host, repository = stage.host, stage.repository
    await _post_review(stage, 3, 7)
    first, second = stage.sim.review_comments(stage.pull)
    await stage.ann.reply(first, MARKER)
    assert await host.find_reply(repository, 1, first.id, MARKER) is None
    made = await host.create_reply(repository, 1, first.id, f"Receipt {MARKER}")
    assert await host.find_reply(repository, 1, first.id, MARKER) == made
    assert await host.find_reply(repository, 1, second.id, MARKER) is None
    assert [one.id for one in _thread(stage).comments][-1] == made


async def test_the_comments_of_a_review_by_id(stage: Stage) -> None:
    await _post_review(stage, 3)
    review = await _post_review(stage, 7, 9)
    found = await stage.host.comments_of_review(stage.repository, 1, review)
    assert list(found.values()) == ["on 7", "on 9"]


async def test_thumbs_over_their_pages_with_who_gave_them(stage: Stage) -> None:
    """Only of the comments that are asked for, and asked only where there are any."""
    await _post_review(stage, 3, 7, 9)
    first, second, third = stage.sim.review_comments(stage.pull)
    people = [stage.sim.user(f"user-{number}") for number in range(120)]
    for person in people:
        await person.react(first, "+1")
    for content in ("heart", "-1", "+1"):
        await stage.ann.react(first, content)
    await stage.ann.react(second, "eyes")
    await stage.ann.react(third, "-1")
    bot = CommentRef(kind=CommentKind.review_comment, id=first.id, node_id=f"PRRC_{first.id}")
    await stage.host.react(stage.repository, bot, Reaction.done)
    found = await stage.host.thumbs(stage.repository, 1, {first.id, second.id})
    assert {each.comment_id for each in found} == {first.id}
    assert [each.account_id for each in found[:120]] == [person.id for person in people]
    assert [(each.login, each.thumb, each.is_person) for each in found[120:]] == [
        ("ann", Thumb.down, True),
        ("ann", Thumb.up, True),
        ("forge[bot]", Thumb.up, False),
    ]
    asked = [each.path for each in stage.sim.requests if each.method == "GET" and each.path.endswith("/reactions")]
    assert len(asked) == 2
    assert all(f"/comments/{first.id}/" in path for path in asked)


async def test_threads_with_who_wrote_in_them(stage: Stage) -> None:
    root = await _root(stage)
    reply = await stage.ann.reply(root, "no")
    [thread] = await stage.host.review_threads(stage.repository, 1)
    bot = stage.sim.app.bot.id
    assert [(one.id, one.author_id) for one in thread.comments] == [(root.id, bot), (reply.id, stage.ann.id)]
    assert (thread.is_resolved, thread.is_whole, thread.line) == (False, True, root.line)
    await stage.ann.push(stage.shelf, "topic", {"a.py": CODE.replace("line 3\n", "other\n")})
    [thread] = await stage.host.review_threads(stage.repository, 1)
    assert thread.line is None  # as its line is gone


async def test_all_threads_are_listed_over_their_pages(stage: Stage) -> None:
    for _ in range(4):
        await _post_review(stage, *range(1, 31))
    threads = await stage.host.review_threads(stage.repository, 1)
    assert len({thread.id for thread in threads}) == 120


async def test_a_thread_with_more_comments_than_shown_is_not_whole(stage: Stage) -> None:
    root = await _root(stage)
    for number in range(100):
        await stage.ann.reply(root, f"{number}")
    [thread] = await stage.host.review_threads(stage.repository, 1)
    assert (len(thread.comments), thread.is_whole) == (100, False)


async def test_a_thread_is_resolved_and_stays_so(stage: Stage) -> None:
    await _root(stage)
    for _ in range(2):
        await stage.host.resolve_thread(stage.repository, _thread(stage).node_id)
    assert _thread(stage).resolved_by is stage.sim.app.bot


async def test_a_resolved_thread_tells_by_whom_and_is_opened_again(stage: Stage) -> None:
    await _root(stage)
    for resolved_by in (stage.sim.app.bot.id, stage.ann.id):
        if resolved_by == stage.ann.id:
            await stage.ann.resolve(_thread(stage))
        else:
            await stage.host.resolve_thread(stage.repository, _thread(stage).node_id)
        [thread] = await stage.host.review_threads(stage.repository, 1)
        assert (thread.is_resolved, thread.resolved_by) == (True, resolved_by)
        for _ in range(2):
            await stage.host.unresolve_thread(stage.repository, thread.id)
        [thread] = await stage.host.review_threads(stage.repository, 1)
        assert (thread.is_resolved, thread.resolved_by) == (False, None)


async def test_a_thread_or_pull_request_that_is_gone(stage: Stage) -> None:
    with pytest.raises(NotFound, match="PRRT_0"):
        await stage.host.resolve_thread(stage.repository, "PRRT_0")
    with pytest.raises(NotFound, match="number of 99"):
        await stage.host.review_threads(stage.repository, 99)


async def test_without_the_permission_for_contents_a_thread_is_not_resolved(stage: Stage) -> None:
    await _root(stage)
    for token in stage.sim.world.tokens.values():
        token.permissions["contents"] = "read"
    with pytest.raises(Forbidden, match="permissions"):
        await stage.host.resolve_thread(stage.repository, _thread(stage).node_id)


async def test_graphql_that_fails_in_passing_is_asked_again(stage: Stage) -> None:
    await _root(stage)
    stage.sim.faults.add(kind="reset", path="/graphql", times=2)
    assert len(await stage.host.review_threads(stage.repository, 1)) == 1


async def test_a_spent_graphql_budget_waits(stage: Stage) -> None:
    await _root(stage)
    stage.installation.rate_limit = 1
    await stage.host.review_threads(stage.repository, 1)
    with pytest.raises(RateLimited) as caught:
        await stage.host.review_threads(stage.repository, 1)
    assert caught.value.until > stage.clock.now()


async def test_an_empty_comment_is_refused(stage: Stage) -> None:
    with pytest.raises(Unprocessable):
        await stage.host.create_comment(stage.repository, 1, "")


async def test_a_label_is_created_and_put_once(stage: Stage) -> None:
    issue = await stage.ann.open_issue(stage.shelf, "Slow", labels=["bug"])
    for subject in (stage.pull, issue):
        for name in ("forge: low risk", "Forge: Low Risk", "bug"):
            await stage.host.add_label(stage.repository, subject.number, name)
        assert {label.name for label in subject.labels} == {"bug", "forge: low risk"}
    await stage.sim.settle()
    labelled = [one for one in stage.sim.deliveries if one.payload.get("action") == "labeled"]
    assert [one.payload["label"]["name"] for one in labelled].count("forge: low risk") == 2


async def test_a_label_is_taken_off_once(stage: Stage) -> None:
    await stage.host.add_label(stage.repository, stage.pull.number, "low risk: ja")
    for _ in range(2):
        await stage.host.remove_label(stage.repository, stage.pull.number, "low risk: ja")
    assert list(stage.pull.labels) == []


async def test_a_label_that_github_does_not_take(stage: Stage) -> None:
    with pytest.raises(Unprocessable, match="name"):
        await stage.host.add_label(stage.repository, 1, "x" * 51)
    with pytest.raises(NotFound):
        await stage.host.add_label(stage.repository, 99, "bug")
