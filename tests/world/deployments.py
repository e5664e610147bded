"""A repository that deploys a toy service by a workflow of its own."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from domain.commands import Sender
from domain.deployments.deployment import Cause, Deployment, DeploymentState
from domain.runs.run import ReasonCode, RepositoryRef, RunState
from memory.deployments import deployments
from memory.runs import runs
from simulator import User
from simulator.state import CheckRun, Issue, PullRequest, Repository
from tests.stories.driver import Story
from tests.world.automation import set_level
from tests.world.toy_service import ToyService

CHANGED = "def price(amount):\n    return amount * 2\n"
APP = "def price(amount):\n    return amount\n"
DEPLOY = """\
name: Deploy
run-name: Deploy ${{ inputs.deployment }}
on:
  workflow_dispatch:
    inputs:
      environment: {required: true}
      ref: {required: true}
      percentage: {required: true}
      deployment: {required: true}
permissions: {}
jobs:
  deploy:
    runs-on: ubuntu-24.04
    steps:
      - run: ./deploy
"""
INTERVAL = 15
WATCH = (
    f", verify: {{health: [{{url: 'SERVICE/health'}}], window: 30, bake: 30, interval: {INTERVAL}, patience: 2, "
    "error_rate: {url: 'SERVICE/figures', path: now.errors}, latency: {url: 'SERVICE/figures', path: now.latency}}"
)
SHORT = ", strategy: {high: [25, 100]}"
UNREVIEWED = "review: {on_pull_request: false}\n"


def configure(
    service: ToyService,
    *,
    trigger: str = "command",
    extra: str = "",
    more: str = SHORT,
    watch: str = WATCH,
    top: str = UNREVIEWED,
) -> str:
    """A configuration with the environments `staging` and `production`.

    :param trigger: of staging.
    :param extra: lines within `deploy`.
    :param more: settings of both environments.
    :param watch: how both are watched.
    :param top: lines outside `deploy`.
    """
    watched = watch.replace("SERVICE", service.url)
    return (
        f"{top}deploy:\n{extra}  environments:\n"
        f"    staging: {{trigger: {trigger}, workflow: deploy.yml{watched}{more}}}\n"
        f"    production: {{workflow: deploy.yml, url: 'https://shop.example.com'{watched}{more}}}\n"
    )


@dataclass(eq=False)
class DeploymentScene:
    """alice may write, carol and erin maintain. The workflow deploys to the service of the environment.

    :ivar failing: inputs for which the workflow fails.
    """

    told: Story
    repository: Repository
    alice: User
    carol: User
    erin: User
    service: ToyService
    fails: Callable[[Mapping[str, str]], bool] = field(default=lambda _: False)
    pulls: list[PullRequest] = field(default_factory=list[PullRequest])

    async def play(self, inputs: Mapping[str, str], _sha: str) -> str:
        """What the workflow does."""
        if self.fails(inputs):
            return "failure"
        self.service.deploy(inputs["ref"], int(inputs["percentage"]))
        return "success"

    async def was_deployed(self, environment: str = "staging") -> str:
        """What the default branch has was deployed before, and is well; the commit."""
        database, now = self.told.forge.services.database, self.told.clock.now()
        sha = self.repository.git.refs()["refs/heads/main"]
        order = deployments.DeploymentOrder(
            admitted_by=f"before {sha}#{environment}",
            repository=self.ref,
            number=1,
            environment=environment,
            is_production=environment == "production",
            sha=sha,
            cause=Cause.command,
            risk=None,
            sender=Sender(id=self.carol.account.id, login="carol"),
        )
        run, _ = await deployments.admit(database, order, now)
        await deployments.move(database, run, DeploymentState.healthy, now, percentage=100)
        for state in (RunState.running, RunState.completed):
            await runs.move(database, run.id, state, now, ReasonCode.deployed)
        self.service.share = {sha: 100}
        return sha

    @property
    def ref(self) -> RepositoryRef:
        owner, _, name = self.repository.full_name.partition("/")
        installation = self.told.github.world.installation_of(self.repository)
        assert installation is not None
        return RepositoryRef(installation_id=installation.id, id=self.repository.id, owner=owner, name=name)

    async def merge(self, text: str = CHANGED, path: str = "app.py") -> str:
        """alice changes something and carol merges it; the merged commit."""
        await self.open_pull({path: text})
        return await self.told.after(self.carol.merge(self.pull))

    async def open_pull(self, files: Mapping[str, str]) -> None:
        """alice changes something."""
        branch = f"change-{len(self.pulls)}"
        await self.alice.push(self.repository, branch, files, base="main")
        self.pulls.append(await self.alice.open_pull_request(self.repository, branch))
        await self.told.settle()

    async def merge_by_hand(self, files: Mapping[str, str]) -> None:
        """carol merges at home, changes more files in the merge, and pushes it."""
        git, signed = self.repository.git, (self.carol.account.signature, self.told.clock.now())
        main, head = git.refs()["refs/heads/main"], self.pull.head_sha
        clean = git.commit_tree(git.merge_tree(main, head).tree, [main, head], "Merge", *signed)
        changed = await self.carol.push(self.repository, "at-home", files, base=clean)
        by_hand = git.commit_tree(git.commit(changed).tree, [main, head], "Merge", *signed)
        await self.told.after(self.carol.reset_branch(self.repository, "main", by_hand))

    @property
    def pull(self) -> PullRequest:
        return self.pulls[-1]

    async def comment(self, who: User, words: str, on: Issue | None = None) -> str:
        """Somebody comments; what Forge answers."""
        place = on or self.pull
        before = {each.id for each in self.told.answers(place)}
        self.told.clock.move(seconds=2)
        await self.told.after(who.comment(place, words))
        return "\n".join(each.body for each in self.told.answers(place) if each.id not in before)

    async def carry_out(self, who: User, words: str) -> None:
        """Somebody comments, and time passes until nothing is under way any more."""
        await self.comment(who, words)
        await self.run_on()

    def pass_over(self) -> None:
        """Count everything on its pull requests as looked at."""
        for pull in self.pulls:
            self.told.pass_over(pull)

    async def run_on(self, looks: int = 60) -> None:
        """Let time pass until nothing is under way any more, or a person has to answer."""
        for _ in range(looks):
            latest = await self.latest()
            if latest is None or latest.state.is_over or latest.state in {"asking", "holding"}:
                return
            await self.look()
        raise AssertionError("the deployment did not come to its end")

    async def look(self, times: int = 1) -> None:
        """Let the time of some looks pass."""
        for _ in range(times):
            await self.told.wait(seconds=INTERVAL)
            await self.told.github.finish_plays()
            await self.told.settle()

    def end(self, on: Issue | None = None) -> str:
        """The newest comment about how a deployment ended."""
        said = [each.body for each in self.told.answers(on or self.pull) if each.body.startswith("**Forge / deploy")]
        assert said, "nobody was told how it ended"
        return said[-1]

    async def press(self, who: User, button: str, sha: str, environment: str = "staging") -> None:
        """Somebody presses a button of the check of a deployment."""
        await self.told.after(who.press(self.check(sha, environment), button))

    async def run_until(self, sha: str, percentage: int) -> None:
        """Let time pass until a commit has a share of the traffic."""
        for _ in range(30):
            if (sha, percentage) in self.service.history and (await self.get_latest()).percentage == percentage:
                return
            await self.look()
        raise AssertionError(f"{sha} did not get {percentage} %")

    async def get_latest(self) -> Deployment:
        """The newest deployment."""
        found = await self.latest()
        assert found is not None
        return found

    async def latest(self) -> Deployment | None:
        """The newest deployment; None if there is none."""
        found = await deployments.list_latest(self.told.forge.services.database, self.repository.id)
        return found[0] if found else None

    async def history(self) -> list[Deployment]:
        """All deployments, oldest first."""
        found = await deployments.list_latest(self.told.forge.services.database, self.repository.id, limit=100)
        return [*reversed(found)]

    def check(self, sha: str, environment: str) -> CheckRun:
        """The newest check of a deployment."""
        found = self.told.github.check_runs(self.repository, sha, f"Forge / deploy: {environment}")
        assert found, f"nothing shows a deployment to {environment}"
        return max(found, key=lambda check: check.id)

    def statuses(self, sha: str, environment: str) -> list[tuple[str, str]]:
        """What GitHub keeps of the deployments of a commit, oldest first."""
        there = [each for each in self.repository.deployments if (each.sha, each.environment) == (sha, environment)]
        return [(status.state, status.description) for each in there for status in each.statuses]


async def open_deployments(
    story: Story, service: ToyService, *, level: int | None = None, **settings: Any
) -> DeploymentScene:
    """The repository, before anything was deployed; at an automation level, if one is named."""
    files = {
        "app.py": APP,
        "README.md": "# Shop\n",
        ".github/workflows/deploy.yml": DEPLOY,
        ".github/forge.yml": configure(service, **settings),
    }
    repository, alice = story.repository(files)
    carol, erin = (story.member(repository, login, "maintain") for login in ("carol", "erin"))
    if level is not None:
        await set_level(story, repository, level)
    scene = DeploymentScene(story, repository, alice, carol, erin, service)
    story.github.on_dispatch(repository, "deploy.yml", scene.play)
    return scene
