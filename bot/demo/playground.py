"""What ``forge demo --stay`` leaves to play with: a conflict, a red build and code without tests."""

from collections.abc import Mapping
from dataclasses import dataclass

from pydantic import JsonValue

from agents.llm.scripted import ScriptedModel, Uses
from simulator import Commit

REPOSITORY = "parcel-post/tracking"
WORKFLOW = "CI"
JOBS = {"unit": "python3 -m unittest", "labels": "python3 -m checks.labels"}
START = "forge demo --stay --model PROVIDER:NAME"
"""How a real model is put behind it."""

_FORGE = "review: {on_pull_request: false}  # here Forge does what it is asked, and /forge review is one of these\n"
_ACTIONS = """\
name: CI
on: [push, pull_request]
permissions:
  contents: read
jobs:
  unit:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@11bd71901bbe5b1630ceea73d27597364c9af683
      - run: python3 -m unittest
  labels:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@11bd71901bbe5b1630ceea73d27597364c9af683
      - run: python3 -m checks.labels
"""
_ARRIVAL = '''\
"""When a parcel arrives."""

from datetime import date, timedelta

DAYS = {"letter": 1, "parcel": 2, "freight": 5}
"""How many days each kind is under way."""


def arrival(kind: str, sent: date) -> date:
    """The day on which something that was sent arrives."""
    return sent + timedelta(days=DAYS[kind])


def is_late(kind: str, sent: date, today: date) -> bool:
    """Whether something should have arrived before today."""
    return arrival(kind, sent) < today
'''
_ARRIVAL_TESTS = """\
from datetime import date
from unittest import TestCase

from tracking.arrival import arrival, is_late

MONDAY = date(2026, 3, 2)


class Arrivals(TestCase):
    def test_a_parcel_takes_two_days(self):
        self.assertEqual(arrival("parcel", MONDAY), date(2026, 3, 4))

    def test_it_is_late_the_day_after(self):
        self.assertFalse(is_late("parcel", MONDAY, date(2026, 3, 4)))
        self.assertTrue(is_late("parcel", MONDAY, date(2026, 3, 5)))
"""
_LABELS = '''\
"""What is printed on a label."""

from dataclasses import dataclass

LINE = 24
"""What the printer takes in one line."""


@dataclass(frozen=True)
class Shipment:
    """What is sent, to whom and where."""

    number: str
    recipient: str
    city: str


def render(shipment: Shipment) -> list[str]:
    """The lines of a label."""
    return [shipment.number, shipment.city[:LINE]]
'''
_LABEL_TESTS = """\
from unittest import TestCase

from tracking.labels import Shipment, render


class Labels(TestCase):
    def test_the_number_comes_first_and_the_city_last(self):
        first, *_, last = render(Shipment("P-1", "Ann", "Oslo"))
        self.assertEqual((first, last), ("P-1", "Oslo"))
"""
_CHECK = '''\
"""Sends the labels of shipments of last week to a printer that is not there, which takes so many bytes in a line."""

import csv
import sys
from pathlib import Path

from tracking.labels import Shipment, render

PRINTER = 24


def main() -> int:
    refused = 0
    with Path("checks/shipments.csv").open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            for line in render(Shipment(**row)):
                size = len(line.encode())
                print(f"{row['number']}: {size:2} bytes: {ascii(line)}")
                refused += size > PRINTER
    if refused:
        where = render.__code__.co_firstlineno
        print(f"::error file=tracking/labels.py,line={where}::The printer refused {refused} of the lines")
    return 1 if refused else 0


if __name__ == "__main__":
    sys.exit(main())
'''
_SHIPMENTS = """\
number,recipient,city
P-4711,Ann Lee,Oslo
P-4712,Zoë van der Heyden-Müller,Antwerpen
P-4713,Bo,Llanfairpwllgwyngyllgogerychwyrndrobwll
"""
HISTORY = [
    Commit(
        "Say when a parcel arrives, and print its label",
        {
            "README.md": "# Tracking\n\nSays when parcels arrive, and prints their labels.\n",
            ".github/forge.yml": _FORGE,
            ".github/workflows/ci.yml": _ACTIONS,
            "tracking/__init__.py": "",
            "tracking/arrival.py": _ARRIVAL,
            "tracking/labels.py": _LABELS,
            "checks/__init__.py": "",
            "checks/labels.py": _CHECK,
            "checks/shipments.csv": _SHIPMENTS,
            "tests/__init__.py": "",
            "tests/test_arrival.py": _ARRIVAL_TESTS,
            "tests/test_labels.py": _LABEL_TESTS,
        },
    )
]


@dataclass(frozen=True)
class OpenTask:
    """A pull request of the visitor's.

    :param shows: what is wrong with it, in a few words.
    :param ask: what its author may write to Forge.
    """

    branch: str
    title: str
    body: str
    files: Mapping[str, str]
    shows: str
    ask: str


# --- the conflict ------------------------------------------------------------------------------------------

_SUNDAY_HEAD = '''\
def arrival(kind: str, sent: date) -> date:
    """The day on which something that was sent arrives; nothing is delivered on a Sunday."""
    day = sent + timedelta(days=DAYS[kind])
    return day + timedelta(days=1) if day.isoweekday() == 7 else day
'''
_EXPRESS_HEAD = '''\
def arrival(kind: str, sent: date, *, express: bool = False) -> date:
    """The day on which something that was sent arrives; express takes a day less, but at least one."""
    days = TRANSIT_DAYS[kind] - (1 if express else 0)
    return sent + timedelta(days=max(days, 1))
'''
_BOTH_HEAD = '''\
def arrival(kind: str, sent: date, *, express: bool = False) -> date:
    """The day on which something that was sent arrives; express takes a day less, but at least one.

    Nothing is delivered on a Sunday.
    """
    days = TRANSIT_DAYS[kind] - (1 if express else 0)
    day = sent + timedelta(days=max(days, 1))
    return day + timedelta(days=1) if day.isoweekday() == 7 else day
'''
_OLD_HEAD = _ARRIVAL[_ARRIVAL.index("def arrival") : _ARRIVAL.index("\n\ndef is_late")]
_PROMISE_LINE = "    return max(arrival(kind, sent) for kind in DAYS)\n"
_PROMISE = f'''

def promise(sent: date) -> date:
    """The day by which whatever was sent has arrived."""
{_PROMISE_LINE}'''
CONFLICT = OpenTask(
    "no-sundays",
    "Deliver nothing on Sundays",
    "What would arrive on a Sunday arrives on Monday. `promise` is for the shops that ask when everything is there.\n\n"
    "Meanwhile `main` got express parcels, in the same lines.",
    {
        "tracking/arrival.py": _ARRIVAL.replace(_OLD_HEAD, _SUNDAY_HEAD) + _PROMISE,
        "tests/test_sundays.py": """\
from datetime import date
from unittest import TestCase

from tracking.arrival import arrival, promise


class Sundays(TestCase):
    def test_nothing_arrives_on_a_sunday(self):
        self.assertEqual(arrival("parcel", date(2026, 3, 6)), date(2026, 3, 9))

    def test_freight_is_promised_last(self):
        self.assertEqual(promise(date(2026, 3, 2)), date(2026, 3, 7))
""",
    },
    "conflicts with its base",
    "/forge update",
)
MOVED = Commit(
    "Offer express, and call the days what they are",
    {
        "tracking/arrival.py": _ARRIVAL.replace(_OLD_HEAD, _EXPRESS_HEAD).replace("\nDAYS =", "\nTRANSIT_DAYS ="),
        "tests/test_express.py": """\
from datetime import date
from unittest import TestCase

from tracking.arrival import arrival


class Express(TestCase):
    def test_it_takes_a_day_less(self):
        self.assertEqual(arrival("freight", date(2026, 3, 2), express=True), date(2026, 3, 6))

    def test_it_takes_at_least_one(self):
        self.assertEqual(arrival("letter", date(2026, 3, 2), express=True), date(2026, 3, 3))
""",
    },
)
"""What the base gets once the first of the pull requests is there."""

# --- the red build -----------------------------------------------------------------------------------------

_PRINTED = "    return [shipment.number, shipment.recipient[:LINE], shipment.city[:LINE]]\n"
_CUT = '''\
    return [shipment.number, _cut(shipment.recipient), _cut(shipment.city)]


def _cut(text: str) -> str:
    """As much as the printer takes: it counts bytes, and half a letter is none."""
    return text.encode()[:LINE].decode(errors="ignore")
'''
_LONG_TESTS = """
    def test_a_long_name_is_cut(self):
        name = "Bartholomew Featherstonehaugh"
        self.assertEqual(render(Shipment("P-1", name, "Oslo"))[1], "Bartholomew Featherstone")
"""
RED = OpenTask(
    "print-recipients",
    "Print the recipient on the label",
    "Until now a label had the number and the city.",
    {
        "tracking/labels.py": _LABELS.replace("    return [shipment.number, shipment.city[:LINE]]\n", _PRINTED),
        "tests/test_labels.py": _LABEL_TESTS + _LONG_TESTS,
    },
    "has a red build",
    "/forge mend",
)

# --- the code without tests --------------------------------------------------------------------------------

NAME_IT = "name the value in the error"
"""An instruction that the script knows, too."""
_REFUSED = '        raise ValueError("a value is not negative")\n'
_TESTED = "tracking/customs.py"
UNTESTED = OpenTask(
    "customs",
    "Tell what customs take",
    f"Shops ask what a parcel costs its recipient at the border.\n\nStill to do: {NAME_IT}.",
    {
        _TESTED: f'''\
"""What customs take of a parcel."""

from decimal import Decimal

FREE = Decimal(150)
"""Up to this value nothing is taken."""
_UNION = frozenset({{"BE", "DE", "FR", "NL"}})
_SHARES = {{"CH": Decimal("0.081"), "NO": Decimal("0.25")}}
_USUAL = Decimal("0.2")


def duty(value: Decimal, country: str) -> Decimal:
    """What the recipient pays, in whole cents.

    :param country: two letters.
    """
    if value < 0:
{_REFUSED}    if country in _UNION or value <= FREE:
        return Decimal(0)
    return (value * _SHARES.get(country, _USUAL)).quantize(Decimal("0.01"))
''',
    },
    "has no tests",
    "/forge tests",
)
_CUSTOMS_TESTS = """\
from decimal import Decimal
from unittest import TestCase

from tracking.customs import duty


class Customs(TestCase):
    def test_nothing_is_taken_within_the_union(self):
        self.assertEqual(duty(Decimal(500), "FR"), 0)

    def test_nothing_is_taken_of_what_is_worth_little(self):
        self.assertEqual(duty(Decimal(150), "NO"), 0)

    def test_a_country_has_its_share(self):
        self.assertEqual(duty(Decimal(200), "NO"), 50)
        self.assertEqual(duty(Decimal("199.99"), "CH"), Decimal("16.20"))

    def test_others_take_the_usual(self):
        self.assertEqual(duty(Decimal(200), "US"), 40)

    def test_a_negative_value_is_refused(self):
        with self.assertRaisesRegex(ValueError, "not negative"):
            duty(Decimal(-1), "US")
"""
OPEN_TASKS = (CONFLICT, RED, UNTESTED)

# --- what the script says ----------------------------------------------------------------------------------

_UNKNOWN = (
    "No model is connected: a script plays one, and it knows only what the descriptions of these three pull requests "
    f"ask for. `{START}` puts a model behind them that does what you write."
)


def script_answers(model: ScriptedModel) -> None:
    """Script what the model says to the three tasks; to whatever else it says that it is a script."""
    model.when("== instruction by", {"plan": None, "questions": [_UNKNOWN]})
    resolved: dict[str, JsonValue] = {
        "number": 1,
        "text": _BOTH_HEAD,
        "reason": "The signature and the days are the base's, the Sunday is the branch's: both are in one function.",
    }
    beside: dict[str, JsonValue] = {
        "path": "tracking/arrival.py",
        "old": _PROMISE_LINE,
        "new": _PROMISE_LINE.replace(" DAYS", " TRANSIT_DAYS"),
        "reason": "The base calls DAYS TRANSIT_DAYS, and promise of the branch still uses the old name.",
    }
    model.when("def promise(sent: date)", {"hunks": [resolved], "beside": [beside]})
    edit = Uses([("edit", {"path": "tracking/labels.py", "old": _PRINTED, "new": _CUT})])
    _script(model, "== red check labels", "Cut lines by bytes", "tracking/labels.py", edit)
    write = Uses([("write_file", {"path": "tests/test_customs.py", "content": _CUSTOMS_TESTS})])
    _script(model, "== files to test", "Test what customs take", "tests/test_customs.py", write)
    named = _REFUSED.replace('"a value is not negative"', 'f"a value is not negative, as {value} is"')
    edit = Uses([("edit", {"path": _TESTED, "old": _REFUSED, "new": named})])
    _script(model, NAME_IT, "Name the value in the error", _TESTED, edit)


def _script(model: ScriptedModel, shown: str, title: str, path: str, edits: Uses) -> None:
    """Script how the model plans an instruction and carries it out, as often as it is given.

    :param shown: what the instruction says.
    """
    task: dict[str, JsonValue] = {
        "id": "T1",
        "title": title,
        "description": f"{title}.",
        "files": [path],
        "acceptance": "The tests pass.",
    }
    plan: dict[str, JsonValue] = {
        "title": title,
        "summary": f"{title}.",
        "tasks": [task],
        "risk": {"level": "low", "reasons": ["It is small."]},
        "estimate": {"lines": 20, "minutes": 5},
        "allowed_areas": [path],
    }
    done: dict[str, JsonValue] = {"summary": f"{title}.", "is_done": True}
    model.when(shown, {"plan": plan, "questions": []})
    model.when(f"== your task: T1 {title}", lambda content: done if "\nApplied.\n" in content else edits)
