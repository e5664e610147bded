"""The result of an issue's run reaches GitHub: a branch of its own and one pull request, whatever happens between."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import pytest

from domain.commands import Repeat
from domain.errors import CodeAccessError, Superseded, Unavailable
from domain.github.commits import Signature
from domain.github.pull_requests import PullRequest
from domain.runs.run import RepositoryRef, Run, Trigger
from domain.text.escaping import Markers
from memory.db.engine import Database
from memory.runs import runs
from memory.runs.runs import Candidate
from messages.pull_request import UNSIGNED, explain_refused_push, push_refused
from pipeline.context import Services
from pipeline.issue.pull_request import MAX_NAMES, BranchPusher, NotProposed
from pipeline.publishing.pull_requests import PushResult, find_signed
from simulator.errors import Kind
from tests.contract.stage import Stage
from tests.databases import create_database
from workspace.mirror import Mirror, Mirrors
from workspace.patches.tree import load_tree

FORGE = Signature(name="forge[bot]", email="77+forge[bot]@users.noreply.github.com")
AT = datetime(2026, 3, 1, 12, 30, tzinfo=UTC)
BRANCH = "forge/9-lines"
ISSUE = 9
PUSH, PULLS = "/git-receive-pack$", "/pulls$"


def pushed_to(branch: str) -> PushResult:
    return PushResult(outcome="pushed", branch=branch)


@dataclass
class Work:
    """A run of an issue, with its mirror and what it may do."""

    stage: Stage
    services: Services
    mirror: Mirror
    run: Run
    made: dict[tuple[str, str], str] = field(default_factory=dict[tuple[str, str], str])

    @property
    def proposal(self) -> BranchPusher:
        return BranchPusher(self.services, self.run)

    async def commit(self, content: str, parent: str = "") -> str:
        parent, files = parent or self.run.head_sha, {"a.py": content.encode()}
        change = (await load_tree(self.mirror, parent, files)).replace(files)
        sha = await self.mirror.commit_change(parent, change, content, FORGE, AT)
        self.made[await self.mirror.tree_of(sha), content.strip()] = sha
        return sha

    async def push(self, sha: str, branch: str = BRANCH) -> PushResult:
        return await self.proposal.push(self.mirror, sha, branch)

    async def open(self, branch: str = BRANCH) -> PullRequest:
        return await self.proposal.open(branch, "Add lines", "Closes #9")

    def head(self, branch: str = BRANCH) -> str | None:
        """The head of a branch, by the name of Forge's own commit where GitHub made it anew."""
        git = self.stage.shelf.git
        sha = git.branch(branch)
        return None if sha is None else self.made.get((git.commit(sha).tree, git.commit(sha).message), sha)

    def count_pushes(self) -> int:
        return sum(request.path.endswith("/git-receive-pack") for request in self.stage.sim.requests)

    def count_pulls(self) -> int:
        return sum(each.user is self.stage.sim.app.bot for each in self.stage.shelf.pulls())

    async def dies_before_recording(self, write: Callable[[], Awaitable[Any]]) -> None:
        """Make a write whose effect happens, while the process dies before it knows."""
        services = self.services
        self.services = replace(services, clock=_Dying(lambda: self.count_pushes() + self.count_pulls()))
        with pytest.raises(KeyboardInterrupt):
            await write()
        self.services = services


class _Dying:
    """The clock is read when a write is recorded: at the first look after it the process is gone.

    :param count: the writes so far.
    """

    def __init__(self, count: Callable[[], int]) -> None:
        self._count, self._before = count, count()

    def now(self) -> datetime:
        if self._count() > self._before:
            raise KeyboardInterrupt
        return AT


async def admit_run(database: Database, repository: RepositoryRef, head: str, by: str) -> Run:
    """A run that owns the issue now."""
    fence = await runs.get_fence(database, repository.id, ISSUE)
    wish = Candidate(by, repository, ISSUE, head, head, Trigger.plan, Repeat.always)
    run = (await runs.admit(database, wish, fence, AT)).run
    assert run is not None
    return run


@pytest.fixture
async def work(stage: Stage, tmp_path: Path) -> AsyncGenerator[Work]:
    database = Database(create_database("sqlite", tmp_path))
    mirrors = Mirrors(tmp_path / "mirrors", seconds=20)
    services = Services(
        database=database,
        host=stage.host,
        outbound=cast(Any, None),
        clock=stage.clock,
        mirrors=mirrors,
        toolbox=cast(Any, None),
        open_gateway=cast(Any, None),
        markers=Markers(b"key"),
        models=cast(Any, None),
        settling=0,
    )
    head = (await stage.host.default_branch(stage.repository)).head_sha
    authorization = await stage.host.git_credentials(stage.repository)
    mirror = await mirrors.mirror(stage.shelf.id, stage.host.clone_url(stage.repository), authorization)
    await mirror.fetch(head, head, ISSUE)
    while ISSUE not in stage.shelf.issues:
        await stage.ann.open_issue(stage.shelf, "Add lines")
    yield Work(stage, services, mirror, await admit_run(database, stage.repository, head, "one"))
    await database.close()


# --- the branch --------------------------------------------------------------------------------------------


async def test_a_branch_is_made_and_moved_on(work: Work) -> None:
    first = await work.commit("one\n")
    assert await work.push(first) == pushed_to(BRANCH)
    assert work.head() == first
    second = await work.commit("two\n", first)
    assert await work.push(second) == pushed_to(BRANCH)
    assert work.head() == second


async def test_the_same_push_again_does_nothing(work: Work) -> None:
    sha = await work.commit("one\n")
    assert await work.push(sha) == await work.push(sha) == pushed_to(BRANCH)
    assert work.count_pushes() == 1


async def test_a_push_that_was_not_recorded_is_found(work: Work) -> None:
    first = await work.commit("one\n")
    await work.dies_before_recording(lambda: work.push(first))
    assert work.head() == first
    assert await work.push(first) == pushed_to(BRANCH)
    second = await work.commit("two\n", first)
    await work.dies_before_recording(lambda: work.push(second))
    assert await work.push(second) == pushed_to(BRANCH)
    assert (work.head(), work.count_pushes()) == (second, 2)


async def test_a_push_that_was_not_recorded_is_found_below_what_people_pushed_since(work: Work) -> None:
    sha = await work.commit("one\n")
    await work.dies_before_recording(lambda: work.push(sha))
    theirs = await work.stage.ann.push(work.stage.shelf, BRANCH, {"b.py": "x\n"})
    assert await work.push(sha) == pushed_to(BRANCH)
    assert (work.head(), work.head(f"{BRANCH}-2")) == (theirs, None)


@pytest.mark.parametrize(("kind", "happened"), [("after", True), ("before", False)])
async def test_a_push_without_an_answer_is_repeated_or_found(work: Work, kind: Kind, happened: bool) -> None:
    sha, faults = await work.commit("one\n"), work.stage.sim.faults
    faults.add(kind=kind, path=PUSH, times=None)
    with pytest.raises(CodeAccessError):
        await work.push(sha)
    assert (work.head() == sha) is happened
    faults.clear()
    assert await work.push(sha) == pushed_to(BRANCH)
    assert (work.head(), work.head(f"{BRANCH}-2")) == (sha, None)


async def test_a_branch_of_somebody_else_is_left_alone(work: Work) -> None:
    theirs = await work.stage.ann.push(work.stage.shelf, BRANCH, {"b.py": "x\n"}, base="main")
    first = await work.commit("one\n")
    assert await work.push(first) == pushed_to(f"{BRANCH}-2")
    await work.stage.ann.delete_branch(work.stage.shelf, BRANCH)
    second = await work.commit("two\n", first)
    for wanted in (BRANCH, f"{BRANCH}-2"):  # the run stays on its own branch, by whichever name it is asked for
        assert await work.push(second, wanted) == pushed_to(f"{BRANCH}-2")
    assert theirs != first
    assert (work.head(), work.head(f"{BRANCH}-2")) == (None, second)


async def test_killed_behind_a_taken_name_it_makes_no_third_branch(work: Work) -> None:
    await work.stage.ann.push(work.stage.shelf, BRANCH, {"b.py": "x\n"}, base="main")
    sha = await work.commit("one\n")
    work.stage.sim.faults.add(kind="after", path=PUSH, skip=0, times=None)
    with pytest.raises(CodeAccessError):
        await work.push(sha)
    work.stage.sim.faults.clear()
    assert await work.push(sha) == pushed_to(f"{BRANCH}-2")
    assert work.head(f"{BRANCH}-3") is None


async def test_where_all_names_are_taken_it_says_so(work: Work) -> None:
    for name in (BRANCH, *(f"{BRANCH}-{number}" for number in range(2, MAX_NAMES + 1))):
        await work.stage.ann.push(work.stage.shelf, name, {"b.py": "x\n"}, base="main")
    with pytest.raises(NotProposed, match="9 numbered ones") as caught:
        await work.push(await work.commit("one\n"))
    assert "/forge run" in caught.value.advice


@pytest.mark.parametrize("how", ["pushed", "set back", "removed", "replaced"])
async def test_a_branch_that_a_person_moved_is_respected(work: Work, how: str) -> None:
    ann, shelf = work.stage.ann, work.stage.shelf
    first = await work.commit("one\n")
    await work.push(first)
    second = await work.commit("two\n", first)
    await work.push(second)
    if how == "pushed":
        await ann.push(shelf, BRANCH, {"b.py": "x\n"})
    elif how == "removed":
        await ann.delete_branch(shelf, BRANCH)
    else:
        earlier = await find_signed(work.services, work.run.repository, first)
        await ann.reset_branch(shelf, BRANCH, earlier if how == "set back" else work.stage.head)
    theirs = work.head()
    third = await work.commit("three\n", second)
    for _ in range(2):
        assert await work.push(third) == PushResult(outcome="moved", branch=BRANCH)
    assert (work.head(), work.head(f"{BRANCH}-2")) == (theirs, None)


async def test_a_protected_name_is_refused_in_githubs_words(work: Work) -> None:
    first = await work.commit("one\n")
    await work.push(first)
    work.stage.sim.protect(work.stage.shelf, BRANCH, ["build"])
    refused = await work.push(await work.commit("two\n", first))
    assert refused.outcome == "refused"
    assert "GH006" in refused.said
    assert (work.head(), work.head(f"{BRANCH}-2")) == (first, None)


async def test_a_rule_for_signatures_is_explained(work: Work) -> None:
    work.stage.sim.world.signs_commits = False
    first = await work.commit("one\n")
    work.stage.sim.protect(work.stage.shelf, BRANCH, ruleset=True, signed=True)
    refused = await work.push(first)
    assert refused.outcome == "refused"
    assert "GH013" in refused.said
    assert explain_refused_push(refused.said).endswith(UNSIGNED)
    assert UNSIGNED in push_refused(BRANCH, refused.said, spent=0)
    other = "GH006: Protected branch update failed for refs/heads/main."
    assert explain_refused_push(other) == other


async def test_a_run_that_lost_its_issue_pushes_nothing(work: Work) -> None:
    first = await work.commit("one\n")
    await work.dies_before_recording(lambda: work.push(first))
    await admit_run(work.services.database, work.run.repository, work.run.head_sha, "two")
    assert await work.push(first) == pushed_to(BRANCH)  # it happened before, and is only recorded
    with pytest.raises(Superseded):
        await work.push(await work.commit("two\n", first))
    assert work.head() == first


# --- the pull request --------------------------------------------------------------------------------------


async def test_a_pull_request_is_opened_once(work: Work) -> None:
    await work.push(await work.commit("one\n"))
    made = await work.open()
    assert await work.open() == made
    assert (made.title, made.is_draft, made.head_ref, made.base_ref) == ("Add lines", True, BRANCH, "main")
    assert work.stage.shelf.issues[made.number].body == f"Closes #9\n\n{work.proposal.marker}"
    assert work.count_pulls() == 1


async def test_the_marker_is_there_once(work: Work) -> None:
    await work.push(await work.commit("one\n"))
    made = await work.proposal.open(BRANCH, "Add lines", f"x\n\n{work.proposal.marker}", draft=False)
    assert (work.stage.shelf.issues[made.number].body or "").count(work.proposal.marker) == 1
    assert not made.is_draft


async def test_one_that_was_not_recorded_is_found(work: Work) -> None:
    await work.push(await work.commit("one\n"))
    await work.dies_before_recording(work.open)
    assert work.count_pulls() == 1
    assert (await work.open()).author_login == "forge[bot]"
    assert work.count_pulls() == 1


async def test_one_that_was_not_recorded_is_found_behind_an_older_one_of_a_person(work: Work) -> None:
    shelf = work.stage.shelf
    await work.stage.ann.push(shelf, "next", {"n.py": "x\n"}, base="main")
    await work.push(await work.commit("one\n"))
    theirs = await work.stage.ann.open_pull_request(shelf, BRANCH, base="next")
    await work.dies_before_recording(work.open)
    found = await work.open()
    assert found.number != theirs.number
    assert found.base_ref == "main"
    assert work.count_pulls() == 1


@pytest.mark.parametrize("kind", ["after", "reset", "before"])
async def test_one_whose_answer_was_lost_is_found_or_opened(work: Work, kind: Kind) -> None:
    await work.push(await work.commit("one\n"))
    work.stage.sim.faults.add(kind=kind, method="POST", path=PULLS)
    with pytest.raises(Unavailable):
        await work.open()
    assert (await work.open()).head_ref == BRANCH
    assert work.count_pulls() == 1


@pytest.mark.parametrize("crashed", [False, True])
async def test_the_pull_request_of_somebody_else_is_never_taken_for_it(work: Work, crashed: bool) -> None:
    await work.push(await work.commit("one\n"))
    if crashed:
        work.stage.sim.faults.add(kind="before", method="POST", path=PULLS)
        with pytest.raises(Unavailable):
            await work.open()
    theirs = await work.stage.ann.open_pull_request(work.stage.shelf, BRANCH, body=f"Mine\n\n{work.proposal.marker}")
    with pytest.raises(NotProposed, match=f"Pull request {theirs.number}") as caught:
        await work.open()
    assert "close it and write /forge run" in caught.value.advice
    assert work.count_pulls() == 0
    await work.stage.ann.close(theirs)
    assert (await work.open()).number != theirs.number


async def test_one_of_another_run_is_never_taken_for_it(work: Work) -> None:
    await work.push(await work.commit("one\n"))
    other = await work.stage.host.open_pull_request(work.run.repository, BRANCH, "main", "Old", "Closes #9", True)
    for _ in range(2):
        with pytest.raises(NotProposed, match=f"Pull request {other.number}"):
            await work.open()
    assert work.count_pulls() == 1


async def test_what_github_does_not_take_is_said_with_advice(work: Work) -> None:
    with pytest.raises(NotProposed, match="GitHub refused a pull request") as caught:  # there is no such branch
        await work.open()
    assert "by hand" in caught.value.advice
    await work.push(await work.commit("one\n"))
    for token in work.stage.sim.world.tokens.values():
        token.permissions["pull_requests"] = "read"
    with pytest.raises(NotProposed, match="The App needs") as caught:
        await work.open()
    assert "the App may open them" in caught.value.advice
    assert work.count_pulls() == 0


async def test_a_run_that_lost_its_issue_opens_nothing(work: Work) -> None:
    await work.push(await work.commit("one\n"))
    await admit_run(work.services.database, work.run.repository, work.run.head_sha, "two")
    with pytest.raises(Superseded):
        await work.open()
    assert work.count_pulls() == 0
