"""`forge review --pr`: a person reviews one pull request with a token of their own, and needs no server."""

import json
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
import typer
from inline_snapshot import snapshot

from bot.cli.main import cli
from tests.provider import KEY, Provider, report_value, serve_provider
from tests.world.model_findings import DIVISION, LINE, PAY, claim
from tests.world.single_reviews import BROKEN, FLAWED, READS, WRITES, Desk, open_desk


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncGenerator[Desk]:
    async with open_desk(tmp_path) as opened:
        yield opened


async def test_a_reader_reads_and_posts_once(desk: Desk) -> None:
    pull = await desk.propose({"a.py": FLAWED})
    token = desk.github.personal_token(desk.bob)
    shown = await desk.review(pull, token=token)
    assert (shown.code, shown.errors) == (1, "")
    printed = [line for line in shown.printed.splitlines() if line.startswith("a.py:")]
    assert [line.partition(": ")[0] for line in printed[:2]] == ["a.py:5", "a.py:1"]
    assert "--fix" not in shown.printed
    assert not desk.github.writes()

    posted = await desk.review(pull, post=True, token=token)
    [review] = desk.github.reviews(pull)
    assert posted.code == 1
    assert f"Posted the review with 2 comments on lines: {desk.locate(pull)}#pullrequestreview-{review.id}." in (
        posted.errors
    )
    assert "a review and no check" in posted.errors
    assert (review.user.login, review.state, review.commit_id) == ("bob", "COMMENTED", pull.head_sha)
    assert [comment.line for comment in desk.github.review_comments(pull)] == [5, 1]
    assert "/forge dismiss" not in "".join(comment.body for comment in desk.github.review_comments(pull))

    writes = len(desk.github.writes())
    again = await desk.review(pull, post=True, by_verdict=True, token=token)
    assert again.code == 1
    assert "has a review of yours already" in again.errors
    assert len(desk.github.writes()) == writes
    assert token not in "".join((shown.printed, posted.printed, posted.errors, again.errors))


async def test_as_a_process(desk: Desk) -> None:
    """What is printed on standard output is the review alone, and the token is nowhere."""
    pull = await desk.propose({"b.py": BROKEN})
    token = desk.github.personal_token(desk.bob)
    told = await desk.start_review(pull, "--json", "--post", token=token)
    shown = json.loads(told.printed)
    assert (told.code, shown["decision"], shown["head_sha"]) == (1, "request_changes", pull.head_sha)
    assert "Posted the review with 1 comment" in told.errors
    assert token not in told.printed + told.errors


async def test_a_later_head_repeats_nothing(desk: Desk) -> None:
    pull = await desk.propose({"a.py": FLAWED})
    token = desk.github.personal_token(desk.bob)
    await desk.review(pull, post=True, token=token)
    await desk.ann.push(desk.shelf, "topic", {"a.py": FLAWED, "b.py": BROKEN})
    told = await desk.review(pull, post=True, token=token)
    assert told.code == 1
    _, second = desk.github.reviews(pull)
    assert [comment.path for comment in desk.github.review_comments(pull) if comment.review is second] == ["b.py"]
    assert "2 of the findings already had a comment" in second.body


async def test_the_verdict_counts_if_asked(desk: Desk) -> None:
    pull = await desk.propose({"b.py": BROKEN})
    told = await desk.review(pull, post=True, by_verdict=True, token=desk.github.personal_token(desk.bob))
    assert told.code == 1
    assert [review.state for review in desk.github.reviews(pull)] == ["CHANGES_REQUESTED"]


async def test_nobody_objects_to_their_own(desk: Desk) -> None:
    pull = await desk.propose({"b.py": BROKEN})
    told = await desk.review(pull, post=True, by_verdict=True, token=desk.github.personal_token(desk.ann))
    assert told.code == 1
    [review] = desk.github.reviews(pull)
    assert review.state == "COMMENTED"
    assert "GitHub did not let this account request changes" in review.body
    assert [comment.line for comment in desk.github.review_comments(pull)] == [2]


async def test_the_head_does_not_configure_its_own_review(desk: Desk) -> None:
    """The base's file counts, and what the pull request writes there takes no effect."""
    await desk.ann.push(desk.shelf, "main", {".github/forge.yml": "review: {paths: {exclude: ['gen/**']}}\n"})
    everything = "review: {paths: {exclude: ['**']}}\n"
    pull = await desk.propose({".github/forge.yml": everything, "b.py": BROKEN, "gen/c.py": BROKEN})
    told = await desk.review(pull, token=desk.github.personal_token(desk.bob))
    assert told.code == 1
    assert "b.py:2: error ruff/F821" in told.printed
    assert "not looked at: gen/c.py: left out by review.paths" in told.printed


async def test_a_fine_grained_token_that_may_not_write(desk: Desk) -> None:
    pull = await desk.propose({"a.py": FLAWED})
    told = await desk.review(pull, post=True, token=desk.github.personal_token(desk.bob, READS, [desk.shelf]))
    assert told.code == 2
    assert "a.py:5" in told.printed  # what was found is not lost
    assert "Resource not accessible by personal access token" in told.errors
    assert "Check what the token in GH_ENTERPRISE_TOKEN may do" in told.errors
    assert not desk.github.reviews(pull)
    may = await desk.review(pull, post=True, token=desk.github.personal_token(desk.bob, WRITES, [desk.shelf]))
    assert may.code == 1


async def test_a_model_reads_only_if_asked(desk: Desk) -> None:
    pull = await desk.propose({"billing/pay.py": PAY})
    token = desk.github.personal_token(desk.bob)
    verdicts = {"verdicts": [{"number": 1, "verdict": "proven", "quote": DIVISION}]}
    provider = Provider([report_value({"findings": [claim()]}), report_value(verdicts)])
    async with serve_provider(provider) as address:
        key = {"ANTHROPIC_API_KEY": KEY, "ANTHROPIC_BASE_URL": address}
        without = await desk.review(pull, token=token, variables=key)
        assert not provider.asked
        told = await desk.review(pull, token=token, ask_model=True, variables=key)
    assert "model/logic-error" not in without.printed
    assert (told.code, len(provider.asked)) == (1, 2)
    assert f"billing/pay.py:{LINE}: error model/logic-error: An empty list divides by zero." in told.printed
    assert KEY not in told.printed
    assert token not in json.dumps(provider.asked)


async def test_what_is_no_open_pull_request_here(desk: Desk) -> None:
    pull = await desk.propose({"a.py": FLAWED})
    issue = await desk.ann.open_issue(desk.shelf, "A question")
    token = desk.github.personal_token(desk.bob)
    stranger = desk.github.personal_token(desk.github.user("mallory"))
    here = f"{desk.github.url}/acme/shelf"
    refused = {
        f"{here}/pull/{issue.number}": f"#{issue.number} of acme/shelf is an issue, not a pull request.",
        f"{here}/pull/99": "acme/shelf has no pull request #99.",
        f"{here}/issues/{issue.number}": "is the address of an issue",
        f"{here}/tree/main": "is not the address of a pull request.",
        f"{desk.github.url}/acme/gone/pull/1": "has no repository acme/gone that this token may see",
    }
    for address, why in refused.items():
        told = await desk.review(address, token=token)
        assert (told.code, told.printed) == (2, ""), address
        assert why in told.errors, address
    hidden = await desk.review(pull, token=stranger)
    assert hidden.code == 2
    assert "it does not exist, or it is private. Check the address and that the token may see it" in hidden.errors
    await desk.ann.close(pull)
    closed = await desk.review(pull, token=token)
    assert closed.code == 2
    assert closed.errors == snapshot(
        """\
acme/shelf#1 is closed already, so there is nothing to decide. To review its change all the same, check it out and run \
`forge review --base BASE`.\
"""
    )


async def test_a_token_goes_to_no_other_host(desk: Desk) -> None:
    """An address that somebody sends cannot fetch the token for github.com."""
    pull = await desk.propose({"a.py": FLAWED})
    token = desk.github.personal_token(desk.bob)
    told = await desk.review(pull, variables={"GITHUB_TOKEN": token})
    assert told.code == 2
    assert "GITHUB_TOKEN is a token for github.com, so it is not sent to 127.0.0.1" in told.errors
    assert not desk.github.requests
    none = await desk.review(pull)
    assert "There is no token for 127.0.0.1" in none.errors
    assert "gh auth login" in none.errors


async def test_the_token_of_gh(desk: Desk) -> None:
    pull = await desk.propose({"a.py": FLAWED})
    token = desk.github.personal_token(desk.bob)
    program = desk.folder / "bin" / "gh"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\n[ "$*" = "auth token --hostname {desk.github.url[7:]}" ] && echo {token}\n')
    program.chmod(0o755)
    told = await desk.review(pull, variables={"PATH": f"{program.parent}:{desk.environment['PATH']}"})
    assert (told.code, told.errors) == (1, "")


async def test_a_token_that_expired_or_is_none(desk: Desk) -> None:
    pull = await desk.propose({"a.py": FLAWED})
    expired = desk.github.personal_token(desk.bob, days=-1)
    told = await desk.review(pull, token=expired)
    assert told.code == 2
    assert "does not accept the token in GH_ENTERPRISE_TOKEN: it is wrong, expired or was revoked." in told.errors
    assert expired not in told.errors
    wrong = await desk.review(pull, token="two\nlines")
    assert wrong.code == 2
    assert "has characters that no token has" in wrong.errors
    assert "two" not in wrong.errors


async def test_github_is_down(desk: Desk) -> None:
    pull = await desk.propose({"a.py": FLAWED})
    desk.github.faults.add(kind="before", path="/repos/acme/shelf", times=9, status=503)
    told = await desk.review(pull, token=desk.github.personal_token(desk.bob))
    assert told.code == 2
    assert "GitHub answered 503" in told.errors
    assert "Try again later" in told.errors


@pytest.mark.parametrize(
    "wrong",
    [
        ["--pr", "https://github.com/acme/shelf/pull/1", "--staged"],
        ["--pr", "https://github.com/acme/shelf/pull/1", "--fix"],
        ["--pr", "https://github.com/acme/shelf/pull/1", "--base", "main"],
        ["--pr", "https://github.com/acme/shelf/pull/1", "folder"],
        ["--pr", "https://github.com/acme/shelf/pull/1", "--by-verdict"],
        ["--post"],
    ],
)
def test_options_that_do_not_go_together(wrong: list[str]) -> None:
    with pytest.raises(typer.BadParameter, match=r"--pr|--post"):
        cli(["review", *wrong], standalone_mode=False)
