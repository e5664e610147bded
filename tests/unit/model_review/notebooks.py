"""A notebook before and after a change of one of its cells."""

import json
from collections.abc import Sequence

from pydantic import JsonValue

PATH = "analysis.ipynb"


def cell(source: Sequence[str], kind: str = "code", outputs: Sequence[str] = ()) -> dict[str, JsonValue]:
    lines: list[JsonValue] = [*(f"{line}\n" for line in source[:-1]), *source[-1:]]
    more: dict[str, JsonValue] = {"execution_count": 1, "outputs": [{"text": [*outputs]}]} if kind == "code" else {}
    return {"cell_type": kind, "metadata": {}, **more, "source": lines}


def write(*cells: dict[str, JsonValue], indent: int | None = 1) -> str:
    return json.dumps({"cells": [*cells], "metadata": {}, "nbformat": 4}, indent=indent, ensure_ascii=False) + "\n"


REST = cell([f"value_{n} = {n}" for n in range(9)])
BEFORE = write(cell(["# Prices"], "markdown"), cell(["prices = []"], outputs=["old\n"]), REST)
AFTER = write(
    cell(["# Prices"], "markdown"),
    cell(["prices = []", 'print("mean", sum(prices) / len(prices))'], outputs=["new\n", "A" * 2_000]),
    REST,
)
LINE = next(number for number, line in enumerate(AFTER.split("\n"), 1) if "sum(prices)" in line)
