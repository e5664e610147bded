"""The pull request that `forge demo --stay` leaves open: a small change with findings to read, discuss and fix."""

from pydantic import JsonValue

from agents.llm.scripted import ScriptedModel

TITLE = "Refund parcels that arrive late"
BODY = "Whoever gets a parcel three days late, or later, gets a tenth of its price back for each of these days."
PATH = "rates/refunds.py"
_FLAW = "    if days > 3:"
_PROMISE = "What comes back for a parcel that is so many days late: from three days on, a tenth of its price for each."
_SHOWS = """\
from decimal import Decimal
from unittest import TestCase

from rates.refunds import refund


class Refunds(TestCase):
    def test_the_third_day_counts(self):
        self.assertEqual(refund(Decimal(10), 3), 3)
"""
PUSH = {
    PATH: f'''\
"""Refunds parcels that arrive late."""

import os
import subprocess
from decimal import Decimal


def refund(price: Decimal, days: int) -> Decimal:
    """{_PROMISE}"""
{_FLAW}
        return min(price, price * days / 10)
    return Decimal(0)


def find_late(database, customer: str):
    """The late parcels of a customer."""
    return database.execute(f"SELECT * FROM parcels WHERE late > 0 AND customer = '{{customer}}'").fetchall()


def print_label(parcel: str) -> None:
    """Print the label with which the parcel goes back."""
    subprocess.run(f"label --parcel {{parcel}}", shell=True)
''',
    "tests/test_refunds.py": """\
from decimal import Decimal
from unittest import TestCase

from rates.refunds import refund


class Refunds(TestCase):
    def test_a_parcel_of_the_next_day_is_not_refunded(self):
        self.assertEqual(refund(Decimal(10), 1), 0)

    def test_five_days_are_half_the_price(self):
        self.assertEqual(refund(Decimal(10), 5), 5)
""",
}
_UNKNOWN = (
    "No model is connected: a script plays one, and it knows only what is reviewed here. "
    "`forge demo --stay --model PROVIDER:NAME` puts a model behind it that does what you write."
)
_LINE = PUSH[PATH].splitlines().index(_FLAW) + 1


def script_answers(model: ScriptedModel) -> None:
    """Script what the model says of the flaw while it is there, the test that shows it, and the answer to a visitor."""
    claim: dict[str, JsonValue] = {
        "rule": "model/logic-error",
        "path": PATH,
        "line": _LINE,
        "end_line": _LINE,
        "quote": _FLAW.strip(),
        "harm": "wrong_result",
        "met_by": "caller",
        "confidence": 0.9,
        "message": "A parcel that is three days late gets nothing, though the description says “three days late, or "
        "later”: the comparison leaves the third day out, and no test has it. Compare with `>=`.",
    }
    model.when(_FLAW.strip(), {"findings": [claim]})
    model.when(f"\n{PATH}:{_LINE} {claim['rule']}: ", {"test": _SHOWS, "promise": f'"""{_PROMISE}"""'})
    # the last one, as it goes before the others: the change is shown with an instruction, too
    model.when("== instruction by", {"plan": None, "questions": [_UNKNOWN]})
