"""Opens pages in a headless Chromium. One browser serves all tests of a process; each page has cookies of its own."""

import shutil
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Literal

import pytest
from playwright.async_api import Browser, ConsoleMessage, Page, async_playwright

_NAMES = ("chromium", "chromium-browser", "google-chrome")
_ARGUMENTS = ("--no-sandbox", "--disable-dev-shm-usage")  # as root and in a small container it does not start otherwise
PHONE = (390, 844)
"""Width and height of a phone's window, in CSS pixels."""


class BrowserLender:
    """Keeps the one browser of this process, because starting it takes a second or two."""

    def __init__(self) -> None:
        self._stack = AsyncExitStack()
        self._browser: Browser | None = None

    async def lend(self) -> Browser:
        """The browser; the test is skipped where there is none."""
        if self._browser is None:
            program = next((found for name in _NAMES if (found := shutil.which(name))), None)
            if program is None:
                pytest.skip(f"there is no Chromium (looked for {', '.join(_NAMES)}): apt-get install chromium")
            playwright = await self._stack.enter_async_context(async_playwright())
            self._browser = await playwright.chromium.launch(executable_path=program, args=_ARGUMENTS)
        return self._browser

    async def close(self) -> None:
        """End the browser, if it was started."""
        if self._browser is not None:
            await self._browser.close()
            self._browser = None
        await self._stack.aclose()


BROWSER = BrowserLender()


@asynccontextmanager
async def open_page(
    *,
    size: tuple[int, int] = (1280, 900),
    scheme: Literal["light", "dark"] = "light",
    scripts: bool = True,
) -> AsyncGenerator[Page]:
    """A new page without cookies; fails at its end if a page broke its own content security policy.

    :param size: width and height of the window, in CSS pixels; see :data:`PHONE`.
    :param scheme: what the person prefers.
    :param scripts: False: the browser runs no JavaScript.
    """
    browser = await BROWSER.lend()
    width, height = size
    context = await browser.new_context(
        viewport={"width": width, "height": height}, color_scheme=scheme, java_script_enabled=scripts
    )
    context.set_default_timeout(30_000)  # milliseconds; a loaded machine is slow
    broken: list[str] = []

    def note(message: ConsoleMessage) -> None:
        if "Content Security Policy" in message.text:
            broken.append(message.text)

    page = await context.new_page()
    page.on("console", note)
    try:
        yield page
    except Exception as error:
        error.add_note(f"The browser was at {page.url}, which shows:\n{await page.inner_text('body')}")
        raise
    finally:
        await context.close()
    assert not broken, broken
