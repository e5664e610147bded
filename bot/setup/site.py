"""The set-up pages: what is shown at each step, and what each form does.

A page is HTML with one style sheet and no script; its forms lead here and to GitHub only. What is entered is checked as
`forge doctor` does it, and a model's key before it is stored."""

import asyncio
import base64
import hashlib
import os
import secrets
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import cache
from urllib.parse import urlsplit

import structlog
from aiohttp import web
from jinja2 import PackageLoader
from markupsafe import Markup

from agents.llm.models import Models, ModelTier
from bot.clock import SystemClock
from bot.doctor import Diagnosis, PartState, fail
from bot.doctor.doctor import diagnose
from bot.doctor.machine import check_sandbox
from bot.doctor.services import check_model
from bot.health import ALIVE
from bot.listener import HeldPort, listen
from bot.pages import Denied, make_templates, read_fields
from bot.setting_sources import Places
from bot.settings import Installation, list_named, load
from bot.setup.choices import AFTERWARDS, STORED, Choices, describe_app, find_install_page, parse_choices
from bot.setup.guard import LIFETIME, SetupGuard
from domain.errors import ConfigurationError
from domain.ports import Clock
from domain.text.redaction import PROCESS_REDACTOR
from github.registration import NotRegistered, RegisteredApp, build_address, build_manifest, exchange_code

log = structlog.get_logger(__name__)

PATH = "/setup"
_COOKIE = "forge_setup"
_LARGEST_FORM = 64 * 1024  # bytes
_FORM = web.RequestKey("form", dict[str, str])

Handler = Callable[[web.Request, str], Awaitable[web.StreamResponse]]


class SetupSite:
    """One set-up, from the first page to the last.

    :param suggestion: a name for the App.
    :param goes_on: whether Forge serves at the same address afterwards.
    """

    def __init__(self, guard: SetupGuard, places: Places, suggestion: str, *, goes_on: bool) -> None:
        self._guard = guard
        self._places = places
        self._suggestion = suggestion
        self._goes_on = goes_on
        self._is_chosen = False
        self._is_model_done = False
        self._code = ""  # of GitHub, until it is exchanged and what it brought is stored
        self._app: RegisteredApp | None = None  # that could not be stored: its code counts once
        self._busy = asyncio.Lock()  # one thing at a time, also if a button is pressed twice
        self.done = asyncio.Event()

    def add_routes(self, router: web.UrlDispatcher) -> None:
        """Add every page and form."""
        for early in ("/", "/dashboard{rest:(/.*)?}"):
            router.add_get(early, self._lead)
        router.add_get(PATH, self._wrap(self._show))
        router.add_post(f"{PATH}/begin", self._wrap_form(self._begin))
        router.add_get(f"{PATH}/registered", self._wrap(self._register))
        for name, handler in (
            ("app", self._choose),
            ("exchange", self._exchange),
            ("model", self._set_model),
            ("finish", self._finish),
        ):
            router.add_post(f"{PATH}/{name}", self._wrap_form(self._wrap_step(handler)))

    # --- who may ask ---------------------------------------------------------------------------------------------

    def _wrap(self, handler: Handler) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
        """Refuse a request under a name that is not ours, and show every refusal as a page."""

        async def handle(request: web.Request) -> web.StreamResponse:
            try:
                origin = self._guard.find_origin(request.host)
                if request.method == "POST":  # before anybody waits for its answer
                    request[_FORM] = await read_fields(request, _LARGEST_FORM)
                async with self._busy:
                    if self.done.is_set():
                        return _see_other("/")
                    return await handler(request, origin)
            except Denied as denied:
                return _show_refusal(denied)
            except ConfigurationError as error:
                return _show_refusal(Denied(500, error.message, error.advice or ""))
            except web.HTTPException:
                raise
            except Exception:
                log.exception("setup.unexpected", path=request.path)
                return _show_refusal(Denied(500, "Forge made a mistake of its own.", "Its log has the details."))

        return handle

    def _wrap_form(self, handler: Handler) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
        async def handle(request: web.Request, origin: str) -> web.StreamResponse:
            self._guard.require_own_page(origin, request.headers.get("Origin"), request.headers.get("Sec-Fetch-Site"))
            return await handler(request, origin)

        return self._wrap(handle)

    def _wrap_step(self, handler: Handler) -> Handler:
        async def handle(request: web.Request, origin: str) -> web.StreamResponse:
            self._require_known(request)
            return await handler(request, origin)

        return handle

    def _require_known(self, request: web.Request) -> None:
        if not self._guard.knows(request.cookies.get(_COOKIE, "")):
            raise Denied(
                403,
                "This browser does not do the set-up, or did nothing for 30 minutes.",
                "Open the address that Forge printed, and begin there.",
            )

    # --- the steps -----------------------------------------------------------------------------------------------

    async def _lead(self, _request: web.Request) -> web.StreamResponse:
        return self._show_end(self._load()) if self.done.is_set() else _see_other(PATH)

    async def _show(self, request: web.Request, origin: str) -> web.StreamResponse:
        """The step that comes next."""
        if not self._guard.knows(request.cookies.get(_COOKIE, "")):
            return render("begin.html", has_token=self._guard.has_token, token=request.query.get("once", ""))
        kept = self._load()
        if not kept.get("FORGE_APP_ID"):
            choices = Choices.load(kept, self._suggestion)
            if self._code:
                return self._show_failure("The App is registered, but its credentials are not here yet.", "", True)
            if not self._is_chosen or "change" in request.query:
                return self._show_choices(choices, {})
            return self._show_manifest(choices, origin)
        if not self._is_model_done:
            return self._show_model(kept, None)
        found = await examine_installation()
        return render("checks.html", found=found)

    async def _begin(self, request: web.Request, origin: str) -> web.StreamResponse:
        secret = self._guard.begin(request[_FORM].get("token", ""))
        answer = _see_other(PATH)
        answer.set_cookie(
            _COOKIE,
            secret,
            max_age=int(LIFETIME.total_seconds()) * 4,
            path=PATH,
            httponly=True,
            samesite="Lax",  # GitHub leads back here
            secure=origin.startswith("https:"),
        )
        return answer

    async def _choose(self, request: web.Request, origin: str) -> web.StreamResponse:
        named = list_named()
        fixed = {field: str(named[setting]) for field, setting in STORED.items() if named.get(setting)}
        form = {**request[_FORM], **fixed, **({"reach": "relay"} if "relay" in fixed else {})}
        choices, wrong = parse_choices(form, fixed.get("public_url") or origin)
        if wrong:
            return self._show_choices(choices, wrong)
        self._save(choices.as_settings(named))
        self._is_chosen = True
        return _see_other(PATH)

    async def _register(self, request: web.Request, _origin: str) -> web.StreamResponse:
        """Where GitHub sends the browser with a code."""
        self._require_known(request)
        if self._load().get("FORGE_APP_ID"):  # loaded again: who is told to delete an App would delete this one
            raise Denied(403, "The App is registered already, by an answer before this one.", "Go on with the set-up.")
        self._guard.take_state(request.query.get("state", ""))
        self._code = request.query.get("code", "")
        return await self._fetch_credentials()

    async def _exchange(self, _request: web.Request, _origin: str) -> web.StreamResponse:
        return await self._fetch_credentials() if self._code else _see_other(PATH)

    async def _fetch_credentials(self) -> web.StreamResponse:
        found = self._app or await exchange_code(self._load()["FORGE_GITHUB_API_URL"], self._code)
        if isinstance(found, NotRegistered):
            self._code = self._code if found.can_retry else ""
            log.warning("setup.not_registered", why=found.reason)
            return self._show_failure(found.reason, found.advice, found.can_retry)
        self._app = found
        self._store_app(found)
        self._code, self._app = "", None
        log.info("setup.registered", app=found.id, owner=found.owner.login)
        return _see_other(PATH)

    def _store_app(self, app: RegisteredApp) -> None:
        secrets = {
            "FORGE_PRIVATE_KEY": app.pem.get_secret_value(),
            "FORGE_WEBHOOK_SECRET": app.webhook_secret.get_secret_value(),
            "FORGE_CLIENT_SECRET": app.client_secret.get_secret_value(),
        }
        PROCESS_REDACTOR.learn(*secrets.values())
        about = {"FORGE_APP_ID": str(app.id), "FORGE_CLIENT_ID": app.client_id}
        self._save({**secrets, **about, **describe_app(app)})

    async def _set_model(self, request: web.Request, _origin: str) -> web.StreamResponse:
        form = request[_FORM]
        provider, key = form.get("provider", ""), form.get("key", "").strip()
        if form.get("action") != "skip":
            if not key or provider not in KEYS:
                return self._show_model(self._load(), NO_KEY, provider)
            PROCESS_REDACTOR.learn(key)
            diagnosis, settings = await try_key(provider, key)
            if diagnosis.condition is not PartState.well:
                return self._show_model(self._load(), diagnosis, provider)
            self._save(settings)
        self._is_model_done = True
        return _see_other(PATH)

    async def _finish(self, _request: web.Request, _origin: str) -> web.StreamResponse:
        kept = self._load()
        if not kept.get("FORGE_APP_ID"):
            return _see_other(PATH)
        self.done.set()
        return self._show_end(kept)

    # --- what is shown and kept ----------------------------------------------------------------------------------

    def _show_end(self, kept: Mapping[str, str]) -> web.StreamResponse:
        """The last page; it goes on by itself to Forge, which answers at the same address as soon as it can."""
        page, next_page = (
            find_install_page(kept, kept.get("FORGE_GITHUB_WEB_URL", "")),
            AFTERWARDS if self._goes_on else "",
        )
        answer = render("done.html", page=page.address, owner=page.owner, next_page=next_page)
        if next_page:
            answer.headers["Refresh"] = f"1; url={next_page}"
        return answer

    def _show_choices(self, choices: Choices, wrong: Mapping[str, str]) -> web.StreamResponse:
        named = list_named()
        fixed = {field: setting for field, setting in STORED.items() if named.get(setting)}
        return render("choices.html", status=422 if wrong else 200, choices=choices, wrong=wrong, fixed=fixed)

    def _show_manifest(self, choices: Choices, origin: str) -> web.StreamResponse:
        manifest = build_manifest(choices.name, choices.hook, choices.public_url, f"{origin}{PATH}/registered")
        address = build_address(choices.web_url, choices.organization, self._guard.make_state())
        return render("manifest.html", leads_to=choices.web_url, choices=choices, manifest=manifest, address=address)

    def _show_failure(self, reason: str, advice: str, can_retry: bool) -> web.StreamResponse:
        return render("failure.html", status=502, reason=reason, advice=advice, can_retry=can_retry)

    def _show_model(
        self, kept: Mapping[str, str], diagnosis: Diagnosis | None, provider: str = ""
    ) -> web.StreamResponse:
        there = [name for name in KEYS.values() if os.environ.get(name) or kept.get(name)]
        status = 200 if diagnosis is None else 422
        return render("model.html", status=status, diagnosis=diagnosis, provider=provider or "anthropic", there=there)

    def _load(self) -> Mapping[str, str]:
        """What is stored, and over it what is set elsewhere."""
        return {**self._places.store.load(), **{name: str(value) for name, value in list_named().items()}}

    def _save(self, values: Mapping[str, str]) -> None:
        self._places.make_data_dir()
        self._places.store.save(values)


def _show_refusal(denied: Denied) -> web.StreamResponse:
    log.warning("setup.refused", why=denied.reason)
    return render("refusal.html", status=denied.status, reason=denied.reason, advice=denied.advice)


def _see_other(target: str) -> web.Response:
    return web.Response(status=303, headers={"Location": target, "Cache-Control": "no-store"})


_TEMPLATES = make_templates(PackageLoader("bot.setup", "."))


@cache
def _load_style() -> str:
    assert _TEMPLATES.loader is not None
    return _TEMPLATES.loader.get_source(_TEMPLATES, "setup.css")[0]


def render(template: str, *, status: int = 200, leads_to: str = "", **shown: object) -> web.Response:
    """A page.

    :param leads_to: an address of another site that its form is sent to.
    :param shown: what the template names.
    """
    style = _load_style()
    text = _TEMPLATES.get_template(template).render(**shown, style=Markup(style))
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    place = urlsplit(leads_to)
    elsewhere = f" {place.scheme}://{place.netloc}" if place.netloc else ""
    policy = (
        f"default-src 'none'; style-src 'sha256-{digest}'; form-action 'self'{elsewhere}; base-uri 'none'; "
        "frame-ancestors 'none'"
    )
    headers = {
        "Content-Security-Policy": policy,
        "Cache-Control": "no-store",
        "X-Content-Type-Options": "nosniff",
        # The origin alone: the address may hold a token or a state, and without any a form would come from nowhere.
        "Referrer-Policy": "strict-origin",
    }
    return web.Response(status=status, text=text, content_type="text/html", headers=headers)


KEYS = {"anthropic": "ANTHROPIC_API_KEY", "openai": "OPENAI_API_KEY"}
"""Provider → the variable that holds its key."""
_NAMES = {ModelTier.strong: "FORGE_STRONG_MODEL", ModelTier.fast: "FORGE_FAST_MODEL"}
_DEFAULTS = {tier: str(Installation.model_fields[f"{tier.value}_model"].default) for tier in _NAMES}
_CHOSEN = {
    "anthropic": _DEFAULTS,
    "openai": {ModelTier.strong: "openai:gpt-6.1-sol", ModelTier.fast: "openai:gpt-6.1-terra"},
}
"""Provider → what is asked where its key is given and no model of it is named."""

NO_KEY = fail("model", "There is no key.", "Paste one, or go on without a model.")


async def examine_installation() -> Sequence[Diagnosis]:
    """What `forge doctor` finds with the settings as they are now."""
    found = [each async for each in diagnose()]
    settings = load(Installation)
    return [*found, await check_sandbox(settings.sandbox_user, settings.sandbox)]


async def try_key(provider: str, key: str) -> tuple[Diagnosis, Mapping[str, str]]:
    """Ask the cheaper of the provider's models for one word; also returns the settings to keep if it answered."""
    settings = load(Installation)
    kept = {KEYS[provider]: key}
    names = {ModelTier.strong: settings.strong_model, ModelTier.fast: settings.fast_model}
    asked = next((tier for tier in (ModelTier.fast, ModelTier.strong) if names[tier].startswith(provider)), None)
    if asked is None:
        fixed = list_named()
        for tier, setting in _NAMES.items():
            if fixed.get(setting):
                return _refuse_other(setting, names[tier]), {}
        asked, names = ModelTier.fast, _CHOSEN[provider]
        kept |= {setting: "" if names == _DEFAULTS else names[tier] for tier, setting in _NAMES.items()}
    models = Models(names, settings.model_prices, environment={**os.environ, **kept}, seconds=settings.model_seconds)
    return await check_model(models.find(asked), is_wanted=True, ask=True), kept


def _refuse_other(setting: str, name: str) -> Diagnosis:
    """What to say of a key that would never be used."""
    why = f"{setting} is {name} outside of the set-up, a model of another provider, so this key would not be used."
    return fail("model", why, f"Paste a key of that provider, or change {setting} there and start Forge again.")


async def set_up(
    settings: Installation,
    stopped: asyncio.Event,
    announce: Callable[[str], None] | None = None,
    clock: Clock | None = None,
    held: HeldPort | None = None,
) -> bool:
    """Serve the set-up pages until they are done, or until the process is told to stop; returns whether they are done.

    :param announce: is told each address that may be opened; by default it is printed, or logged where logs are JSON.
    :param held: keeps the port for Forge, which serves there next; None: nothing does.
    :raises ConfigurationError: the address of the settings cannot be used, or the data folder not be written.
    """
    settings.make_data_dir()
    settings.store.load()  # raises before anybody begins
    tell = announce or (_log if settings.log_format == "json" else _print)
    port = settings.port

    def announce_token(token: str | None) -> None:
        tell(_find_address(settings, port) + (f"?once={token}" if token else ""))

    guard = SetupGuard(clock or SystemClock(), not settings.is_on_loopback, settings.public_url, announce_token)
    site = SetupSite(guard, settings, f"Forge {secrets.token_hex(2)}", goes_on=held is not None)
    app = web.Application()
    site.add_routes(app.router)
    app.router.add_get("/healthz", _alive)
    app.router.add_get("/readyz", _refuse)
    app.router.add_post("/webhook", _answer_hook)
    app.router.add_post("/", _answer_hook)
    async with listen(app, settings, held=held) as bound:
        port = bound
        guard.open()
        waiting = [asyncio.create_task(event.wait()) for event in (site.done, stopped)]
        await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        for task in waiting:
            task.cancel()
        if held is not None:
            held.is_kept = site.done.is_set()
    return site.done.is_set()


def _find_address(settings: Installation, port: int) -> str:
    if settings.public_url:
        return f"{settings.public_url}{PATH}"
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    return f"http://{host if settings.host not in {'0.0.0.0', '::'} else 'localhost'}:{port}{PATH}"


def _log(address: str) -> None:
    log.warning("setup.waiting", open=address, why="There is no GitHub App yet; the address counts for 30 minutes.")


def _print(address: str) -> None:
    sys.stderr.write(
        f"\nForge has no GitHub App yet. To set it up, open this address within 30 minutes:\n\n    {address}\n\n"
        "`forge setup --manual` says how to do it by hand. Ctrl-C ends.\n\n"
    )
    sys.stderr.flush()


async def _alive(_request: web.Request) -> web.Response:
    return web.Response(text=ALIVE)


async def _refuse(_request: web.Request) -> web.Response:
    return web.Response(status=503, text="not set up\n")


async def _answer_hook(request: web.Request) -> web.Response:
    """Greet GitHub, which pings a new App; of anything else it keeps a record, from which Forge fetches it later."""
    if request.headers.get("X-GitHub-Event") == "ping":
        return web.Response(text="not set up yet\n")
    return web.Response(status=503, text="not set up yet\n")
