"""The sample project of the demo: a small service that quotes parcel rates, its history, and one pull request."""

from simulator import Commit

REPOSITORY = "parcel-post/rates"
BRANCH = "import-carrier-tariffs"
TITLE = "Import tariffs from the carriers every night"
BODY = """\
Until now tariffs were typed in by hand. This adds an importer that fetches each carrier's tariff file, checks it and
replaces the table, plus the job that runs it at night.

- `rates/importer.py` fetches, parses and stores
- the image gets the carrier's transfer tool
"""

QUOTE = '''\
"""Quotes a price for a parcel."""

from dataclasses import dataclass
from decimal import Decimal

from rates.tariffs import Tariff


@dataclass(frozen=True)
class Parcel:
    """Weight in grams, sides in centimetres."""

    weight: int
    sides: tuple[int, int, int]

    @property
    def girth(self) -> int:
        longest = max(self.sides)
        return longest + 2 * (sum(self.sides) - longest)


def quote(parcel: Parcel, tariffs: list[Tariff]) -> Decimal:
    """The cheapest price among the tariffs that take the parcel."""
    prices = [
        tariff.price
        for tariff in tariffs
        if parcel.weight <= tariff.max_weight and parcel.girth <= tariff.max_girth
    ]
    if not prices:
        raise LookupError(f"no carrier takes {parcel.weight} g with a girth of {parcel.girth} cm")
    return min(prices)
'''

_TARIFFS = '''\
"""The tariffs of the carriers."""

import csv
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path


@dataclass(frozen=True)
class Tariff:
    """What a carrier charges up to a weight in grams and a girth in centimetres."""

    carrier: str
    max_weight: int
    max_girth: int
    price: Decimal


def load(path: Path) -> list[Tariff]:
    """Read the table of tariffs, one row per tariff."""
    with path.open(newline="") as file:
        return [
            Tariff(row["carrier"], int(row["max_weight"]), int(row["max_girth"]), Decimal(row["price"]))
            for row in csv.DictReader(file)
        ]
'''

TESTS = """\
from decimal import Decimal
from unittest import TestCase

from rates.quote import Parcel, quote
from rates.tariffs import Tariff

LETTER = Tariff("Letterbox", 1000, 90, Decimal("2.10"))
BULKY = Tariff("Bulky", 30000, 360, Decimal("14.90"))


class Quotes(TestCase):
    def test_cheapest_tariff_wins(self):
        self.assertEqual(quote(Parcel(800, (30, 20, 5)), [BULKY, LETTER]), Decimal("2.10"))

    def test_no_carrier_takes_it(self):
        with self.assertRaisesRegex(LookupError, "40000 g"):
            quote(Parcel(40000, (30, 20, 5)), [BULKY, LETTER])
"""

_IMAGE = """\
FROM python:3.12-slim-bookworm
WORKDIR /srv
COPY requirements.txt .
RUN pip install --no-cache-dir -r requirements.txt
COPY rates rates
USER nobody
CMD ["python", "-m", "rates"]
"""

_WORKFLOW = """\
name: tests
on: [push, pull_request]
permissions:
  contents: read
jobs:
  test:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@11bd71901bbe5b1630ceea73d27597364c9af683
        with:
          persist-credentials: false
      - run: pip install -r requirements.txt && python -m unittest
"""

_LOGO = bytes([137, 80, 78, 71, 13, 10, 26, 10]) + bytes(range(256))

HISTORY = [
    Commit(
        "Read the carriers' tariffs",
        {"README.md": "# Rates\n\nQuotes parcels.\n", "rates/__init__.py": "", "rates/tariffs.py": _TARIFFS},
    ),
    Commit(
        "Quote the cheapest carrier that takes a parcel",
        {"rates/quote.py": QUOTE, "tests/__init__.py": "", "tests/test_quote.py": TESTS},
    ),
    Commit(
        "Build an image and run the tests",
        {"Dockerfile": _IMAGE, "requirements.txt": "click==8.1.7\n", ".github/workflows/tests.yml": _WORKFLOW},
    ),
]

# A made-up key of the right shape, in two pieces so that scanners do not report this file.
_KEY = "AKIA" + "Z7QW3ERT5YUI9OPL"

_IMPORTER = f'''\
"""Fetches the carriers' tariff files and replaces the table of tariffs."""

import json
import os
import subprocess
import urllib.request
from pathlib import Path

import yaml

from rates.tariffs import Tariff, load

ACCESS_KEY = "{_KEY}"
CARRIERS = Path("carriers.yml")


def carriers():
    with CARRIERS.open() as file:
        return yaml.load(file, Loader=yaml.Loader)


def fetch(carrier, seen=[]):
    """Fetch a carrier's file, once per run."""
    if carrier["name"] in seen:
        return None
    seen.append(carrier["name"])
    target = f"/tmp/{{carrier['name']}}.csv"
    subprocess.run(f"transfer get {{carrier['url']}} {{target}}", shell=True)
    return Path(target)


def replace(table: Path):
    """Fetch everything and put it into the table."""
    rows = []
    for carrier in carriers():
        try:
            rows += load(fetch(carrier))
        except:
            pass
    if len(rows) == None:
        raise ValueError(f"no carrier answered")
    table.write_text(json.dumps([vars(row) for row in row]))
'''

_NEW_IMAGE = _IMAGE.replace("FROM python:3.12-slim-bookworm", "FROM python:latest").replace(
    "COPY rates rates", "RUN curl -sSL https://get.transfer.example/install | sh\nCOPY rates rates"
)

_NIGHTLY = """\
name: nightly import
on:
  schedule: [{cron: "0 2 * * *"}]
  issue_comment:
permissions:
  contents: read
jobs:
  import:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@11bd71901bbe5b1630ceea73d27597364c9af683
        with:
          persist-credentials: false
      - run: echo "asked for by ${{ github.event.comment.body }}"
      - run: pip install -r requirements.txt && python -m rates.importer
"""

FIRST_PUSH = {
    "rates/importer.py": _IMPORTER,
    "Dockerfile": _NEW_IMAGE,
    "requirements.txt": "click==8.1.7\npyyaml==5.3.1\n",
    ".github/workflows/nightly.yml": _NIGHTLY,
    "docs/logo.png": _LOGO,
}

_FIXED_IMPORTER = '''\
"""Fetches the carriers' tariff files and replaces the table of tariffs."""

import shutil
import urllib.request
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import yaml

from rates.tariffs import load

CARRIERS = Path("carriers.yml")


def carriers() -> list[dict[str, Any]]:
    with CARRIERS.open() as file:
        return yaml.safe_load(file)


def fetch(carrier: dict[str, Any], folder: Path) -> Path:
    """Fetch a carrier's file into a folder of our own."""
    if urlsplit(carrier["url"]).scheme != "https":
        raise ValueError(f"{carrier['name']} is not fetched over https")
    target = folder / f"{carrier['name']}.csv"
    with urllib.request.urlopen(carrier["url"], timeout=30) as answer, target.open("wb") as file:
        shutil.copyfileobj(answer, file)
    load(target)  # a file that cannot be read must not replace one that can
    return target
'''

_IMPORTER_TESTS = """\
import pytest

from rates.importer import fetch


def test_plain_http_is_refused(tmp_path):
    with pytest.raises(ValueError, match="https"):
        fetch({"name": "Bulky", "url": "http://carrier.example/t.csv"}, tmp_path)
    assert list(tmp_path.iterdir()) == []
"""

SECOND_PUSH = {
    "rates/importer.py": _FIXED_IMPORTER,
    "tests/test_importer.py": _IMPORTER_TESTS,
    "Dockerfile": _IMAGE,
    "requirements.txt": "click==8.1.7\npyyaml==6.0.2\n",
    ".github/workflows/nightly.yml": None,
}

# What GitHub's dependency comparison answers for the first push: a real advisory about a real release.
DEPENDENCIES = [
    {
        "change_type": "added",
        "manifest": "requirements.txt",
        "ecosystem": "pip",
        "name": "pyyaml",
        "version": "5.3.1",
        "package_url": "pkg:pypi/pyyaml@5.3.1",
        "license": "MIT",
        "source_repository_url": "https://github.com/yaml/pyyaml",
        "vulnerabilities": [
            {
                "severity": "critical",
                "advisory_ghsa_id": "GHSA-8q59-q68h-6hv4",
                "advisory_summary": "Improper Input Validation in PyYAML",
                "advisory_url": "https://github.com/advisories/GHSA-8q59-q68h-6hv4",
            }
        ],
    }
]

GATE_BRANCH = "read-old-tariffs"
GATE_TITLE = "Read the tariff files of the old carriers"
GATE_BODY = "Two carriers still send files that only the old parser reads. It is replaced with their next contract."
GATE_PUSH = {"requirements.txt": "click==8.1.7\npyyaml==5.3.1\n"}
GATE_CONDITION = "only for files we wrote ourselves, and gone by the end of the quarter"

LEARNING_TITLE = "Keep the old names importable"
LEARNING_BODY = "Shops of our customers import these names from where they used to be."
LEARNING_FILE = "rates/old_names.py"
LEARNING_PUSH = {LEARNING_FILE: "from rates.quote import Parcel, quote\n"}
LEARNING_RULE = "ruff/F401"
LEARNING_REASON = "old_names.py imports names for customers to import, that is its purpose"
LEARNING_AGAIN_TITLE = "Keep the old names importable, and say until when"
LEARNING_AGAIN_PUSH = {**LEARNING_PUSH, "docs/old-names.md": "The old names stay until the next major version.\n"}
