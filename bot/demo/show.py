"""Runs the demo: plays its scenes with a real Forge on a simulated GitHub."""

import asyncio
import tempfile
import time
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from pydantic import SecretStr
from rich.console import Console
from rich.markup import escape
from rich.rule import Rule

from agents.llm.models import Models, ModelTier, Unusable
from bot.app import forge
from bot.demo import project, scenes
from bot.demo.driver import DemoDriver, report_promises
from bot.demo.script import build_model
from bot.outbound.allowance import Allowance
from bot.server import serve
from bot.settings import Settings
from simulator import Simulator
from simulator.gitstore import FileContent
from simulator.state import PullRequest

_SECRET = "demo-webhook-secret"
_PATIENCE = 180.0  # seconds one step may take on a busy machine


async def run(
    console: Console,
    stopped: Callable[[], asyncio.Event] | None = None,
    *,
    details: Console | None = None,
    second_push: Mapping[str, FileContent] = project.SECOND_PUSH,
    patience: float = _PATIENCE,
) -> int:
    """Play the demo, and return the exit code: 0 if everything went as expected.

    :param stopped: returns an event; until it is set, everything stays up for a browser after the last scene.
    :param details: prints each comment, review and check in full; None: they are not shown.
    :param second_push: the author's fixes, by path.
    :param patience: seconds one review may take.
    """
    started = time.monotonic()
    async with _github_and_forge(console) as (github, settings):
        stage = DemoDriver(console, github, patience, details or Console(quiet=True))
        try:
            good = await _play(stage, settings, second_push)
        except TimeoutError as error:
            console.print(f"[red]{escape(str(error))}[/]")
            good = False
        took = time.monotonic() - started
        if stopped is not None:
            await _stay(console, github, stopped())
    told = "[green]The demo ran to its end[/]" if good else "[red]The demo did not go as expected[/]"
    console.print(f"{told} in {took:.0f} s. Nothing was kept; nothing left this machine.")
    console.print("--verbose shows every comment in full, --stay keeps them for a browser.")
    return 0 if good else 1


async def _play(stage: DemoDriver, settings: Settings, second_push: Mapping[str, FileContent]) -> bool:
    """Play the scenes, and return whether every promise was kept."""
    cast = scenes.create_cast(stage.github)
    good = report_promises(stage.console, await scenes.play_review(stage, cast, second_push))
    good = report_promises(stage.console, await scenes.play_gate(stage, cast, settings)) and good
    good = report_promises(stage.console, await scenes.play_learning(stage, cast, settings)) and good
    good = report_promises(stage.console, await scenes.play_issue(stage, cast)) and good
    return report_promises(stage.console, await scenes.play_deployment(stage, cast)) and good


async def _stay(console: Console, github: Simulator, stopped: asyncio.Event) -> None:
    console.print(Rule("Open it in a browser, and choose at the top who you are", align="left", style="bold"))
    console.print(f"  {github.url}  all repositories", soft_wrap=True)
    for repository in github.world.repositories.values():
        for issue in repository.issues.values():
            kind = "pull" if isinstance(issue, PullRequest) else "issues"
            address = f"{github.url}/{repository.full_name}/{kind}/{issue.number}"
            console.print(f"  {address}  {escape(issue.title)}", soft_wrap=True)
    console.print("Press Ctrl-C to stop.")
    await stopped.wait()


@asynccontextmanager
async def _github_and_forge(console: Console) -> AsyncGenerator[tuple[Simulator, Settings]]:
    with tempfile.TemporaryDirectory(prefix="forge-demo-") as name:
        folder = Path(name)
        async with AsyncExitStack() as stack:
            github = await stack.enter_async_context(Simulator(folder / "github", webhook_secret=_SECRET))
            settings = _settings(github, folder)
            running = await stack.enter_async_context(forge(settings, models=_models(console, settings)))
            port = await stack.enter_async_context(serve(running))
            github.webhook_url = f"http://127.0.0.1:{port}/webhook"
            console.print(f"GitHub is simulated at {github.url}, Forge runs on port {port}.")
            yield github, settings


def _settings(github: Simulator, folder: Path) -> Settings:
    return Settings(
        github_api_url=github.api_url,
        github_web_url=github.url,
        app_id=github.app.id,
        private_key=SecretStr(github.app.private_key_pem),
        webhook_secret=(SecretStr(_SECRET),),
        database_url=f"sqlite:///{folder / 'forge.db'}",
        data_dir=folder / "data",
        port=0,
        executor_id="demo",
        write_interval=0,  # a simulated GitHub needs no pauses
        queue_polling=0.2,  # seconds; a quarter of what the demo computed was looking at 0.1
        outbound_allow=Allowance.parse("127.0.0.1"),  # the service that it watches runs on this machine
    )


def _models(console: Console, settings: Settings) -> Models:
    """The real model if its key is set, otherwise the scripted one; prints which."""
    real = settings.models.choose(ModelTier.fast)
    if isinstance(real, Unusable):
        console.print("No model key is set: a script with prepared answers plays the model.")
        return Models.only(build_model().language_model)
    console.print(f"The model is {real.name}, which sees the sample project and costs a few cents.")
    return settings.models
