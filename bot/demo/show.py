"""Runs the demo: plays its scenes with a real Forge on a simulated GitHub."""

import asyncio
import re
import tempfile
import time
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from pydantic import JsonValue, SecretStr
from rich.console import Console
from rich.markup import escape

from agents.llm.models import Models, ModelTier, Unusable
from agents.llm.scripted import ScriptedModel
from bot.app import Forge, forge
from bot.demo import open_change, parcel_issue, project, scenes
from bot.demo.driver import DemoDriver, report_promises
from bot.demo.scenes import Cast
from bot.outbound import Allowance
from bot.server import serve
from bot.settings import Settings
from domain.errors import ConfigurationError
from simulator import Simulator
from simulator.gitstore import FileContent
from simulator.state import Issue, PullRequest

_SECRET = "demo-webhook-secret"
_PATIENCE = 180.0  # seconds one step may take on a busy machine
_FLAW = "rows += load(fetch(carrier))"
_LINE = re.compile(r"(\d+)\W+rows \+= load\(fetch\(carrier\)\)")
_EARLIER = re.compile(r"F-[A-Z2-7]{6}")
_SEEN_BEFORE = (
    "`fetch` returns None for a carrier it has seen, `load(None)` raises, and the bare except hides it: that "
    "carrier's tariffs are silently missing from the new table. Skip the carrier where `fetch` returns None."
)


async def run(
    console: Console,
    stopped: Callable[[], asyncio.Event] | None = None,
    *,
    details: Console | None = None,
    model: str | None = None,
    second_push: Mapping[str, FileContent] = project.SECOND_PUSH,
    patience: float = _PATIENCE,
) -> int:
    """Play the demo, and return the exit code: 0 if everything went as expected.

    :param stopped: returns an event; until it is set, everything stays up for a browser after the last scene.
    :param model: answers what a visitor asks for; the scenes, which are written for the script, are left out then.
    :param details: prints each comment, review and check in full; None: they are not shown.
    :param second_push: the author's fixes, by path.
    :param patience: seconds one review may take.
    """
    started = time.monotonic()
    async with _github_and_forge(console, model) as (github, running):
        stage = DemoDriver(console, github, patience, details or Console(quiet=True), stays=stopped is not None)
        cast, fresh = scenes.create_cast(github), None
        try:
            good = model is not None or await _play(stage, cast, running.settings, second_push)
            fresh = await scenes.play_open_change(stage, cast) if stage.stays else None
        except TimeoutError as error:
            console.print(f"[red]{escape(str(error))}[/]")
            good = False
        took = time.monotonic() - started
        if stopped is not None:
            await _stay(stage, fresh, stopped())
    console.print(_tell_end(good, took, None if stopped is None else time.monotonic() - started, model), soft_wrap=True)
    if stopped is None:
        more = "With --stay, a pull request and the dashboard stay open for a browser; --verbose shows every comment."
        console.print(more, soft_wrap=True)
    return 0 if good else 1


def _tell_end(good: bool, took: float, stayed: float | None, model: str | None) -> str:
    """The last words.

    :param took: seconds of the scenes; :param stayed: of all, until it was stopped; None: it ended with the scenes.
    :param model: it answered a visitor, and no scenes were played; None: they were.
    """
    stopped = "" if stayed is None else f"Stopped after {stayed / 60:.0f} min. "
    if not good:
        told = f"[red]The demo did not go as expected[/] in {took:.0f} s. "
    elif stayed is None:
        told = f"[green]The demo ran to its end[/] in {took:.0f} s. "
    else:
        told = "" if model else f"[green]Its scenes ran to their end[/] in {took:.0f} s. "
    return f"{stopped}{told}Nothing was kept."


async def _play(stage: DemoDriver, cast: Cast, settings: Settings, second_push: Mapping[str, FileContent]) -> bool:
    """Play the scenes; whether every promise was kept."""
    good = report_promises(stage.console, await scenes.play_review(stage, cast, second_push))
    good = report_promises(stage.console, await scenes.play_gate(stage, cast, settings)) and good
    good = report_promises(stage.console, await scenes.play_learning(stage, cast)) and good
    good = report_promises(stage.console, await scenes.play_issue(stage, cast)) and good
    return report_promises(stage.console, await scenes.play_deployment(stage, cast)) and good


async def _stay(stage: DemoDriver, fresh: PullRequest | None, stopped: asyncio.Event) -> None:
    """Say where everything is, and wait.

    :param fresh: a pull request that was reviewed and is open.
    """
    github, forge = stage.github, (stage.github.webhook_url or "").removesuffix("/webhook")
    stage.step("Open it in a browser, and choose at the top who you are: author, maintainer or stranger")
    if fresh is not None:
        stage.point_to("A pull request with findings, for its author", _locate(github, fresh))
    stage.point_to("A pull request of your own: edit a file there", f"{github.url}/{project.REPOSITORY}")
    stage.point_to("Forge's dashboard, signed in as whom you chose", f"{forge}/dashboard/to-github")
    stage.point_to("Everything else", github.url)
    for repository in github.world.repositories.values():
        for issue in repository.issues.values():
            if issue is not fresh:
                stage.point_to(f"  #{issue.number} {issue.title}", _locate(github, issue))
    stage.console.print("Write /forge help in a comment for what else there is. Press Ctrl-C to stop.")
    await stopped.wait()


def _locate(github: Simulator, issue: Issue) -> str:
    kind = "pull" if isinstance(issue, PullRequest) else "issues"
    return f"{github.url}/{issue.repository.full_name}/{kind}/{issue.number}"


@asynccontextmanager
async def _github_and_forge(console: Console, model: str | None) -> AsyncGenerator[tuple[Simulator, Forge]]:
    with tempfile.TemporaryDirectory(prefix="forge-demo-") as name:
        folder = Path(name)
        async with AsyncExitStack() as stack:
            github = await stack.enter_async_context(Simulator(folder / "github", webhook_secret=_SECRET))
            settings = _settings(github, folder, model)
            running = await stack.enter_async_context(forge(settings, models=_models(console, settings, model)))
            port = await stack.enter_async_context(serve(running))
            github.webhook_url = f"http://127.0.0.1:{port}/webhook"
            github.sign_in.follows_pages = True  # whoever the pages are acting as is signed in to the dashboard, too
            console.print("GitHub is simulated on this machine, and a whole Forge runs beside it.")
            yield github, running


def _settings(github: Simulator, folder: Path, model: str | None) -> Settings:
    settings = Settings(
        github_api_url=github.api_url,
        github_web_url=github.url,
        app_id=github.app.id,
        private_key=SecretStr(github.app.private_key_pem),
        client_id=github.app.client_id,
        client_secret=SecretStr(github.app.client_secret),
        webhook_secret=(SecretStr(_SECRET),),
        database_url=f"sqlite:///{folder / 'forge.db'}",
        data_dir=folder / "data",
        port=0,
        executor_id="demo",
        write_interval=0,  # a simulated GitHub needs no pauses
        queue_polling=0.2,  # seconds; a quarter of what the demo computed was looking at 0.1
        outbound_allow=Allowance.parse("127.0.0.1"),  # the service that it watches runs on this machine
    )
    return settings.model_copy(update={"strong_model": model, "fast_model": model}) if model else settings


def _models(console: Console, settings: Settings, model: str | None) -> Models:
    """The real model if its key is set, otherwise the scripted one; prints which.

    :param model: the one that somebody asked for.
    :raises ConfigurationError: it cannot be asked.
    """
    real = settings.models.choose(ModelTier.fast)
    if not isinstance(real, Unusable):
        console.print(f"The model is {real.name}, which sees the sample project and costs a few cents.")
        return settings.models
    if model:
        raise ConfigurationError(real.reason)
    console.print("No model key is set: a script with prepared answers plays the model.")
    return Models.only(_build_model().language_model)


def _build_model() -> ScriptedModel:
    """A model that finds one flaw that no tool finds, sees when it is fixed, and implements one issue."""
    model = ScriptedModel()
    model.when(_FLAW, _report_flaw)
    model.when("shutil.copyfileobj", _report_resolved)
    model.when("== candidates", {"verdicts": [{"number": 1, "verdict": "proven", "quote": _FLAW}]})
    model.when("== your test", {"declined": "It would need the server of a carrier."})
    parcel_issue.script_answers(model)
    open_change.script_answers(model)
    return model


def _report_flaw(content: str) -> dict[str, JsonValue]:
    shown = _LINE.search(content)
    line = int(shown[1]) if shown else 1
    claim: dict[str, JsonValue] = {
        "rule": "model/logic-error",
        "path": "rates/importer.py",
        "line": line,
        "end_line": line,
        "quote": _FLAW,
        "harm": "wrong_result",
        "met_by": "caller",
        "confidence": 0.9,
        "message": _SEEN_BEFORE,
    }
    return {"findings": [claim]}


def _report_resolved(content: str) -> dict[str, JsonValue]:
    names = dict.fromkeys(_EARLIER.findall(content))
    return {"findings": [], "earlier": [{"id": name, "gone": True} for name in names]}
