"""Pull requests of Forge's own over real HTTP, end to end against the simulator."""

import pytest

from domain.errors import Forbidden, NotFound, Unavailable, Unprocessable
from domain.github.conversation import CommentEdit
from domain.github.pull_requests import Branch, PullRequest
from simulator.errors import Kind, Moment, RequestInfo
from tests.contract.stage import Stage

BRANCH = "forge/issue-2"


async def _propose(stage: Stage, *, base: str = "main", draft: bool = True, title: str = "Fix it") -> PullRequest:
    return await stage.host.open_pull_request(stage.repository, BRANCH, base, title, "Closes #2", draft)


async def _push_branch(stage: Stage) -> str:
    """Forge's branch with a change."""
    return await stage.ann.push(stage.shelf, BRANCH, {"b.py": "x\n"}, base="main")


def _count_pulls(stage: Stage) -> int:
    return len(stage.shelf.pulls()) - 1


def _take_away(stage: Stage, permission: str) -> None:
    for token in stage.sim.world.tokens.values():
        token.permissions[permission] = "read"


async def test_the_default_branch_and_where_it_is_now(stage: Stage) -> None:
    main = stage.shelf.git.branch("main")
    assert await stage.host.default_branch(stage.repository) == Branch(name="main", head_sha=main or "")
    moved = await stage.ann.push(stage.shelf, "main", {"b.py": "x\n"})
    assert (await stage.host.default_branch(stage.repository)).head_sha == moved
    await stage.ann.push(stage.shelf, "release/1", {"c.py": "x\n"}, base="main")
    stage.shelf.default_branch = "release/1"
    assert (await stage.host.default_branch(stage.repository)).name == "release/1"


async def test_a_repository_without_a_commit_or_under_a_name_that_was_taken(stage: Stage) -> None:
    stage.shelf.default_branch = "gone"
    with pytest.raises(NotFound, match="Branch not found"):
        await stage.host.default_branch(stage.repository)
    stage.shelf.default_branch = "main"
    old = stage.repository
    stage.sim.rename(stage.shelf, "cupboard")
    assert (await stage.host.default_branch(old)).name == "main"
    stage.sim.install(stage.sim.create_repository("acme/shelf", {"a.py": ""}))
    with pytest.raises(NotFound, match="another repository now"):
        await stage.host.default_branch(old)
    with pytest.raises(NotFound, match="another repository now"):
        await stage.host.find_pull_request(old, BRANCH)


async def test_a_branch_is_proposed_and_found(stage: Stage) -> None:
    head = await _push_branch(stage)
    assert await stage.host.find_pull_request(stage.repository, BRANCH) is None
    made = await _propose(stage)
    assert (made.number, made.title, made.is_draft, made.is_open) == (2, "Fix it", True, True)
    assert (made.head_sha, made.head_ref, made.base_ref) == (head, BRANCH, "main")
    assert (made.author_id, made.author_is_bot) == (stage.sim.app.bot.id, True)
    assert not made.is_from_fork(stage.shelf.id)
    assert await stage.host.find_pull_request(stage.repository, BRANCH) == made
    assert stage.shelf.issues[2].body == "Closes #2"


async def test_without_a_draft_it_is_one_at_once(stage: Stage) -> None:
    await _push_branch(stage)
    assert not (await _propose(stage, draft=False)).is_draft


async def test_where_there_are_no_drafts_it_is_a_plain_one(stage: Stage) -> None:
    await _push_branch(stage)
    stage.shelf.drafts = False
    made = await _propose(stage)
    assert not made.is_draft
    assert _count_pulls(stage) == 1
    assert await stage.host.find_pull_request(stage.repository, BRANCH) == made


@pytest.mark.parametrize("kind", ["after", "reset"])
async def test_a_pull_request_whose_answer_was_lost_is_found_not_repeated(stage: Stage, kind: Kind) -> None:
    await _push_branch(stage)
    stage.sim.faults.add(kind=kind, method="POST", path="/pulls$")
    with pytest.raises(Unavailable):
        await _propose(stage)
    found = await stage.host.find_pull_request(stage.repository, BRANCH)
    assert found is not None
    assert found.is_draft
    assert (_count_pulls(stage), stage.count_requests("/pulls")) == (1, 2)


async def test_what_cannot_be_proposed(stage: Stage) -> None:
    with pytest.raises(Unprocessable, match="head"):
        await _propose(stage)
    await stage.ann.push(stage.shelf, BRANCH, {}, base="main")
    await stage.ann.reset_branch(stage.shelf, BRANCH, stage.shelf.git.branch("main") or "")
    with pytest.raises(Unprocessable, match="No commits"):
        await _propose(stage)
    await stage.ann.push(stage.shelf, BRANCH, {"b.py": "x\n"})
    with pytest.raises(Unprocessable, match="base"):
        await _propose(stage, base="gone")
    for title in ("", "x" * 257):
        with pytest.raises(Unprocessable, match="title"):
            await _propose(stage, title=title)
    assert _count_pulls(stage) == 0
    await _propose(stage)
    with pytest.raises(Unprocessable, match="already exists"):
        await _propose(stage)
    assert _count_pulls(stage) == 1


async def test_without_the_permission_nothing_is_opened(stage: Stage) -> None:
    await _push_branch(stage)
    await stage.host.pull_request(stage.repository, 1)
    _take_away(stage, "pull_requests")
    with pytest.raises(Forbidden):
        await _propose(stage)
    assert _count_pulls(stage) == 0


async def test_only_an_open_one_from_this_branch_of_the_repository_itself_is_found(stage: Stage) -> None:
    await _push_branch(stage)
    mallory = stage.sim.user("mallory")
    stage.sim.grant(stage.shelf, mallory, "read")
    fork = await mallory.fork(stage.shelf)
    await mallory.push(fork, BRANCH, {"evil.py": "x\n"}, base="main")
    await mallory.open_pull_request(stage.shelf, BRANCH, head_repo=fork)
    assert await stage.host.find_pull_request(stage.repository, BRANCH) is None
    for other in ("topi", "forge/issue", f"{BRANCH}0", "mallory:topic"):
        assert await stage.host.find_pull_request(stage.repository, other) is None
    made = await _propose(stage)
    assert await stage.host.find_pull_request(stage.repository, BRANCH) == made
    await stage.ann.close(stage.shelf.issues[made.number])
    assert await stage.host.find_pull_request(stage.repository, BRANCH) is None


async def test_of_several_the_oldest_is_found(stage: Stage) -> None:
    await stage.ann.push(stage.shelf, "next", {"n.py": "x\n"}, base="main")
    await _push_branch(stage)
    first = await _propose(stage)
    await _propose(stage, base="next")
    assert await stage.host.find_pull_request(stage.repository, BRANCH) == first


async def test_it_is_found_by_the_present_name_of_its_owner(stage: Stage) -> None:
    await _push_branch(stage)
    made = await _propose(stage)
    called_otherwise = stage.repository.model_copy(update={"owner": "ACME"})
    assert await stage.host.find_pull_request(called_otherwise, BRANCH) == made


async def test_a_draft_is_made_ready_once(stage: Stage) -> None:
    await _push_branch(stage)
    made = await _propose(stage)
    for _ in range(2):
        await stage.host.mark_ready(stage.repository, made.number)
        assert not (await stage.host.pull_request(stage.repository, made.number)).is_draft
    assert stage.count_requests("/graphql") == 1
    told = [one.payload["action"] for one in stage.sim.deliveries if one.event == "pull_request"]
    assert told == ["opened", "opened", "ready_for_review"]


async def test_ready_whose_answer_was_lost_is_found_to_be_so(stage: Stage) -> None:
    await _push_branch(stage)
    made = await _propose(stage)
    stage.sim.faults.add(kind="reset", path="/graphql")
    await stage.host.mark_ready(stage.repository, made.number)
    assert stage.count_requests("/graphql") == 1


async def test_ready_that_did_not_arrive_may_be_said_again(stage: Stage) -> None:
    await _push_branch(stage)
    made = await _propose(stage)
    stage.sim.faults.add(kind="reset_before", path="/graphql")
    with pytest.raises(Unavailable):
        await stage.host.mark_ready(stage.repository, made.number)
    assert (await stage.host.pull_request(stage.repository, made.number)).is_draft
    await stage.host.mark_ready(stage.repository, made.number)
    assert not (await stage.host.pull_request(stage.repository, made.number)).is_draft


async def test_a_draft_is_described_made_ready_and_told_of_in_one_write(stage: Stage) -> None:
    await _push_branch(stage)
    made = await _propose(stage)
    shown = stage.shelf.issues[made.number]
    said = CommentEdit(comment_id=await stage.host.create_comment(stage.repository, 1, "It goes on"), body="It is done")
    for body, told in (("It passed", True), ("It passed twice", False)):  # the second time it is no draft any more
        assert await stage.host.mark_ready(stage.repository, made.number, body, said) is told
        assert (shown.title, shown.body) == ("Fix it", body)
        assert not (await stage.host.pull_request(stage.repository, made.number)).is_draft
        assert stage.count_requests("/graphql") == 1
    assert [comment.body for comment in stage.shelf.issues[1].comments] == ["It is done"]


async def test_a_draft_is_made_ready_although_the_comment_is_gone(stage: Stage) -> None:
    await _push_branch(stage)
    made = await _propose(stage)
    assert not await stage.host.mark_ready(stage.repository, made.number, None, CommentEdit(comment_id=99, body="Done"))
    assert not (await stage.host.pull_request(stage.repository, made.number)).is_draft
    assert stage.shelf.issues[made.number].body == "Closes #2"


async def test_a_comment_that_is_deleted_while_it_is_made_ready_takes_nothing_with_it(stage: Stage) -> None:
    """GitHub makes the other writes of the request all the same."""
    await _push_branch(stage)
    made = await _propose(stage)
    said = CommentEdit(comment_id=await stage.host.create_comment(stage.repository, 1, "It goes on"), body="It is done")

    async def delete(request: RequestInfo, moment: Moment) -> None:
        if request.path == "/graphql" and moment == "before":
            await stage.ann.delete_comment(stage.shelf.issues[1].comments[0])

    stage.sim.on_write(delete)
    assert not await stage.host.mark_ready(stage.repository, made.number, "It passed", said)
    assert not (await stage.host.pull_request(stage.repository, made.number)).is_draft
    assert stage.shelf.issues[made.number].body == "It passed"


async def test_a_description_that_is_too_long_is_refused_here_too(stage: Stage) -> None:
    await _push_branch(stage)
    made = await _propose(stage)
    with pytest.raises(Unprocessable):
        await stage.host.mark_ready(stage.repository, made.number, "x" * 65_537)
    assert stage.shelf.issues[made.number].body == "Closes #2"


@pytest.mark.parametrize("permission", ["pull_requests", "contents"])
async def test_without_the_permissions_a_draft_stays_one(stage: Stage, permission: str) -> None:
    await _push_branch(stage)
    made = await _propose(stage)
    _take_away(stage, permission)
    with pytest.raises(Forbidden, match="permissions"):
        await stage.host.mark_ready(stage.repository, made.number)
    assert (await stage.host.pull_request(stage.repository, made.number)).is_draft


async def test_the_title_and_description_are_replaced(stage: Stage) -> None:
    await _push_branch(stage)
    made = await _propose(stage)
    for _ in range(2):
        await stage.host.update_pull_request(stage.repository, made.number, "Fix it well", "")
    shown = stage.shelf.issues[made.number]
    assert (shown.title, shown.body) == ("Fix it well", "")
    assert (await stage.host.pull_request(stage.repository, made.number)).is_draft


async def test_a_text_that_github_does_not_take_changes_nothing(stage: Stage) -> None:
    for title, body in (("", "x"), ("x" * 257, "x"), ("x", "x" * 65_537)):
        with pytest.raises(Unprocessable):
            await stage.host.update_pull_request(stage.repository, 1, title, body)
    with pytest.raises(NotFound):
        await stage.host.update_pull_request(stage.repository, 99, "x", "x")
    with pytest.raises(NotFound):
        await stage.host.mark_ready(stage.repository, 99)
    assert (stage.pull.title, stage.pull.body) == ("Add lines", None)
