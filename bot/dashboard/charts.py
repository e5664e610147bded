"""Draws the pictures of the dashboard as SVG, each for light and dark, without scripts and without links elsewhere."""

import base64
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

import pygal  # pyright: ignore[reportMissingTypeStubs]
from pygal.style import Style  # pyright: ignore[reportMissingTypeStubs]

# Importing pygal adds a finder for its maps to all imports of the process, in a protocol that Python gave up.
sys.meta_path[:] = [each for each in sys.meta_path if not isinstance(each, pygal.PluginImportFixer)]

_KEPT = 1024  # pictures; each is some ten kilobytes
_CLEAR = "transparent"
_FONT = "system-ui, sans-serif"
_INK = {"light": ("#59636e", "#0969da"), "dark": ("#9198a1", "#4493f8")}
_SHORT = {"%": " %", "days": " d", "hours": " h", "minutes": " min", "seconds": " s", "USD": " USD"}
_COMMON: dict[str, Any] = {
    "js": [],
    "show_legend": False,
    "margin": 6,
    "pretty_print": False,
    "disable_xml_declaration": True,
    "explicit_size": True,
    "no_data_text": "",
}


@dataclass(frozen=True)
class Picture:
    """A picture as two ``data:`` addresses."""

    light: str
    dark: str
    width: int
    height: int


@dataclass(frozen=True)
class _Chart:
    """What is drawn.

    :param kind: a class of pygal.
    :param top: the end of the scale; None: the highest value.
    """

    kind: str
    name: str
    labels: tuple[str, ...]
    values: tuple[float | None, ...]
    width: int
    height: int
    top: float | None = None


def draw_bars(name: str, labels: Sequence[str], values: Sequence[float]) -> Picture:
    """Bars, one for each label.

    :param name: the unit, which the numbers beside it carry.
    """
    return _draw(_Chart("Bar", name, tuple(labels), tuple(values), 720, 180))


def draw_trend(name: str, labels: Sequence[str], values: Sequence[float | None], top: float | None = None) -> Picture:
    """A line from the oldest value to the newest, with gaps where nothing is known.

    :param name: the unit; the numbers beside it carry it if it is short.
    :param top: the end of the scale; None: the highest value.
    """
    return _draw(_Chart("Line", name, tuple(labels), tuple(values), 300, 110, top))


@lru_cache(_KEPT)
def _draw(asked: _Chart) -> Picture:
    light, dark = (_render(asked, scheme) for scheme in ("light", "dark"))
    return Picture(light, dark, asked.width, asked.height)


def _render(asked: _Chart, scheme: str) -> str:
    quiet, line = _INK[scheme]
    style = Style(
        background=_CLEAR,
        plot_background=_CLEAR,
        foreground=quiet,
        foreground_strong=quiet,
        foreground_subtle=quiet,
        colors=(line,),
        font_family=_FONT,
        label_font_size=10,
        major_label_font_size=10,
        guide_stroke_color=f"{quiet}55",
        major_guide_stroke_color=f"{quiet}55",
    )
    every = max(1, len(asked.labels) // 6)
    chart: Any = getattr(pygal, asked.kind)(
        **_COMMON,
        style=style,
        width=asked.width,
        height=asked.height,
        range=(0, asked.top or max((each for each in asked.values if each is not None), default=0) or 1),
        y_labels_major_count=3,
        show_minor_y_labels=False,
        x_labels_major_every=every,
        show_minor_x_labels=False,
        truncate_label=-1,
        dots_size=2,
        value_formatter=partial(_show_value, unit=_SHORT.get(asked.name, "")),
        stroke_style={"width": 2},
    )
    chart.x_labels = asked.labels
    chart.add_xml_filter(_drop_scripts)
    chart.add(asked.name, asked.values)
    return f"data:image/svg+xml;base64,{base64.b64encode(chart.render(is_unicode=True).encode()).decode()}"


def _show_value(value: float, unit: str) -> str:
    return f"{value:,.4g}{unit}"


def _drop_scripts(root: Any) -> Any:
    """The picture without the script that pygal puts into each, which no page of ours would run."""
    for parent in [*root.iter()]:
        for child in [*parent]:
            if str(child.tag).endswith("script"):
                parent.remove(child)
    return root
