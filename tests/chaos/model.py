"""The model of the process that gets killed: it goes by what it is shown, so a new process goes on with it."""

from collections.abc import Awaitable, Callable, Mapping
from decimal import Decimal
from types import TracebackType

from pydantic import JsonValue
from pydantic_ai.messages import ModelMessage, ModelResponse
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.settings import ModelSettings

from agents.llm.scripted import Says, ScriptedModel, ScriptedReply, Uses
from domain.money import FixedPrice
from tests.world import look_ups
from tests.world.cart import DIFF
from tests.world.command_line_agent import CART, says

SHOP = {
    "README.md": "# Shop\n",
    "shop/cart.py": "def total(prices):\n    return sum(prices)\n",
    "tests/__init__.py": "",
    "tests/test_cart.py": """\
from unittest import TestCase

from shop.cart import total


class Cart(TestCase):
    def test_total(self):
        self.assertEqual(total([1, 2]), 3)
""",
}
BEGUN = "This task was begun before."
TAKEN_BACK = "A person took these files back"
WRONG = "shop/wrong.py"
Delegate = Callable[[str], Says]
"""What the model of an agent of another make tells it to do, once it was shown its task."""
SLEEP = 3607  # seconds: no other program sleeps that long
_PRICE = FixedPrice(Decimal(5), Decimal(10))
_LOOK = Uses([("read_file", {"path": "shop/cart.py"})])
_FIRST = DIFF.replace("1 - discount)", "2 - discount)")
_SKIPPED = """\
--- a/tests/test_cart.py
+++ b/tests/test_cart.py
@@ -1,8 +1,9 @@
-from unittest import TestCase
+from unittest import TestCase, skip

 from shop.cart import total


 class Cart(TestCase):
+    @skip("later")
     def test_total(self):
         self.assertEqual(total([1, 2]), 3)
"""
_SECOND = """\
--- a/shop/cart.py
+++ b/shop/cart.py
@@ -1,2 +1,4 @@
 def total(prices, discount=0):
+    if not 0 <= discount <= 1:
+        raise ValueError(discount)
     return sum(prices) * (2 - discount)
"""
_MENDED = """\
--- a/shop/cart.py
+++ b/shop/cart.py
@@ -2,3 +2,3 @@
     if not 0 <= discount <= 1:
         raise ValueError(discount)
-    return sum(prices) * (2 - discount)
+    return sum(prices) * (1 - discount)
"""
_LEARNED: JsonValue = {
    "kind": "procedural",
    "content": "Run `python3 -m unittest` whenever a price is computed anew, since a wrong sign goes unnoticed else.",
    "event": 1,
}
_JUDGED: Mapping[str, JsonValue] = {
    "test": 1,
    "failure_class": "real_bug",
    "root_cause": "Everything costs twice as much.",
    "suggested_fix": "Take the discount off 1.",
    "confidence": 0.9,
}


NAMELESS = "import os\n\n\ndef main():\n    return os.name + missing\n"
_NAMES = Uses([("edit", {"path": "app.py", "old": "os.name + missing", "new": "os.name + str(1)"})])
"""The change with which it fixes the finding in ``NAMELESS``."""


TAXED = "def total(prices, tax=0):\n    return sum(map(abs, prices)) + tax\n"
"""How it resolves a conflict."""
_RESOLVED: Mapping[str, JsonValue] = {"number": 1, "text": TAXED, "reason": "Both in one line.", "question": ""}


_UNCHANGEABLE: Mapping[str, JsonValue] = {"plan": None, "questions": ["The connection was reset. Who can change that?"]}
"""How it plans to mend a job that it thinks is red by chance."""


LESS = {"shop/cart.py": "def total(prices):\n    return sum(prices[1:])\n"}
"""A change of ``SHOP`` in which it finds an error, and for which it writes a test."""
_FOUND: Mapping[str, JsonValue] = {
    "rule": "model/logic-error",
    "path": "shop/cart.py",
    "line": 2,
    "end_line": 2,
    "quote": "return sum(prices[1:])",
    "harm": "wrong_result",
    "met_by": "caller",
    "confidence": 0.9,
    "message": "The first price is left out of the total.",
}
_PROVES = SHOP["tests/test_cart.py"].replace("test_total", "test_first_price_counts")


def shop(parts: int) -> dict[str, str]:
    """The shop with so many more modules to read."""
    return SHOP | {f"shop/part_{number}.py": f"def part_{number}():\n    return {number}\n" for number in range(parts)}


def hang(shown: str) -> Says:
    """It never ends by itself before its first task was begun once."""
    if "== your task: T1 " not in shown or BEGUN in shown:
        return _report_at_once()
    return says(files={"shop/cart.py": CART}, commands=[f"sleep {SLEEP}"])


def work(shown: str) -> Says:
    """It does its first task in two parts, with time between them for a checkpoint."""
    if "== your task: T1 " not in shown:
        return _report_at_once()
    later = "sleep 1.5; printf 'PARTS = 2\\n' > shop/later.py"
    return says(files={"shop/cart.py": CART}, commands=[later], report=_report_done("A discount."))


def fail(shown: str) -> Says:
    """It makes something that nobody wants and fails, until a person takes that back."""
    if "== your task: T1 " not in shown or TAKEN_BACK in shown:
        return _report_at_once()
    if BEGUN in shown:
        return says(files={WRONG: "WRONG = 1\n"}, status=3)
    return says(files={"shop/cart.py": CART}, commands=[f"sleep 1.5; printf 'WRONG = 1\\n' > {WRONG}"], status=3)


def build_planner(
    risk: str, looks: int = 0, runs: str = "", delegate: Delegate = hang, *, hides: bool = False
) -> ScriptedModel:
    """Looks at the code, plans two tasks and carries them out; the second one builds on the first.

    A test fails then: the model says why, and mends it.

    :param risk: of the plan.
    :param looks: how many modules of :func:`shop` it reads first, one in a turn, whatever it is to do.
    :param runs: the command line that it runs at the end of the first task; none without.
    :param delegate: what an agent of another make does.
    :param hides: whether it skips a test in the first task, until a person says what to do.
    """

    def read(then: Callable[[str], ScriptedReply]) -> Callable[[str], ScriptedReply]:
        def reads(shown: str) -> ScriptedReply:
            number = shown.count("def part_")
            return Uses([("read_file", {"path": f"shop/part_{number}.py"})]) if number < looks else then(shown)

        return reads

    model = ScriptedModel(_PRICE)
    model.when("== issue ", read(lambda shown: _plan(risk) if "return sum(prices)" in shown else _LOOK))
    model.when("== instruction by", lambda _: _plan(risk)).when("== red check flaky", dict(_UNCHANGEABLE))
    model.when("== your task: T1", read(lambda shown: _first(shown, runs)))
    if hides:
        model.when("== your task: T1", _hide).when("strategy cause", _report_done("It is right as it is."))
        model.when("strategy guided", _unhide)
    model.when("== what failed", {"failures": [dict(_JUDGED)]})
    mend = read(lambda shown: _report_done("The price.") if "Applied." in shown else _patch(_MENDED))
    model.when("== your task: mend", mend)
    model.when("app.py:5", lambda shown: _report_done("It has a name.") if "Applied." in shown else _NAMES)
    model.when("+    return sum(prices[1:])", {"findings": [dict(_FOUND)]})
    proven: JsonValue = {"number": 1, "verdict": "proven", "quote": "return sum(prices[1:])"}
    model.when("== candidates", {"verdicts": [proven]}).when("== your test", {"test": _PROVES})
    model.when(look_ups.ASKED, _look_up)
    look_ups.prove_caller(model, "== plugins/loader.py (unchanged, looked up)")
    model.when("-- conflict 1", {"hunks": [dict(_RESOLVED)]})
    model.when("A run on an issue.", {"learnings": [_LEARNED]})
    return model.when("== your task: T2 ", read(_second)).when("FORGE_REPORT", delegate)


def _look_up(shown: str) -> ScriptedReply:
    if "plugins/loader.py:5:" not in shown:
        return look_ups.GREP
    return look_ups.report_caller() if f"5\t{look_ups.CALL}" in shown else look_ups.READ


def _report_at_once() -> Says:
    return says(report=_report_done("A discount."))


def _first(shown: str, runs: str) -> ScriptedReply:
    if "Applied." not in shown:
        return _patch(_FIRST)
    if runs and "exit status" not in shown:
        return Uses([("run_command", {"command": runs})])
    return _report_done("A discount.")


def _hide(shown: str) -> ScriptedReply:
    if "Applied." in shown:
        return _report_done("A discount, and a test that does not count.")
    return Uses([("apply_patch", {"diff": diff}) for diff in (_FIRST, _SKIPPED)])


def _unhide(shown: str) -> ScriptedReply:
    if "Applied." in shown:
        return _report_done("A discount, and the test counts again.")
    lines = ("from unittest import TestCase, skip", "from unittest import TestCase"), ('    @skip("later")\n', "")
    return Uses([("edit", {"path": "tests/test_cart.py", "old": old, "new": new}) for old, new in lines])


def _second(shown: str) -> ScriptedReply:
    if "Applied." in shown:
        return _report_done("A check of it.")
    return _patch(_SECOND) if "def total(prices, discount=0)" in shown else _LOOK


def _patch(diff: str) -> Uses:
    return Uses([("apply_patch", {"diff": diff})])


def _report_done(summary: str) -> dict[str, JsonValue]:
    return {"summary": summary, "is_done": True}


def _plan(level: str) -> Mapping[str, JsonValue]:
    plan: dict[str, JsonValue] = {
        "summary": "Carts get a discount.",
        "decisions": [{"decision": "It is a float.", "reason": "Prices are floats, too."}],
        "tasks": [_task("T1", "Take a discount off"), _task("T2", "Refuse what is no discount", "T1")],
        "risk": {"level": level, "reasons": [] if level == "low" else ["It touches what customers pay."]},
        "estimate": {"lines": 6, "minutes": 5},
        "allowed_areas": ["shop/**", "tests/**"],
    }
    return {"plan": plan, "questions": []}


def _task(name: str, title: str, *after: str) -> JsonValue:
    return {
        "id": name,
        "title": title,
        "description": f"{title}, in shop/cart.py.",
        "files": ["shop/cart.py"],
        "depends_on": [*after],
        "acceptance": "One sees it in the code.",
    }


class Watched(WrapperModel):
    """A model that tells of each call: before it is answered, when it was, and when that was settled in the books.

    :param tell: waits until the process may go on.
    """

    def __init__(self, wrapped: Model, tell: Callable[[str], Awaitable[None]]) -> None:
        super().__init__(wrapped)
        self._tell = tell

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        await self._tell("before")
        response = await super().request(messages, model_settings, model_request_parameters)
        await self._tell("took effect")
        return response

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc_val: BaseException | None, exc_tb: TracebackType | None
    ) -> bool | None:
        """Left once the call is in the books, and before its answer is kept."""
        if exc_type is None:
            await self._tell("after")
        return await super().__aexit__(exc_type, exc_val, exc_tb)
