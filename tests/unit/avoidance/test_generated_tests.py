"""Tests that became a table from which tests are made: as long as it holds their cases, none is gone."""

import pytest

from domain.review.avoidance import AvoidanceKind
from tests.unit.avoidance.samples import compare, list_kinds

REMOVED = AvoidanceKind.test_removed
PATH = "test/parse.js"
SPELLED = """\
var parse = require("..");

describe("parse", function () {
  it("reads KB", function () {
    assert.equal(parse("1kb"), 1 * Math.pow(1024, 1));
    assert.equal(parse("1KB"), 1 * Math.pow(1024, 1));
    assert.equal(parse("0.5kb"), 0.5 * Math.pow(1024, 1));
  });

  it("reads TB", function () {
    assert.equal(parse("1tb"), 1 * Math.pow(1024, 4));
    assert.equal(parse("1Tb"), 1 * Math.pow(1024, 4));
    assert.equal(parse("1.5tb"), 1.5 * Math.pow(1024, 4));
  });
});
"""
MADE = """\
var parse = require("..");

describe("parse", function () {
  var units = [
    ["kb", 1, ["1", "0.5"]],
    ["tb", 4, ["1", "1.5"]]
  ];

  units.forEach(function (row) {
    row[2].forEach(function (number) {
      [row[0], row[0].toUpperCase(), capitalize(row[0])].forEach(function (unit) {
        it("reads " + number + unit, function () {
          assert.strictEqual(parse(number + unit), Number(number) * Math.pow(1024, row[1]));
        });
      });
    });
  });
});
"""


def test_tests_that_are_made_of_parts_are_not_gone() -> None:
    assert REMOVED not in list_kinds(compare({PATH: SPELLED}, {PATH: MADE}))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('["tb", 4, ["1", "1.5"]]', '["mb", 2, ["1", "1.5"]]'),
        ('["tb", 4, ["1", "1.5"]]', '["tb", 4, ["1"]]'),
        ("assert.strictEqual(parse(number + unit), Number(number) * Math.pow(1024, row[1]))", "assert(parse(unit))"),
        ("parse(number + unit)", "format(number + unit)"),
    ],
)
def test_a_table_that_lacks_a_case_or_asks_less_is_no_excuse(old: str, new: str) -> None:
    assert REMOVED in list_kinds(compare({PATH: SPELLED}, {PATH: MADE.replace(old, new)}))


PYTHON = "tests/test_sizes.py"
ONE_BY_ONE = """\
def test_kilo():
    assert parse("1kB") == 1000
    assert parse("2kB") == 2000


def test_mega():
    assert parse("1MB") == 1000000
    assert parse("2MB") == 2000000
"""
CROSSED = """\
@pytest.mark.parametrize("number", ["1", "2"])
@pytest.mark.parametrize("unit", ["kB", "MB"])
def test_units(number, unit):
    assert parse(number + unit) == int(number) * {"kB": 1000, "MB": 1000000}[unit]
"""


def test_parameters_that_cross_hold_all_pairs() -> None:
    assert REMOVED not in list_kinds(compare({PYTHON: ONE_BY_ONE}, {PYTHON: CROSSED}))
    lacking = CROSSED.replace(', "MB"])', ', "GB"])')
    assert REMOVED in list_kinds(compare({PYTHON: ONE_BY_ONE}, {PYTHON: lacking}))
