"""The scenes of a deployment, and what is left of each: where the traffic goes, and what GitHub shows."""

import asyncio
import time
from dataclasses import dataclass
from typing import Any, ClassVar

from memory.deployments import deployments
from tests.chaos.driver import PATIENCE, ChaosStage, Chooser, never
from tests.chaos.scenes import Scene, normalize
from tests.world.deployments import DEPLOY
from tests.world.toy_service import ToyService

_CONFIGURED = """\
ladder: {pinned: 1}
review: {on_pull_request: false}
deploy:
  environments:
    staging:
      workflow: deploy.yml
      strategy: {high: [50, 100]}
      verify:
        health: [{url: 'SERVICE/health'}]
        error_rate: {url: 'SERVICE/figures', path: now.errors}
        interval: 1
        window: 1
        bake: 1
        patience: 1
"""


@dataclass(eq=False)
class Deployed(Scene):
    """Something is merged and deployed to an environment, half of the traffic first."""

    service: ClassVar[ToyService]
    fails: ClassVar[bool] = False
    path: ClassVar[str] = "app.py"
    sha: str = ""

    async def play(self, dies: Chooser = never) -> dict[str, Any]:
        await self.push(f"VERSION = {self.serial}\n")
        pull = await self.alice.open_pull_request(self.repository, self._branch)
        self.sha = await self.alice.merge(pull)
        await self.stage.settle()
        self.stage.begin(self.on_point, dies)
        if self.fails:
            self.service.error_rates[self.sha] = 0.9
        await self.alice.comment(pull, "/forge deploy staging")
        await self.end()
        return self.collect_results()

    async def end(self) -> None:
        """Wait until nothing is under way any more."""
        end = time.monotonic() + PATIENCE
        is_admitted = False
        while time.monotonic() < end:
            await self.stage.settle()
            known = await deployments.list_latest(self.stage.database, self.repository.id, limit=1)
            is_admitted = is_admitted or any(each.sha == self.sha for each in known)
            if is_admitted and known[0].state.is_over:
                return await self.stage.settle()
            await asyncio.sleep(0.1)
        raise AssertionError("the deployment did not come to its end")

    def collect_results(self) -> dict[str, Any]:
        github, bot = self.stage.github, self.stage.github.app.bot
        steps = [step for step in self.service.history if step[0] == self.sha]
        checks = [
            (check.name, check.status, check.conclusion, normalize(check.title), normalize(check.summary))
            for check in github.check_runs(self.repository, self.sha)
        ]
        told = [
            [(status.state, normalize(status.description)) for status in each.statuses]
            for each in self.repository.deployments
            if each.sha == self.sha
        ]
        answers = sorted(normalize(each.body) for each in github.comments(self.pull) if each.user is bot)
        return {
            "steps": [percentage for _, percentage in steps],
            "share": self.service.share.get(self.sha),
            "checks": checks,
            "told": told,
            "answers": answers,
        }


class RolledBack(Deployed):
    """What is deployed fails, so that what was there before comes back."""

    fails: ClassVar[bool] = True


async def prepare_deployments(stage: ChaosStage, service: ToyService) -> None:
    """A repository that deploys to a service; something well was deployed there before."""
    files = {
        "app.py": "VERSION = 0\n",
        ".github/workflows/deploy.yml": DEPLOY,
        ".github/forge.yml": _CONFIGURED.replace("SERVICE", service.url),
    }
    repository, _ = stage.repository(files)

    async def play(inputs: Any, _sha: str) -> str:
        service.deploy(inputs["ref"], int(inputs["percentage"]))
        return "success"

    stage.github.on_dispatch(repository, "deploy.yml", play)
    Deployed.service = service
    await stage.start()
