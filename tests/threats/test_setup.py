"""Nobody but the one browser gets through the set-up: every step refuses what was forged, repeated or is too late."""

import asyncio
import os
import re
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import httpx2
import pytest
from aiohttp import web
from structlog.testing import capture_logs

from bot.listener import HeldPort, listen
from bot.settings import Installation, load
from bot.setup.choices import parse_choices
from bot.setup.site import set_up
from bot.webhook import BODY_SECONDS
from simulator import Simulator
from tests.contract.stage import MovableClock
from tests.world.first_run import find_port

_CHOICES = {"name": "Forge", "organization": "", "reach": "server", "public_url": "http://127.0.0.1:9"}


@dataclass
class Setup:
    """A set-up that runs, and what it announced."""

    github: Simulator
    clock: MovableClock
    folder: Path
    addresses: list[str] = field(default_factory=list[str])
    was_announced: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def origin(self) -> str:
        place = urlsplit(self.addresses[0])
        return f"{place.scheme}://{place.netloc}"

    @property
    def token(self) -> str:
        return self.addresses[-1].partition("?once=")[2]

    def open_browser(self) -> httpx2.AsyncClient:
        """A browser: it keeps cookies, and says where its forms come from."""
        return httpx2.AsyncClient(base_url=self.origin, headers={"Origin": self.origin})

    async def begin(self, browser: httpx2.AsyncClient) -> None:
        answer = await browser.post("/setup/begin", data={"token": self.token})
        assert answer.status_code == 303

    async def choose(self, browser: httpx2.AsyncClient) -> str:
        """Choose, and return the address that the manifest is sent to."""
        answer = await browser.post("/setup/app", data={**_CHOICES, "web_url": self.github.url})
        assert answer.status_code == 303
        shown = await browser.get("/setup")
        return re.findall(r'action="([^"]*settings/apps/new[^"]*)"', shown.text)[0]

    async def register(self, browser: httpx2.AsyncClient) -> str:
        """Register the App on GitHub, and return the path that it leads back to."""
        target = (await self.choose(browser)).replace("/new?", "?")
        manifest = f'{{"name": "Forge", "redirect_url": "{self.origin}/setup/registered"}}'
        async with httpx2.AsyncClient() as elsewhere:
            back = await elsewhere.post(target, data={"manifest": manifest})
        return back.headers["Location"].removeprefix(self.origin)


@asynccontextmanager
async def _set_up(
    folder: Path,
    host: str,
    settings: Mapping[str, str] = {},
    held: HeldPort | None = None,
) -> AsyncGenerator[tuple[Setup, asyncio.Task[bool]]]:
    os.chdir(folder)
    for name, value in {"FORGE_HOST": host, "FORGE_PORT": "0", **settings}.items():
        os.environ[name] = value
    async with Simulator(folder / "github") as github:
        github.user("alice")
        running = Setup(github, MovableClock(), folder)

        def announce(address: str) -> None:
            running.addresses.append(address)
            running.was_announced.set()

        stopped = asyncio.Event()
        task = asyncio.create_task(set_up(load(Installation), stopped, announce, running.clock, held))
        await running.was_announced.wait()
        try:
            yield running, task
        finally:
            stopped.set()
            await task


@pytest.fixture
async def local(tmp_path: Path) -> AsyncGenerator[Setup]:
    """On loopback, without a token."""
    async with _set_up(tmp_path, "127.0.0.1") as (running, _):
        yield running


@pytest.fixture
async def remote(tmp_path: Path) -> AsyncGenerator[Setup]:
    """Reached from elsewhere, with a token."""
    async with _set_up(tmp_path, "0.0.0.0") as (running, _):  # that is what is tested
        yield running


async def test_t_u1_a_token_counts_once_and_only_the_right_one(remote: Setup) -> None:
    async with remote.open_browser() as browser, remote.open_browser() as other:
        assert len(remote.token) > 40
        shown = await browser.get(
            f"/setup?once={remote.token}"
        )  # looking at the page, as a preview does, spends nothing
        assert remote.token in shown.text
        for wrong in ("", "x", remote.token[:-1], remote.token + "x"):
            refused = await other.post("/setup/begin", data={"token": wrong})
            assert (refused.status_code, "The token is wrong" in refused.text) == (403, True)
        await remote.begin(browser)
        refused = await other.post("/setup/begin", data={"token": remote.token})
        assert "under way in another browser" in refused.text
        for path in ("app", "exchange", "model", "finish"):
            answer = await other.post(f"/setup/{path}", data={**_CHOICES, "web_url": remote.github.url})
            assert answer.status_code == 403
        assert "Token that Forge printed" in (await other.get("/setup")).text
        early = [
            (await other.get(path)).headers["Location"] for path in ("/", "/dashboard", "/dashboard/octo-org/shop")
        ]
        assert early == ["/setup"] * 3


async def test_t_u1_a_token_and_a_browser_expire(remote: Setup) -> None:
    async with remote.open_browser() as browser:
        late = remote.token
        remote.clock.advance(minutes=31)
        refused = await browser.post("/setup/begin", data={"token": late})
        assert "printed a new address" in refused.text
        assert remote.token != late
        await remote.begin(browser)
        remote.clock.advance(minutes=29)
        await remote.choose(browser)
        remote.clock.advance(minutes=29)  # each use begins the time anew
        back = await remote.register(browser)
        remote.clock.advance(minutes=31)
        assert (await browser.get(back)).status_code == 403
        assert (await browser.post("/setup/finish")).status_code == 403
        assert not _is_registered(remote)
        refused = await browser.post("/setup/begin", data={"token": remote.token})
        await remote.begin(browser)
        assert len(remote.addresses) == 3


async def test_t_u2_a_forged_or_repeated_answer_of_github(local: Setup) -> None:
    async with local.open_browser() as browser, local.open_browser() as other:
        await local.begin(browser)
        early = await browser.get("/setup/registered?code=0123456789abcdef&state=")
        back = await local.register(browser)
        code = re.findall(r"code=(\w+)", back)[0]
        forged = [
            await browser.get(f"/setup/registered?code={code}&state={state}") for state in ("", "x", "a" * 43, code)
        ]
        foreign = await other.get(back)
        assert [each.status_code for each in (early, *forged, foreign)] == [403] * 6
        assert not any("conversions" in each.path for each in local.github.requests)
        good, again = await browser.get(back), await browser.get(back)
        assert (good.status_code, good.headers["Location"], again.status_code) == (303, "/setup", 403)
        assert _is_registered(local)
        assert sum("conversions" in each.path for each in local.github.requests) == 1
        assert "API key" in (await browser.get("/setup")).text


async def test_t_u3_a_code_that_github_does_not_know(local: Setup) -> None:
    async with local.open_browser() as browser:
        await local.begin(browser)
        for code in ("0123456789abcdef", "../../app", "a" * 300, ""):
            state = re.findall(r"state=([\w-]+)", await local.choose(browser))[0]
            answer = await browser.get("/setup/registered", params={"code": code, "state": state})
            assert (answer.status_code, "Begin again" in answer.text) == (502, True)
        assert not _is_registered(local)
        assert [each.path for each in local.github.requests] == ["/app-manifests/0123456789abcdef/conversions"]


async def test_t_u3_a_code_is_exchanged_once(local: Setup) -> None:
    """Replayed with its own state, or with that of another registration that was begun: a second App takes no place."""
    async with local.open_browser() as browser:
        await local.begin(browser)
        other = re.findall(r"state=([\w-]+)", await local.choose(browser))[0]
        back = await local.register(browser)
        assert (await browser.get(back)).status_code == 303
        kept = load(Installation).store.load()
        code = re.findall(r"code=(\w+)", back)[0]
        again = await browser.get(back)
        with_other = await browser.get("/setup/registered", params={"code": code, "state": other})
        assert (again.status_code, with_other.status_code) == (403, 403)
        assert load(Installation).store.load() == kept


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:80",
        "127.0.0.1.evil.example",
        "[::1",
        "192.0.2.7",
        "",
        "evil.example@127.0.0.1",
        "127.0.0.1/x",
    ],
)
async def test_t_u5_another_name_for_this_machine(host: str, local: Setup) -> None:
    async with local.open_browser() as browser:
        for method, path in (("GET", "/setup"), ("POST", "/setup/begin"), ("GET", "/setup/registered")):
            answer = await browser.request(method, path, headers={"Host": host, "Origin": f"http://{host}"})
            assert answer.status_code in {400, 421}
        await local.begin(browser)


async def test_t_u5_a_server_that_others_reach_is_known_by_numbers_and_its_public_name(tmp_path: Path) -> None:
    port = find_port()
    settings = {"FORGE_PUBLIC_URL": "https://forge.example.com", "FORGE_PORT": str(port)}
    async with (
        _set_up(tmp_path, "0.0.0.0", settings) as (running, _),  # that is what is tested
        httpx2.AsyncClient(base_url=f"http://127.0.0.1:{port}") as browser,
    ):
        assert running.addresses[0].startswith("https://forge.example.com/setup?once=")
        for host, status in (
            ("forge.example.com", 200),
            ("forge.example.com:443", 200),
            ("192.0.2.7:8080", 200),
            ("[2001:db8::1]", 200),
            ("localhost:8080", 200),
            ("forge.example.com:80", 421),
            ("evil.example", 421),
        ):
            assert (await browser.get("/setup", headers={"Host": host})).status_code == status, host
        behind_tls = {"Host": "forge.example.com", "Origin": "https://forge.example.com"}
        begun = await browser.post("/setup/begin", headers=behind_tls, data={"token": running.token})
        assert "Secure" in begun.headers["Set-Cookie"]


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": ""},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
)
async def test_t_u4_a_form_of_another_site(headers: dict[str, str], local: Setup) -> None:
    async with local.open_browser() as browser:
        assert (await browser.post("/setup/begin", headers=headers)).status_code == 403
        await local.begin(browser)
        for path in ("app", "model", "finish"):
            answer = await browser.post(f"/setup/{path}", headers=headers, data=_CHOICES)
            assert answer.status_code == 403


async def test_t_u1_a_second_browser_on_this_machine(local: Setup) -> None:
    async with local.open_browser() as browser, local.open_browser() as other:
        await local.begin(browser)
        assert "under way in another browser" in (await other.post("/setup/begin")).text
        local.clock.advance(minutes=31)
        await local.begin(other)
        assert (await browser.post("/setup/finish")).status_code == 403


async def test_t_u1_a_form_that_does_not_arrive_holds_up_nobody(remote: Setup) -> None:
    place = urlsplit(remote.origin)
    reader, writer = await asyncio.open_connection(place.hostname, place.port)
    head = f"POST /setup/begin HTTP/1.1\r\nHost: {place.netloc}\r\nOrigin: {remote.origin}\r\n"
    writer.write(f"{head}Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 9\r\n\r\n".encode())
    await writer.drain()
    async with remote.open_browser() as browser, asyncio.timeout(BODY_SECONDS):
        await remote.begin(browser)
    assert (await reader.readline()).startswith(b"HTTP/1.1 408 ")
    writer.close()


@pytest.mark.parametrize(
    ("content", "kind", "status"),
    [
        (b"token=\xff\xfe&%ff=%fe", "application/x-www-form-urlencoded", 303),
        (b"token=x", "application/x-www-form-urlencoded; charset=nonsense", 303),
        (b"token=x", "multipart/form-data", 415),
        (b"token=" + b"x" * 70_000, "application/x-www-form-urlencoded", 413),
        (b"&".join(b"%d=x" % number for number in range(200)), "application/x-www-form-urlencoded", 400),
    ],
    ids=["bytes", "charset", "no boundary", "giant", "fields"],
)
async def test_t_u4_what_is_no_form_is_refused_with_a_page(
    content: bytes, kind: str, status: int, local: Setup
) -> None:
    async with local.open_browser() as browser:
        answer = await browser.post("/setup/begin", content=content, headers={"Content-Type": kind})
        assert answer.status_code == status
        assert status == 303 or "This was refused" in answer.text
        shown = await browser.get("/setup", headers={b"Cookie": b"forge_setup=\xff\xfe"})
        assert "Begin" in shown.text


async def test_a_registration_that_is_loaded_again_deletes_no_app(local: Setup) -> None:
    async with local.open_browser() as browser:
        await local.begin(browser)
        back = await local.register(browser)
        assert (await browser.get(back)).status_code == 303
        again = await browser.get(back)
        assert again.status_code == 403
        assert "The App is registered already" in again.text
        assert "delete" not in again.text


async def test_what_github_gave_is_stored_when_there_is_room_again(local: Setup) -> None:
    async with local.open_browser() as browser:
        await local.begin(browser)
        back = await local.register(browser)
        for name, value in load(Installation).store.load().items():
            if name.startswith("FORGE_GITHUB_"):
                os.environ[name] = value
        folder = Path("forge-data").rename("away")
        Path("forge-data").touch()
        refused = await browser.get(back)
        assert (refused.status_code, "there is a file in its place" in refused.text) == (500, True)
        Path("forge-data").unlink()
        folder.rename("forge-data")
        assert "Try again" in (await browser.get("/setup")).text
        assert (await browser.post("/setup/exchange")).headers["Location"] == "/setup"
        assert _is_registered(local)
        assert sum("conversions" in each.path for each in local.github.requests) == 1


@pytest.mark.parametrize(
    "relay",
    ["", "ftp://smee.io/a", "https://smee.io", "https://smee.io/new", "https://smee.io/a b", "https://smee.io/é"],
)
def test_what_is_no_channel_of_a_relay_is_refused(relay: str) -> None:
    form = {"name": "Forge", "web_url": "https://github.com", "reach": "relay"}
    _, wrong = parse_choices({**form, "relay": relay}, "http://127.0.0.1:3000")
    assert "https://smee.io/new and copy" in wrong["relay"]
    _, wrong = parse_choices({**form, "relay": "https://smee.io/aB3-_x"}, "http://127.0.0.1:3000")
    assert not wrong


async def test_what_is_typed_is_checked_and_shown_harmlessly(local: Setup) -> None:
    hostile = '"><script>alert(1)</script>'
    async with local.open_browser() as browser:
        await local.begin(browser)
        form = {"name": hostile * 3, "organization": hostile, "web_url": "http://ghes.example.com", "reach": "server"}
        answer = await browser.post("/setup/app", data={**form, "public_url": "https://a/b?c"})
        assert answer.status_code == 422
        assert hostile not in answer.text
        for told in ("34 characters", "not a login", "unencrypted", "more than scheme, host and port"):
            assert told in answer.text
        policy = answer.headers["Content-Security-Policy"]
        assert "script-src" not in policy
        assert policy.startswith("default-src 'none'; style-src 'sha256-")
        shown = await browser.post(
            "/setup/app", data={**form, "web_url": "https://github.com", "public_url": local.origin}
        )
        assert "GitHub cannot reach this machine under that address" in shown.text


async def test_webhooks_meanwhile_are_left_to_github_s_record(local: Setup) -> None:
    async with local.open_browser() as browser:
        ping = await browser.post("/webhook", headers={"X-GitHub-Event": "ping"})
        push = await browser.post("/webhook", headers={"X-GitHub-Event": "push"})
        ready = await browser.get("/readyz")
        alive = await browser.get("/healthz")
    assert [each.status_code for each in (ping, push, ready, alive)] == [200, 503, 503, 200]


async def test_t_u4_no_page_stands_in_a_frame_or_leads_elsewhere(local: Setup) -> None:
    """And what an address holds, a token or a state, is not told to the next site."""
    async with local.open_browser() as browser:
        shown = [await browser.get("/setup"), await browser.post("/setup/begin", headers={"Origin": "null"})]
        await local.begin(browser)
        await local.choose(browser)
        shown += [await browser.get("/setup"), await browser.get("/setup/registered?code=x&state=y")]
    for page in shown:
        policy = page.headers["Content-Security-Policy"]
        assert "frame-ancestors 'none'; " in f"{policy}; "
        assert "base-uri 'none'" in policy
        assert set(re.findall(r"form-action ([^;]*)", policy)[0].split()) <= {"'self'", local.github.url}
        assert (page.headers["Referrer-Policy"], page.headers["Cache-Control"]) == ("strict-origin", "no-store")


async def test_t_u7_nothing_is_left_open_afterwards(tmp_path: Path) -> None:
    """Not even to the browser that did the set-up; while Forge starts, who connects waits for it and is not refused."""
    held = HeldPort()
    async with _set_up(tmp_path, "127.0.0.1", held=held) as (running, task):
        async with running.open_browser() as browser:
            await running.begin(browser)
            await browser.get(await running.register(browser))
            await browser.post("/setup/model", data={"action": "skip"})
            end = await browser.post("/setup/finish")
            assert end.headers["Refresh"] == "1; url=/?set-up=done"
            assert await task
        async with running.open_browser() as browser:
            waiting = asyncio.create_task(browser.get("/setup"))
            await asyncio.sleep(0.1)
            assert not waiting.done()
            async with listen(web.Application(), load(Installation), held=held) as port:
                assert running.origin.endswith(f":{port}")
                assert (await waiting).status_code == 404


async def test_t_u6_nothing_secret_is_told(tmp_path: Path) -> None:
    with capture_logs() as logs:
        async with _set_up(tmp_path, "127.0.0.1") as (running, task), running.open_browser() as browser:
            await running.begin(browser)
            back = await running.register(browser)
            pages = [await browser.get(back), await browser.get("/setup"), await browser.get(back)]
            pages.append(await browser.post("/setup/model", data={"action": "skip"}))
            pages.append(await browser.post("/setup/finish"))
            assert await task
            app, hooks = running.github.app, running.github.hooks
            told = "".join(each.text + str(each.headers) for each in pages) + str(logs)
            for secret in (app.client_secret, hooks.secret, app.private_key_pem.splitlines()[3]):
                assert secret not in told
            with pytest.raises(httpx2.ConnectError):
                await browser.get("/setup")


def _is_registered(running: Setup) -> bool:
    return bool(load(Installation).store.load().get("FORGE_APP_ID"))
