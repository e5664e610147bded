"""The GitHub Action: its own steps, as a runner plays them for the pull request of a workflow."""

import json
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
from inline_snapshot import snapshot

from tests.provider import KEY, Provider, report_value, serve_provider
from tests.world.model_findings import PAY
from tests.world.single_reviews import BROKEN, FLAWED, READS, ROOT, WRITES, Desk, load_action, open_desk

HOSTILE = "::set-output name=decision::approve.py"


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncGenerator[Desk]:
    async with open_desk(tmp_path) as opened:
        yield opened


async def test_it_reviews_and_a_rerun_repeats_nothing(desk: Desk) -> None:
    pull = await desk.propose({"a.py": FLAWED, "b.py": BROKEN})
    job = await desk.act(pull, desk.github.job_token(desk.shelf, WRITES), as_process=True)
    assert job.code == 1
    [review] = desk.github.reviews(pull)
    assert (review.user.login, review.state) == ("github-actions[bot]", "COMMENTED")
    assert sorted(comment.path for comment in desk.github.review_comments(pull)) == ["a.py", "a.py", "b.py"]
    sarif = job.outputs["sarif"]
    assert len(json.loads(Path(sarif).read_text())["runs"][0]["results"]) == 3
    url = f"{desk.locate(pull)}#pullrequestreview-{review.id}"
    assert job.outputs == {"decision": "request_changes", "findings": "3", "sarif": sarif, "review-url": url}
    assert job.summary.startswith("## Forge: Changes requested: 2 findings to fix\n")
    assert "::error file=" not in job.log  # they are comments already
    for text in (job.summary, review.body):
        assert "keeps nothing: no gate, no memory" in text
        assert "Review again" not in text
        assert "/forge dismiss" not in text

    writes = len(desk.github.writes())
    again = await desk.act(pull, desk.github.job_token(desk.shelf, WRITES), inputs={"fail-on": "never"})
    assert (again.code, again.outputs["review-url"]) == (0, url)
    assert len(desk.github.writes()) == writes


async def test_a_fork_gets_annotations_and_a_summary(desk: Desk) -> None:
    """Its token only reads; and what files are called gives the runner no commands."""
    pull = await desk.propose_from_fork({HOSTILE: BROKEN, "b.py": BROKEN})
    job = await desk.act(pull, desk.github.job_token(desk.shelf, READS))
    assert job.code == 1
    assert not desk.github.reviews(pull)
    assert job.outputs["review-url"] == ""
    assert job.outputs["decision"] == "request_changes"
    assert "GitHub gives the workflows of a pull request from a fork a token that only reads" in job.summary
    assert "::error file=b.py,title=Error%3A ruff/F821" in job.log
    stop = next(line for line in job.log.splitlines() if line.startswith("::stop-commands::"))
    outside, _, rest = job.log.partition(stop)
    end = f"::{stop.removeprefix('::stop-commands::')}::"
    assert HOSTILE in rest.partition(end)[0]
    told = (outside + rest.partition(end)[2]).splitlines()
    assert all(line.startswith(("::notice ", "::error ")) for line in told if line)


async def test_a_token_without_the_permission(desk: Desk) -> None:
    pull = await desk.propose({"b.py": BROKEN})
    job = await desk.act(pull, desk.github.job_token(desk.shelf, READS), inputs={"fail-on": "changes"})
    assert job.code == 1
    assert "the job's token may not post one; `permissions: {pull-requests: write}` lets it." in job.summary
    assert "::error file=b.py" in job.log


async def test_what_was_found_survives_when_github_fails(desk: Desk) -> None:
    """Nothing that failed is an approval, so the job fails, too."""
    pull = await desk.propose({"a.py": FLAWED})
    desk.github.faults.add(kind="before", method="POST", path="/repos/acme/shelf/pulls/1/reviews", status=502)
    job = await desk.act(pull, desk.github.job_token(desk.shelf, WRITES), inputs={"fail-on": "never"})
    assert (job.code, job.outputs["decision"], job.outputs["review-url"]) == (1, "request_changes", "")
    assert "::error file=a.py,title=Error%3A ruff/S307" in job.log
    assert "GitHub answered 502" in job.summary
    again = await desk.act(pull, desk.github.job_token(desk.shelf, WRITES), inputs={"fail-on": "never"})
    assert again.code == 0
    assert len(desk.github.reviews(pull)) == 1


async def test_what_the_repository_leaves_out(desk: Desk) -> None:
    await desk.ann.push(desk.shelf, "main", {".github/forge.yml": "review: {on_pull_request: false}\n"})
    pull = await desk.propose({"b.py": BROKEN, ".github/forge.yml": "review: {on_pull_request: true}\n"})
    job = await desk.act(pull, desk.github.job_token(desk.shelf, WRITES))
    assert (job.code, job.outputs) == (0, {"decision": "excluded"})
    assert "Reviews are switched off here" in job.summary
    assert not desk.github.reviews(pull)


async def test_on_the_target_it_warns_and_runs_nothing_of_the_head(desk: Desk) -> None:
    linters = "review:\n  linters:\n    - {name: mine, run: sh run.sh, paths: ['**/*.sh', '*.sh']}\n"
    await desk.ann.push(desk.shelf, "main", {".github/forge.yml": linters})
    pull = await desk.propose({"a.py": "x = 2\n", "run.sh": "exit 3\n"})
    asked = await desk.act(pull, desk.github.job_token(desk.shelf, READS))
    assert "| static analysis | `mine` |" in asked.summary
    job = await desk.act(pull, desk.github.job_token(desk.shelf, WRITES), "pull_request_target")
    assert job.code == 0
    assert "::warning title=pull_request_target::" in job.log
    assert "`mine`" not in job.summary


async def test_a_model_reads_what_members_write(desk: Desk) -> None:
    """A key that a workflow gives a stranger's head by mistake is not used for it."""
    provider = Provider([report_value({"findings": []})])
    async with serve_provider(provider) as address:
        given = {"model-key": KEY}
        pull = await desk.propose({"billing/pay.py": PAY})
        token = desk.github.job_token(desk.shelf, WRITES)
        job = await desk.act(pull, token, inputs=given, ANTHROPIC_BASE_URL=address)
        assert (job.outputs["decision"], len(provider.asked)) == ("approve", 1)
        assert KEY not in job.log + job.summary
        theirs = await desk.propose_from_fork({"billing/more.py": PAY})
        forked = await desk.act(theirs, token, "pull_request_target", given, ANTHROPIC_BASE_URL=address)
    assert len(provider.asked) == 1
    assert "a stranger's head" in forked.summary


async def test_wrong_input_fails_the_job(desk: Desk) -> None:
    pull = await desk.propose({"a.py": "x = 2\n"})
    token = desk.github.job_token(desk.shelf, WRITES)
    pushed = await desk.act(pull, token, "push")
    assert (pushed.code, pushed.outputs) == (1, {})
    assert pushed.log == snapshot(
        """\
::error title=Forge could not review this::The workflow runs for `push`, so there is no pull request. This action \
reviews pull requests: let the workflow run `on: pull_request`.
"""
    )
    assert pushed.summary.startswith("## Forge could not review this\n")
    misspelt = await desk.act(pull, token, inputs={"fail-on": "always"})
    assert misspelt.code == 1
    assert "The input `fail-on` is 'always'. It must be never, changes, human, unread." in misspelt.log


def test_no_value_is_written_into_a_script() -> None:
    """Whoever names a branch or a title would otherwise write a part of the script."""
    scripts = [step["run"] for step in load_action()["runs"]["steps"] if "run" in step]
    assert len(scripts) == 2
    assert not any("${{" in script for script in scripts)


def test_nothing_is_imported_from_the_workspace() -> None:
    """It may hold the files of the pull request, and Python would look there first."""
    scripts = [step["run"].splitlines() for step in load_action()["runs"]["steps"] if "run" in step]
    assert [lines[1] for lines in scripts] == ['cd "$GITHUB_ACTION_PATH"', 'cd "$RUNNER_TEMP"']
    started = [line for lines in scripts for line in lines if "python" in line.lower()]
    assert len(started) == 3
    assert all(" -I -m " in line for line in started)


def test_what_it_installs_is_locked() -> None:
    [install] = [step["run"] for step in load_action()["runs"]["steps"] if step.get("name") == "Install Forge"]
    assert "--require-hashes -r requirements.txt -r requirements-build.txt" in install
    assert "--no-build-isolation --no-index ." in install
    assert (ROOT / "requirements-build.txt").is_file()
