"""Who wrote a pull request, and whom that leaves to decide about it."""

from datetime import UTC, datetime, timedelta

import pytest

from domain.github.commits import AN_APP, Commit, Push, Pusher
from safety.authorship import Authorship, Doubt, EarlierHeads, HeadApproval, Standing, find_parts

BOB, MIA, CAROL, DAVE = 1, 2, 3, 4
EVERYBODY = (BOB, MIA, CAROL, DAVE)
NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)


def _push(after: str, by: int, before: str = "", at: int = 0, kind: Pusher = Pusher.person) -> Push:
    return Push(after, before, by, kind, NOON + timedelta(minutes=at))


def _line(*shas: str) -> list[Commit]:
    """Commits on top of each other."""
    return [Commit(sha, (before,)) for before, sha in zip(("base", *shas), shas, strict=False)]


def _writers(wrote: Authorship) -> set[int]:
    return {account for account in EVERYBODY if wrote.includes(account)}


def _write(pushes: list[Push], *accepted: HeadApproval, commits: list[Commit] | None = None) -> Authorship:
    """Bob opened it."""
    commits = commits or _line("a", "b", "c")
    return Authorship(BOB, find_parts(commits, pushes), accepted)


@pytest.mark.parametrize(
    ("pushes", "accepted", "writers"),
    [
        ([_push("c", BOB)], (), {BOB}),
        ([_push("c", MIA)], (), {BOB, MIA}),  # before another one opened it
        ([_push("a", MIA), _push("c", BOB, "a", 1)], (), {BOB, MIA}),
        ([_push("a", MIA), _push("c", BOB, "a", 1)], (("a", CAROL),), {BOB}),
        ([_push("a", MIA), _push("c", BOB, "a", 1)], (("a", MIA),), {BOB, MIA}),  # her own word is nobody else's
        ([_push("a", MIA), _push("c", BOB, "a", 1)], (("elsewhere", CAROL),), {BOB, MIA}),
        ([_push("a", MIA), _push("b", DAVE, "a", 1), _push("c", BOB, "b", 2)], (("ab", CAROL),), {BOB}),
        ([_push("a", MIA), _push("c", BOB, "a", 1)], (("b", CAROL),), {BOB, MIA}),  # the base had hers then
        ([_push("a", MIA), _push("b", DAVE, "a", 1), _push("c", BOB, "b", 2)], (("a", CAROL),), {BOB, DAVE}),
        ([_push("c", MIA), _push("c", DAVE, "", 1)], (), {BOB, MIA}),  # another branch was made from hers
        ([_push("c", MIA), _push("c", DAVE)], (), {BOB, MIA, DAVE}),  # GitHub tells no parts of a second
    ],
)
def test_who_wrote_a_change(pushes: list[Push], accepted: tuple[tuple[str, int], ...], writers: set[int]) -> None:
    wrote = _write(pushes, *(HeadApproval(frozenset(shown), by) for shown, by in accepted))
    assert _writers(wrote) == writers
    assert wrote.doubt is None


def test_whom_github_links_with_a_commit_wrote_it_whoever_brings_it() -> None:
    """Mia made it elsewhere, bob pushed it; what a merge made of a pull request is of those who wrote that."""
    hers = [Commit("a", ("base",), frozenset({MIA}), author=MIA)]
    assert _writers(_write([_push("a", BOB)], commits=hers)) == {BOB, MIA}
    by_merge = [_push("a", DAVE, kind=Pusher.merge), _push("a", MIA, at=1)]
    merged = [Commit("a", ("base",), frozenset({DAVE, MIA}), author=DAVE)]
    assert _writers(_write(by_merge, commits=merged)) == {BOB, DAVE}


def test_who_makes_the_same_again_wrote_only_what_they_are_the_author_of() -> None:
    pushes, same = [_push("x", BOB), _push("c", MIA, "x", 1)], frozenset({("x", "c")})
    earlier = EarlierHeads((Commit("x", ("base",)),), same=same)
    for author, writers in ((DAVE, {BOB, DAVE}), (MIA, {BOB, MIA})):
        commits = [Commit("c", ("base",), frozenset({author, MIA}), author=author)]
        wrote = Authorship(BOB, find_parts(commits, pushes, earlier=earlier))
        assert _writers(wrote) == writers


@pytest.mark.parametrize(
    ("head", "writers"), [("ab", {BOB, MIA}), ("abc", {BOB, MIA, CAROL}), ("a", {BOB, MIA, CAROL})]
)
def test_a_push_of_several_commits_is_the_same_as_a_whole(head: str, writers: set[int]) -> None:
    """It is told once for each of them: what it brings on top is of who pushes, and so is a part of it."""
    pushes = [_push("x", MIA), *(_push(sha, CAROL, "x", 1) for sha in "abc")]
    earlier = EarlierHeads((Commit("x", ("base",)), *_line(*"abc")[len(head) :]), same=frozenset({("x", "b")}))
    assert _writers(Authorship(BOB, find_parts(_line(*head), pushes, earlier=earlier))) == writers


def test_a_merge_that_git_makes_is_nobodys_and_another_one_is() -> None:
    pushes = [_push("a", BOB), _push("m", MIA, "a", 1)]
    merge = Commit("m", ("a", "main"), is_clean_merge=True)
    assert _writers(_write(pushes, commits=[*_line("a"), merge])) == {BOB}
    by_hand = Commit("m", ("a", "main"))
    assert _writers(_write(pushes, commits=[*_line("a"), by_hand])) == {BOB, MIA}


def test_a_clean_merge_does_not_hide_what_it_brings() -> None:
    """Mia merged a branch that nobody had pushed before: what is in it is hers."""
    commits = [*_line("a"), Commit("x", ("base",)), Commit("m", ("a", "x"), is_clean_merge=True)]
    assert _writers(_write([_push("a", BOB), _push("m", MIA, "a", 1)], commits=commits)) == {BOB, MIA}


def test_what_nobody_pushed_as_far_as_known() -> None:
    commits = [Commit("a", ("base",), frozenset({MIA})), Commit("b", ("a",))]
    pushes = [_push("b", DAVE, "a", 1)]
    wrote = _write(pushes, commits=commits)
    assert (_writers(wrote), wrote.doubt) == ({BOB, MIA, DAVE}, Doubt.unknown)
    of_fork = Authorship(BOB, find_parts(commits, [], (BOB, CAROL)))
    assert (_writers(of_fork), of_fork.doubt) == ({BOB, MIA, CAROL}, Doubt.unknown)
    linked = [Commit("a", ("base",), frozenset({BOB}))]
    for owners, doubt in (((BOB, BOB), None), ((BOB, CAROL), Doubt.unknown)):
        assert Authorship(BOB, find_parts(linked, [], owners)).doubt is doubt


def test_a_push_of_which_github_did_not_say_whose_it_was_is_in_doubt_until_it_does() -> None:
    """What it overwrote keeps its writers all the same."""
    unsaid = _push("c", 0, "", 1, Pusher.unknown)
    assert _write([unsaid]).doubt is Doubt.unknown
    told = _write([unsaid, _push("c", MIA, "", 1)])
    assert (told.doubt, _writers(told)) == (None, {BOB, MIA})
    assert _write([unsaid, _push("c", 0, "", 1, Pusher.forge)]).doubt is None
    earlier = EarlierHeads((Commit("old", ("base",)),))
    pushes = [_push("old", MIA), _push("a", 0, "old", 1, Pusher.unknown)]
    wrote = Authorship(BOB, find_parts(_line("a"), pushes, earlier=earlier))
    assert (wrote.doubt, _writers(wrote)) == (Doubt.unknown, {BOB, MIA})


def test_what_forge_pushed_is_that_of_who_asked_for_it() -> None:
    by_app = _push("c", 99, "b", 1, Pusher.app)
    before = _push("b", BOB)
    assert _write([before, by_app]).doubt is Doubt.app
    asked = _write([before, by_app, _push("c", MIA, "b", 1, Pusher.forge)])
    assert (_writers(asked), asked.doubt) == ({BOB, MIA}, None)
    told = _write([before, _push("c", MIA, "b", 1, Pusher.forge), _push("c", AN_APP, "b", 1, Pusher.app)])
    assert (_writers(told), told.doubt) == ({BOB, MIA}, Doubt.app)  # it took up an App's words
    unasked = _write([before, by_app, _push("c", 0, "b", 1, Pusher.forge)])
    assert (_writers(unasked), unasked.doubt) == ({BOB}, None)


def test_what_a_trusted_app_pushed_takes_one_who_is_no_author() -> None:
    """Nobody makes it push what they like; what else was pushed is that person's, or anybody's if an App did."""
    commits, by_bot = _line("a", "b"), _push("a", 99, kind=Pusher.app)
    alone = Authorship(99, find_parts(commits[:1], [by_bot], trusted=[99]))
    assert (alone.authors, alone.doubt) == ({99}, None)
    assert alone.find_standing(MIA, {BOB}) == FREE
    for push, writers, doubt in (
        (_push("b", MIA, "a", 1), {MIA}, None),
        (_push("b", 98, "a", 1, Pusher.app), set[int](), Doubt.app),
    ):
        wrote = Authorship(99, find_parts(commits, [by_bot, push], trusted=[99]))
        assert (_writers(wrote), wrote.doubt) == (writers, doubt)


@pytest.mark.parametrize(
    ("pushes", "earlier", "found"),
    [
        (
            [_push("x", MIA), _push("c", CAROL, "x", 1)],
            EarlierHeads((Commit("x", ("base",)),)),
            ({BOB, MIA, CAROL, DAVE}, None),
        ),
        (
            [_push("x", MIA), _push("c", CAROL, "x", 1)],
            EarlierHeads((Commit("x", ("base",)),), same=frozenset({("x", "c")})),
            ({BOB, MIA, DAVE}, None),
        ),
        (  # reset to a commit that the push with the same change brought
            [_push("x", MIA), _push("y", CAROL, "x", 1), _push("c", DAVE, "y", 2)],
            EarlierHeads((Commit("x", ("base",)), Commit("y", ("c",))), same=frozenset({("x", "y")})),
            ({BOB, MIA, CAROL, DAVE}, None),
        ),
        ([_push("c", CAROL, "x", 1)], EarlierHeads(gone=frozenset({"x"})), ({BOB, CAROL, DAVE}, Doubt.unknown)),
        ([_push("c", CAROL, "x", 1)], EarlierHeads((Commit("x", ("base",)),)), ({BOB, CAROL, DAVE}, Doubt.unknown)),
        (
            [_push("x", 99, kind=Pusher.app), _push("c", CAROL, "x", 1)],
            EarlierHeads((Commit("x", ("base",)),)),
            ({BOB, CAROL, DAVE}, Doubt.app),
        ),
        (  # within one second, each overwrote the other
            [_push("x", MIA, "c"), _push("c", CAROL, "x")],
            EarlierHeads((Commit("x", ("base",)),)),
            ({BOB, MIA, CAROL, DAVE}, None),
        ),
        (
            [_push("a", BOB), _push("c", CAROL, "base", 1)],
            EarlierHeads(),
            ({BOB, CAROL, DAVE}, None),
        ),  # an ordinary one
    ],
)
def test_what_a_forced_push_overwrote_keeps_its_writers(
    pushes: list[Push], earlier: EarlierHeads, found: tuple[set[int], Doubt | None]
) -> None:
    commits = [Commit("c", ("base",), frozenset({DAVE}))]
    wrote = Authorship(BOB, find_parts(commits, pushes, None, (), earlier))
    assert (_writers(wrote), wrote.doubt) == found


FREE, AUTHOR = Standing(is_author=False), Standing(is_author=True)
SHARED = Standing(is_author=True, is_left=True, doubt=Doubt.shared)


@pytest.mark.parametrize(
    ("pushes", "with_the_role", "standings"),
    [
        ([_push("c", BOB)], {BOB}, {BOB: Standing(is_author=True, is_left=True)}),  # alone
        ([_push("c", BOB)], {BOB, MIA}, {BOB: AUTHOR, MIA: FREE}),
        ([_push("c", MIA)], {BOB, MIA}, {BOB: SHARED, MIA: SHARED}),
        ([_push("c", MIA)], {MIA}, {MIA: Standing(is_author=True, is_left=True)}),
        ([_push("c", MIA)], {BOB, MIA, CAROL}, {BOB: AUTHOR, MIA: AUTHOR, CAROL: FREE}),
        (
            [_push("c", 99, kind=Pusher.app)],
            {BOB, MIA},
            {
                BOB: Standing(is_author=True, is_left=True, doubt=Doubt.app),
                MIA: Standing(is_author=False, doubt=Doubt.app),
            },
        ),
        (
            [_push("c", 99, kind=Pusher.app)],
            {BOB, MIA, CAROL},
            {BOB: Standing(is_author=True, doubt=Doubt.app), MIA: Standing(is_author=False, doubt=Doubt.app)},
        ),
        ([_push("c", 99, kind=Pusher.app)], {MIA}, {MIA: Standing(is_author=True, is_left=True)}),
    ],
)
def test_who_may_decide(pushes: list[Push], with_the_role: set[int], standings: dict[int, Standing]) -> None:
    wrote = _write(pushes)
    assert {who: wrote.find_standing(who, with_the_role - {who}) for who in standings} == standings
