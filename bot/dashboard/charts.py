"""Draws the pictures of the dashboard as SVG, each for light and dark, without scripts and without links elsewhere."""

import base64
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from typing import Any

_KEPT = 1024  # pictures; each is some ten kilobytes
_LIGHT, _DARK = ("#59636e", "#0969da"), ("#9198a1", "#4493f8")  # of text and axes, of what is shown
_RULES = "{rules}"
_UNUSED = frozenset({"script", "desc", "title"})
_SHORT = {"%": " %", "days": " d", "hours": " h", "minutes": " min", "seconds": " s", "USD": " USD"}
_COMMON: dict[str, Any] = {
    "js": [],
    "show_legend": False,
    "margin": 6,
    "pretty_print": False,
    "disable_xml_declaration": True,
    "explicit_size": True,
    "no_data_text": "",
    "y_labels_major_count": 3,
    "show_minor_y_labels": False,
    "show_minor_x_labels": False,
    "truncate_label": -1,
    "dots_size": 2,
    "allow_interruptions": True,
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
    drawn = _render(asked)
    light, dark = (_build_address(drawn.replace(_RULES, _write_style(*ink))) for ink in (_LIGHT, _DARK))
    return Picture(light, dark, asked.width, asked.height)


@cache
def _load_pygal() -> Any:
    """pygal takes megabytes, so it is loaded once somebody looks at a picture.

    That adds a finder for its maps to all imports of the process, in a protocol that Python gave up.
    """
    import pygal  # pyright: ignore[reportMissingTypeStubs]

    sys.meta_path[:] = [each for each in sys.meta_path if not isinstance(each, pygal.PluginImportFixer)]
    return pygal


def _render(asked: _Chart) -> str:
    """The picture as SVG, with ``_RULES`` where its colours belong."""
    every = max(1, len(asked.labels) // 6)
    pygal = _load_pygal()
    style = pygal.style.Style(font_family="system-ui, sans-serif", label_font_size=10, major_label_font_size=10)
    chart: Any = getattr(pygal, asked.kind)(
        **_COMMON,
        style=style,
        width=asked.width,
        height=asked.height,
        range=(0, asked.top or max((each for each in asked.values if each is not None), default=0) or 1),
        x_labels_major_every=every,
        value_formatter=partial(_show_value, unit=_SHORT.get(asked.name, "")),
    )
    chart.x_labels = asked.labels
    chart.add_xml_filter(_strip)
    chart.add(asked.name, asked.values)
    return chart.render(is_unicode=True)


def _show_value(value: float, unit: str) -> str:
    return f"{value:,.4g}{unit}"


def _strip(root: Any) -> Any:
    """The picture without what only a mouse would use, scripts above all, and with our style in place of pygal's."""
    for parent in [*root.iter()]:
        for child in [*parent]:
            if not isinstance(child.tag, str) or child.tag in _UNUSED:
                parent.remove(child)
            elif child.tag == "style":
                child.text = _RULES
    return root


def _write_style(quiet: str, line: str) -> str:
    """The style: text and axes are quiet, and bars are lighter than the line."""
    return (
        f"svg{{font:10px system-ui,sans-serif}}text{{fill:{quiet}}}.background,.line{{fill:none}}"
        f".x text{{text-anchor:middle}}.y text{{text-anchor:end}}.axis .line{{stroke:{quiet}}}"
        f".axis .guide{{stroke:{quiet}55;stroke-dasharray:4,4}}.x .guide{{opacity:0}}"
        f".series .line{{stroke:{line};stroke-width:2}}circle,.series rect{{fill:{line}}}.series rect{{opacity:.7}}"
    )


def _build_address(drawn: str) -> str:
    return f"data:image/svg+xml;base64,{base64.b64encode(drawn.encode()).decode()}"
