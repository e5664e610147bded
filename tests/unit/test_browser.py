"""The browser that tests of pages share."""

import pytest
from aiohttp import web

from tests.world.browser import PHONE, open_page

_PAGE = """<!doctype html><html lang="en"><title>A page</title><body><p id="said">nothing</p>
<script>document.getElementById("said").textContent = "script"</script></body></html>"""


async def test_each_page_is_one_of_its_own() -> None:
    async with open_page() as page, open_page(size=PHONE, scheme="dark", scripts=False) as phone:
        await page.set_content(_PAGE)
        await phone.set_content(_PAGE)
        assert await page.text_content("#said") == "script"
        assert await phone.text_content("#said") == "nothing"
        assert phone.viewport_size == {"width": 390, "height": 844}


async def test_a_broken_policy_fails_the_test() -> None:
    async def answer(_request: web.Request) -> web.Response:
        policy = {"Content-Security-Policy": "default-src 'none'"}
        return web.Response(text=_PAGE, content_type="text/html", headers=policy)

    app = web.Application()
    app.router.add_get("/", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        with pytest.raises(AssertionError, match="Content Security Policy"):
            async with open_page() as page:
                await page.goto(f"http://127.0.0.1:{runner.addresses[0][1]}/")
    finally:
        await runner.cleanup()
