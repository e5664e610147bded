"""Looks at a page as those do who depend on assistive technology, at its width, and at its colours."""

from collections.abc import Sequence

from axe_playwright_python.async_playwright import Axe
from playwright.async_api import Page

_TOO_WIDE = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


_SCROLLING = """() => [...document.querySelectorAll("main *, nav, header")]
    .filter(each => each.scrollWidth > each.clientWidth + 1 && /auto|scroll/.test(getComputedStyle(each).overflowX))
    .map(each => each.getAttribute("aria-label") || each.getAttribute("aria-labelledby") || each.className)"""


async def assert_usable(page: Page) -> None:
    """Axe finds nothing wrong, and nothing hangs over the side of the window."""
    found = await Axe().run(page)
    assert not found.violations_count, found.generate_report()
    assert await page.evaluate(_TOO_WIDE) == 0, page.url


async def assert_legible(page: Page) -> None:
    """Axe finds every text in a colour that can be told from what is behind it."""
    only = {"runOnly": {"type": "rule", "values": ["color-contrast"]}}
    found = await Axe().run(page, options=only)
    assert not found.violations_count, found.generate_report()


async def list_scrolling(page: Page) -> Sequence[str]:
    """The names of what has to be scrolled sideways."""
    return await page.evaluate(_SCROLLING)
