"""The scenes of the demo: a review and its fixes, a gate, a learned dismissal, an issue, and two deployments."""

from collections.abc import Mapping
from dataclasses import dataclass

from rich.markup import escape

from bot.demo import open_change, parcel_issue, project, rates_staging
from bot.demo.driver import DemoDriver, describe_thread, parse_finding, strip_html
from bot.demo.rates_staging import run_service
from bot.settings import Settings
from messages import deployments as deployment_texts
from messages import gates as gate_texts
from messages import tests as test_texts
from simulator import Simulator, User
from simulator.gitstore import FileContent
from simulator.state import CheckRun, PullRequest, Repository

_MENDED = ("failure", "success")

Promises = Mapping[str, bool]
"""What a scene should show, and whether it did."""


@dataclass(frozen=True)
class Cast:
    """The repository and its people: an author, a maintainer and a stranger without rights."""

    repository: Repository
    author: User
    maintainer: User
    stranger: User


def create_cast(github: Simulator) -> Cast:
    """Create the people and their repository on the simulated GitHub."""
    repository = github.create_repository(project.REPOSITORY, commits=project.HISTORY)
    github.install(repository)
    author, maintainer = github.user("author"), github.user("maintainer")
    github.grant(repository, author, "write")
    github.grant(repository, maintainer, "maintain")
    return Cast(repository, author, maintainer, github.user("stranger"))


async def play_review(stage: DemoDriver, cast: Cast, second_push: Mapping[str, FileContent]) -> Promises:
    """A pull request is reviewed, discussed, fixed and approved.

    :param second_push: the author's fixes, by path.
    """
    github, repository = stage.github, cast.repository
    author, maintainer, stranger = cast.author, cast.maintainer, cast.stranger
    stage.step(f"A person opens a pull request in {project.REPOSITORY}: “{project.TITLE}”")
    repository.dependency_changes = project.DEPENDENCIES
    head = await author.push(repository, project.BRANCH, project.FIRST_PUSH, project.TITLE, base="main")
    pull = await author.open_pull_request(repository, project.BRANCH, title=project.TITLE, body=project.BODY)
    first = await stage.wait_for_check(repository, head)
    wanted_changes = first.conclusion == "failure"  # read now, because the later push changes it
    stage.show_review(pull)
    stage.show_check(first)

    stage.step("A maintainer disagrees with one of them")
    comment = next(each for each in github.review_comments(pull) if "docker/latest-tag" in each.body)
    said = await maintainer.reply(comment, "/forge dismiss our registry resolves latest to a fixed digest")
    stage.say(said.user.login, said.body)
    receipt = await stage.wait_for_reply(lambda: comment.thread.comments[2:])

    stage.step("A stranger tries to command")
    asked = await stranger.comment(pull, "/forge pause")
    stage.say(asked.user.login, asked.body)
    refusal = await stage.wait_for_reply(lambda: github.comments(pull)[1:])

    stage.step("The author pushes a fix")
    repository.dependency_changes = []
    head = await author.push(repository, project.BRANCH, second_push, "Do what the review says")
    second = await stage.wait_for_check(repository, head)
    asked_for = second.conclusion  # read now, because the next verdict changes the same check
    stage.show_check(second)

    stage.step("The deleted key is still in the history: the maintainer revokes it")
    leak = next(each for each in github.review_comments(pull) if "secret/aws-access-key" in each.body)
    said = await maintainer.reply(leak, "/forge dismiss revoked at the carrier, and a new one issued")
    stage.say(said.user.login, said.body)
    answer = await stage.wait_for_reply(lambda: leak.thread.comments[2:])
    third = await stage.wait_for_check(repository, head, "success")
    stage.show_check(third)
    closed, every = await stage.wait_for_threads(pull), len(pull.threads)
    stage.console.print(f"Forge resolved {len(closed)} of {every} threads: their findings are fixed or dismissed.")
    for thread in pull.threads:
        if thread not in closed:
            stage.console.print(f"  left open: {escape(describe_thread(thread))}.", soft_wrap=True)
    return {
        "The first dismissal was recorded.": "is dismissed" in receipt,
        "The stranger was refused.": "needs the role admin" in refusal,
        "The second dismissal was recorded.": "is dismissed" in answer,
        "The first verdict asks for changes.": wanted_changes,
        "The second asks for a person.": asked_for == "action_required",
        "The third approves.": third.conclusion == "success",
        "The dismissed threads are resolved.": comment.thread in closed and leak.thread in closed,
        "All threads are resolved.": len(closed) == every > 2,
    }


async def play_gate(stage: DemoDriver, cast: Cast, settings: Settings) -> Promises:
    """A critical security finding waits at its gate, a maintainer accepts the risk, and the audit shows who decided.

    :param settings: of the demo's Forge, for its command line.
    """
    github, repository, author = stage.github, cast.repository, cast.author
    name = "security_findings"
    stage.step(f"Another pull request: “{project.GATE_TITLE}”")
    repository.dependency_changes = project.DEPENDENCIES
    head = await author.push(repository, project.GATE_BRANCH, project.GATE_PUSH, project.GATE_TITLE, base="main")
    pull = await author.open_pull_request(
        repository, project.GATE_BRANCH, title=project.GATE_TITLE, body=project.GATE_BODY
    )
    asked = await stage.wait_for_check(repository, head, name=gate_texts.check_name(name))
    waited = asked.conclusion == "action_required"
    await stage.wait_for_reply(lambda: github.comments(pull))  # the gate takes answers once its comment is posted

    stage.step("The author approves their own change")
    await stage.write(author.login, pull, f"/forge approve {name}")
    refusal = await stage.wait_for_reply(lambda: [each for each in github.comments(pull) if "Refused" in each.body])

    stage.step("A maintainer accepts the risk in the browser, with a note")
    await stage.write(cast.maintainer.login, pull, f"/forge approve {name} with: {project.GATE_CONDITION}")
    approved = f"Approved by {cast.maintainer.login}"
    outcome = await stage.wait_for_reply(lambda: [each for each in github.comments(pull) if approved in each.body])
    verdict = await stage.wait_for_check(repository, head, "success")
    stage.show_check(verdict)

    stage.step("The operator asks who decided what")
    told = await stage.command(settings, "audit", "--run", verdict.external_id or "", about=cast.maintainer.login)
    return {
        "The gate waited for a person.": waited,
        "The author was refused at the gate.": "needs the role maintain" in refusal,
        "The question says who approved it, and what follows.": "Your words are kept" in outcome,
        "The run continued after the gate.": verdict.conclusion == "success",
        "The note is in the summary.": project.GATE_CONDITION in (verdict.summary or ""),
        "The audit shows who approved it, and with which note.": cast.maintainer.login in told
        and project.GATE_CONDITION.split()[0] in told,
    }


async def play_learning(stage: DemoDriver, cast: Cast) -> Promises:
    """A finding that a maintainer dismisses on one pull request is not raised on the next, and Forge says why."""
    github, repository, author = stage.github, cast.repository, cast.author
    repository.dependency_changes = []
    stage.step(f"A pull request in which a rule is wrong: “{project.LEARNING_TITLE}”")
    head = await author.push(repository, "old-names", project.LEARNING_PUSH, project.LEARNING_TITLE, base="main")
    pull = await author.open_pull_request(
        repository, "old-names", title=project.LEARNING_TITLE, body=project.LEARNING_BODY
    )
    await stage.wait_for_check(repository, head)
    comment = next(each for each in github.review_comments(pull) if project.LEARNING_RULE in each.body)
    stage.show_comment(comment)

    stage.step("A maintainer says that it is wrong here")
    said = await cast.maintainer.reply(comment, f"/forge dismiss {project.LEARNING_REASON}")
    stage.say(said.user.login, said.body)
    receipt = await stage.wait_for_reply(lambda: comment.thread.comments[2:])

    stage.step(f"The next pull request does it again: “{project.LEARNING_AGAIN_TITLE}”")
    title = project.LEARNING_AGAIN_TITLE
    again = await author.push(repository, "old-names-2", project.LEARNING_AGAIN_PUSH, title, base="main")
    second = await author.open_pull_request(repository, "old-names-2", title=title, body=project.LEARNING_BODY)
    verdict = await stage.wait_for_check(repository, again)
    stage.show_check(verdict)
    raised = [each for each in github.review_comments(second) if project.LEARNING_RULE in each.body]

    stage.step("The author asks why")
    name = parse_finding(comment)
    await stage.write(author.login, second, f"/forge why {name}")
    told = await stage.wait_for_reply(lambda: [each for each in github.comments(second) if name in each.body])
    return {
        "The receipt says what was learned.": "Learned" in receipt and "M-" in receipt,
        "It was not raised again.": not raised and verdict.conclusion == "success",
        "The summary lists the dismissed findings.": "### Dismissed" in (verdict.summary or ""),
        "The answer says who taught it, and why.": cast.maintainer.login in told
        and project.LEARNING_REASON.split(",")[0] in " ".join(told.split()),
    }


async def play_issue(stage: DemoDriver, cast: Cast) -> Promises:
    """An issue becomes a plan, a maintainer approves it, and Forge implements it in a pull request that is merged."""
    github, repository, author = stage.github, cast.repository, cast.author
    repository.dependency_changes = []
    opened = await author.open_issue(repository, parcel_issue.TITLE, parcel_issue.BODY)

    stage.step(f"An issue: “{parcel_issue.TITLE}”")
    stage.detail(author.login, parcel_issue.BODY)
    stage.say(author.login, "/forge run")
    await author.comment(opened, "/forge run")
    plan = await stage.wait_for_reply(
        lambda: [
            each for each in github.comments(opened) if "**Plan for this" in each.body and "**Forge asks: " in each.body
        ]
    )

    stage.step("A maintainer approves the plan, on a condition")
    stage.say(cast.maintainer.login, approval := f"/forge approve with: {parcel_issue.CONDITION}")
    await cast.maintainer.comment(opened, approval)
    pull = await stage.wait_for_pull_request(repository, after=opened.number)
    first = pull.head_sha
    stage.say(pull.user.login, strip_html(f"## {pull.title}\n\n{pull.body}"))
    verdict = await stage.wait_for_check(repository, first)
    stage.show_check(verdict)

    stage.step("Its tests run in the sandbox; one fails, and the run fixes its change")
    failed = await stage.wait_for_check(repository, first, name=test_texts.CHECK_NAME)
    stage.show_check(failed)
    proposed = await stage.wait_for_reply(
        lambda: [each for each in github.comments(opened) if "Forge opened a pull request" in each.body]
    )
    passed = await stage.wait_for_check(repository, pull.head_sha, name=test_texts.CHECK_NAME)
    stage.show_check(passed)
    for commit in repository.git.commits_between(pull.base_sha, pull.head_sha):
        stage.detail(commit.author_name, commit.message)

    stage.step("The maintainer merges it")
    was_ready = not pull.draft
    await cast.maintainer.merge(pull)
    return {
        "The plan waited for a person.": "architecture_approval" in plan and "risk high" in plan,
        "The issue names the pull request.": f"#{pull.number}" in proposed,
        "The maintainer's condition is in the pull request.": parcel_issue.CONDITION in (pull.body or ""),
        "The draft was reviewed like any other.": verdict.conclusion is not None,
        "A test failed, and the run fixed the error.": (failed.conclusion, passed.conclusion) == ("failure", "success"),
        "It was ready once review and tests had passed.": was_ready,
        "It was merged, and closed the issue.": pull.merged_at is not None and opened.state == "closed",
    }


async def play_deployment(stage: DemoDriver, cast: Cast) -> Promises:
    """A good change reaches staging step by step; a bad one goes wrong on the way, and Forge takes it back."""
    repository, maintainer = cast.repository, cast.maintainer
    async with run_service() as service:

        async def deploy(inputs: Mapping[str, str], _: str) -> str:
            ref = inputs["ref"]
            is_bad = repository.git.read(ref, rates_staging.BAD_FILE) is not None
            service.deploy(ref, int(inputs["percentage"]), rates_staging.BAD_FAILING if is_bad else 0.0)
            return "success"

        stage.github.on_dispatch(repository, rates_staging.WORKFLOW, deploy)
        title = rates_staging.GOOD_TITLE
        stage.step(f"A change is merged and goes to staging in steps: “{title}”")
        good = await _propose(stage, cast, title, rates_staging.GOOD_BODY, rates_staging.GOOD_PUSH)
        # Not earlier: what was merged before is not meant to be deployed.
        files = rates_staging.configure(service.url)
        await maintainer.push(repository, repository.default_branch, files, rates_staging.MESSAGE)
        passed = await _deploy(stage, cast, good)

        title = rates_staging.BAD_TITLE
        stage.step(f"The next change fails in staging, and Forge rolls it back: “{title}”")
        quote, tests = (repository.git.read("main", path) or b"" for path in ("rates/quote.py", "tests/test_quote.py"))
        push = rates_staging.build_bad_push(quote.decode(), tests.decode())
        bad = await _propose(stage, cast, title, rates_staging.BAD_BODY, push)
        failed = await _deploy(stage, cast, bad)
        runs = max(service.shares, key=lambda version: service.shares[version])
    return {
        "The good change took all steps, and is healthy.": passed.conclusion == "success"
        and "| 100 % |" in (passed.summary or ""),
        "The bad change was rolled back before everybody had it.": failed.conclusion == "failure"
        and "| 100 % |" not in (failed.summary or ""),
        "The good change runs in staging again, with all the traffic.": runs == good.merge_commit_sha
        and service.shares[runs] == 100,
    }


async def play_open_change(stage: DemoDriver, cast: Cast) -> PullRequest:
    """A change that nobody has looked at yet is reviewed, and stays open."""
    stage.step(f"A pull request for you to play with: “{open_change.TITLE}”")
    pull = await _propose(stage, cast, open_change.TITLE, open_change.BODY, open_change.PUSH)
    stage.show_review(pull)
    return pull


async def _propose(
    stage: DemoDriver, cast: Cast, title: str, body: str, files: Mapping[str, FileContent]
) -> PullRequest:
    """The author proposes a change, and Forge reviews it."""
    repository = cast.repository
    branch = title.lower().replace(" ", "-").replace("'", "")
    head = await cast.author.push(repository, branch, files, title, base="main")
    pull = await cast.author.open_pull_request(repository, branch, title=title, body=body)
    await stage.wait_for_check(repository, head)
    return pull


async def _deploy(stage: DemoDriver, cast: Cast, pull: PullRequest) -> CheckRun:
    """The maintainer merges a change and lets it be deployed; the check at the end of that."""
    github, gate = stage.github, "staging_deploy"
    await cast.maintainer.merge(pull)
    await stage.wait_for_reply(lambda: [each for each in github.comments(pull) if f"**Forge asks: {gate}" in each.body])
    await stage.write(cast.maintainer.login, pull, f"/forge approve {gate}")
    name = deployment_texts.check_name(rates_staging.ENVIRONMENT)
    check = await stage.wait_for_deployment(cast.repository, pull.merge_commit_sha or "", name)
    stage.show_check(check)
    said = f"**{name}: "
    await stage.wait_for_reply(lambda: [each for each in github.comments(pull) if each.body.startswith(said)])
    stage.point_to("Its page shows that, too", f"{github.url}/{cast.repository.full_name}/pull/{pull.number}")
    return check
