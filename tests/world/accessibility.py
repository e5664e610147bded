"""Looks at a page as those do who depend on assistive technology, and at its width."""

from axe_playwright_python.async_playwright import Axe  # pyright: ignore[reportMissingTypeStubs]
from playwright.async_api import Page

_TOO_WIDE = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


async def assert_usable(page: Page) -> None:
    """Axe finds nothing wrong, and nothing hangs over the side of the window."""
    found = await Axe().run(page)  # pyright: ignore[reportUnknownMemberType]
    assert not found.violations_count, found.generate_report()
    assert await page.evaluate(_TOO_WIDE) == 0, page.url
