"""Scripts the model's answers about the sample project, for use without the key of a real model."""

import re

from pydantic import JsonValue

from agents.llm.scripted import ScriptedModel
from bot.demo import open_change, parcel_issue, playground

_LINE = re.compile(r"(\d+)\W+rows \+= load\(fetch\(carrier\)\)")
_EARLIER = re.compile(r"F-[A-Z2-7]{6}")
_SEEN_BEFORE = (
    "`fetch` returns None for a carrier it has seen, `load(None)` raises, and the bare except hides it: that "
    "carrier's tariffs are silently missing from the new table. Skip the carrier where `fetch` returns None."
)


def build_model() -> ScriptedModel:
    """A model that finds one flaw that no tool finds, sees when it is fixed, and implements one issue."""
    model = ScriptedModel()
    model.when("rows += load(fetch(carrier))", _report_flaw)
    model.when("shutil.copyfileobj", _report_resolved)
    model.when("== candidates", {"verdicts": [{"number": 1, "confirmed": True, "confidence": 0.9}]})
    model.when("== your test", {"declined": "It would need the server of a carrier."})
    parcel_issue.script_answers(model)
    open_change.script_answers(model)
    playground.script_answers(model)
    return model


def _report_flaw(content: str) -> dict[str, JsonValue]:
    shown = _LINE.search(content)
    line = int(shown[1]) if shown else 1
    claim: dict[str, JsonValue] = {
        "rule": "model/logic-error",
        "path": "rates/importer.py",
        "line": line,
        "end_line": line,
        "quote": "rows += load(fetch(carrier))",
        "harm": "wrong_result",
        "met_by": "caller",
        "confidence": 0.9,
        "message": _SEEN_BEFORE,
    }
    return {"findings": [claim]}


def _report_resolved(content: str) -> dict[str, JsonValue]:
    names = dict.fromkeys(_EARLIER.findall(content))
    return {"findings": [], "earlier": [{"id": name, "gone": True} for name in names]}
