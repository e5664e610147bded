"""The demo's issue, and the scripted model's plan and patches for it."""

from difflib import unified_diff

from pydantic import JsonValue

from agents.llm.scripted import ScriptedModel, Uses
from bot.demo import project

TITLE = "Parcels without a size are quoted"
BODY = """\
`quote` gives a price for a parcel of 0 g, and for one with a side of 0 cm. Somebody sold a stamp for nothing that way.
Such a parcel should not be possible at all.
"""
CONDITION = "say in the error which number is wrong"

_CHECK = '''\
    sides: tuple[int, int, int]

    def __post_init__(self) -> None:
        """:raises ValueError: if it weighs nothing, or a side has no length."""
        for name, value in (("weight", self.weight), ("shortest side", min(self.sides))):
            if value < 0:
                raise ValueError(f"the {name} of a parcel is more than 0, not {value}")
'''
_TEST = """
    def test_a_parcel_has_a_size(self):
        for weight, sides in ((0, (30, 20, 5)), (800, (30, 20, 0))):
            with self.subTest(weight=weight), self.assertRaisesRegex(ValueError, "more than 0, not 0"):
                Parcel(weight, sides)
"""
_JUDGED: JsonValue = {
    "test": 1,
    "failure_class": "real_bug",
    "root_cause": "Parcel refuses numbers below 0, but not 0.",
    "suggested_fix": "Refuse 0 as well: value <= 0.",
    "path": "rates/quote.py",
    "confidence": 0.95,
}
_CODE, _TESTS = "rates/quote.py", "tests/test_quote.py"
_SUMMARY = "A parcel with a weight or a side of 0 is refused; the error says which number is wrong."


def script_answers(model: ScriptedModel) -> None:
    """Script how the model plans the issue and implements the plan."""
    looks = Uses([("grep", {"pattern": r"Parcel\("}), ("read_file", {"path": _CODE})], "I look where parcels are made.")
    model.when(f"Title: {TITLE}", looks, _plan())
    made = _diff((_CODE, project.QUOTE, _code()), (_TESTS, project.TESTS, project.TESTS + _TEST))
    patched = Uses([("apply_patch", {"diff": made})])
    model.when("== what failed", {"failures": [_JUDGED]})
    mended = Uses([("apply_patch", {"diff": _diff((_CODE, _code(), _code().replace("value < 0", "value <= 0")))})])
    model.when("== your task: mend", mended, {"summary": "0 is refused, too.", "is_done": True})
    model.when("== your task: T1", patched, {"summary": _SUMMARY, "is_done": True, "tests_added": [_TESTS]})


def _plan() -> dict[str, JsonValue]:
    task: dict[str, JsonValue] = {
        "id": "T1",
        "title": "Refuse parcels without a size",
        "description": "A parcel checks its weight and its sides when it is made.",
        "files": [_CODE, _TESTS],
        "acceptance": "Making one with a weight or a side of 0 raises a ValueError, and a test shows both.",
    }
    decision: JsonValue = {
        "decision": "The check is in Parcel, not in quote.",
        "reason": "Then no other caller can forget it.",
    }
    risk: JsonValue = {"level": "high", "reasons": ["A caller that sends a 0 gets an error instead of a price."]}
    plan: dict[str, JsonValue] = {
        "title": "Refuse parcels without a size",
        "summary": "Parcels check their numbers, so that one without a size is never quoted.",
        "decisions": [decision],
        "tasks": [task],
        "risk": risk,
        "estimate": {"lines": 15, "minutes": 5},
        "allowed_areas": ["rates/**", "tests/**"],
    }
    return {"plan": plan, "questions": []}


def _code() -> str:
    """The implementer's first attempt: it accepts a parcel of 0 g, as a test shows."""
    return project.QUOTE.replace("    sides: tuple[int, int, int]\n", _CHECK)


def _diff(*changed: tuple[str, str, str]) -> str:
    """The implementer's change as a git diff.

    :param changed: path, content before, content after.
    """
    return "".join(
        line
        for path, before, after in changed
        for line in unified_diff(before.splitlines(True), after.splitlines(True), f"a/{path}", f"b/{path}")
    )
