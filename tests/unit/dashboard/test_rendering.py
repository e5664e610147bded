"""What templates do to the words of others, and the documents that name the pages."""

import base64
import re
from datetime import UTC, datetime
from pathlib import Path

import pytest

from bot.dashboard.figures import draw_trend
from bot.dashboard.runs import parse_number
from bot.dashboard.site import PAGES
from bot.dashboard.visit import Page, clean, load_style, render, show_figure, style_address
from bot.pages import mark_code
from messages.audit import describe_age

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
TEMPLATES = Path(__file__).parents[3] / "bot" / "dashboard" / "templates"
DOCUMENT = Path(__file__).parents[3] / "docs" / "dashboard.md"


def test_words_of_others_are_text() -> None:
    words = "<b>\u202eevil\u200b</b> {{ 7 * 7 }}"
    page = render(Page("message.html", words, {"why": words}), login="", csrf="", setup="")
    assert page.text is not None
    assert page.text.count("&lt;b&gt;evil&lt;/b&gt; {{ 7 * 7 }}") == 3


def test_credentials_in_words_of_others_are_masked_on_every_page() -> None:
    shown = {
        (file.name, each)
        for file in sorted(TEMPLATES.glob("*.html"))
        for each in re.findall(
            r"\{\{ ([^}]*\.(?:message|why|words|prompt|content|context)\b[^}]*) \}\}", file.read_text()
        )
        if "|masked" not in each and "parts.words(" not in each
    }
    assert shown == set()


def test_what_stands_between_backticks_is_code() -> None:
    assert mark_code("Set `a: <b>`, not `c`. A ` alone & \u202e`") == (
        "Set <code>a: &lt;b&gt;</code>, not <code>c</code>. A <code> alone &amp; </code>"
    )
    assert mark_code("<i> ` </i>") == "&lt;i&gt; ` &lt;/i&gt;"


@pytest.mark.parametrize(("unit", "shown"), [("hours", "2 h"), ("%", "2 %"), ("USD", "2 USD"), ("per run", "2<")])
def test_the_axis_of_a_picture_has_its_unit(unit: str, shown: str) -> None:
    assert shown in read_picture(draw_trend(unit, ["01-01", "01-08"], [1.0, 2.0]).light)


def test_a_picture_has_a_gap_where_nothing_is_known_and_nothing_that_acts() -> None:
    weeks = ["01-01", "01-08", "01-15", "01-22", "01-29"]
    drawn = draw_trend("%", weeks, [1.0, 2.0, None, 2.0, 1.0])
    light, dark = read_picture(drawn.light), read_picture(drawn.dark)
    assert len(re.findall(r'<path d="[^"]+" class="line', light)) == 2
    assert not re.findall(r"<(?:script|desc|!)|href|url\(", light)
    assert light != dark
    assert strip_colors(light) == strip_colors(dark)


def read_picture(address: str) -> str:
    """The SVG within a ``data:`` address."""
    return base64.b64decode(address.partition(",")[2]).decode()


def strip_colors(picture: str) -> str:
    return re.sub(r"#[0-9a-f]{6}", "#", picture)


@pytest.mark.parametrize(
    ("number", "shown"),
    [(0, "0"), (7.0, "7"), (100, "100"), (0.25, "0.25"), (12_345_678, "12,345,678"), (1_234_567.5, "1,234,567.5")],
)
def test_figures_keep_their_digits(number: float, shown: str) -> None:
    assert show_figure(number) == shown


def test_only_text_is_cleaned() -> None:
    assert clean("a\u200bb") == "ab"
    assert clean(7) == 7


def test_another_style_has_another_address() -> None:
    assert re.fullmatch(r"/dashboard/style-[0-9a-f]{16}\.css", style_address())
    assert "@import" not in load_style()
    assert "url(" not in load_style()


def test_each_page_is_in_the_documents_with_its_role() -> None:
    rows = re.findall(r"^\| [^|]+ \| (?:`/([^`]*)`)? *\| `(\w+)` \|", DOCUMENT.read_text(), re.MULTILINE)
    documented = {(re.sub(r"[A-Z][A-Z-]+", "*", path), role) for path, role in rows}
    pages = {(re.sub(r"\{\w+\}", "*", page.path), page.least) for page in PAGES}
    assert pages - documented == set()


@pytest.mark.parametrize(
    ("seconds", "told"),
    [(0, "just now"), (59, "just now"), (90, "1 min ago"), (7200, "2 h ago"), (90_000, "1 d ago"), (-7200, "in 2 h")],
)
def test_ages(seconds: float, told: str) -> None:
    assert describe_age(datetime.fromtimestamp(NOON.timestamp() - seconds, UTC), NOON) == told


@pytest.mark.parametrize(("text", "number"), [("7", 7), ("007", 7), ("999999999999", 999_999_999_999)])
def test_numbers(text: str, number: int) -> None:
    assert parse_number(text) == number


@pytest.mark.parametrize("text", ["", "0", "-1", "+1", "1_0", "1.5", "٣", "9" * 13, "0" * 19 + "1" * 5_000])
def test_what_is_none(text: str) -> None:
    """The last one is more digits than Python reads, and than a column holds."""
    assert parse_number(text) is None
