# ruff: noqa: E501 - the table of examples holds whole files on a line
"""A small program with one test, for each runner."""

from dataclasses import dataclass

Files = dict[str, str]
Changed = dict[str, str | None]


@dataclass(frozen=True)
class Example:
    """A program that adds, and its one test, which demands that 2 and 2 are 4.

    :param sums: the file of the program, with one plus; :param test: that of the test.
    :param demands: what the test demands, with one ``4``.
    :param needs: the program or the package of Node that runs it.
    :param lacking: the program without what the test names.
    """

    files: Files
    sums: str
    test: str
    demands: str
    needs: str
    lacking: str

    @property
    def broken(self) -> Files:
        """A change after which the program does not add any more."""
        return {self.sums: self.files[self.sums].replace(" + ", " - ")}

    def change(self, end: str) -> Changed:
        """A change after which the test ends in one way."""
        if end == "gone":
            return {self.sums: self.lacking, self.test: None}
        if end in {"holds", "lost"}:
            return {**(self.broken if end == "lost" else {self.sums: f"{self.files[self.sums]}\n"}), self.test: None}
        demanded = self.demands.replace("4", "0" if end == "changed" else "5")
        return {**self.broken, self.test: self.files[self.test].replace(self.demands, demanded)}


_PHP_TEST = "<?php\nrequire_once __DIR__ . '/../src/sums.php';\n\nclass SumsTest extends PHPUnit\\Framework\\TestCase\n{\n    public function testAdds(): void\n    {\n        $this->assertSame(4, add(2, 2));\n    }\n}\n"
EXAMPLES = {
    "unittest": Example(
        {
            "sums.py": "def add(a, b):\n    return a + b\n",
            "tests/__init__.py": "",
            "tests/test_sums.py": "import unittest\nfrom sums import add\n\n\nclass TestSums(unittest.TestCase):\n    def test_adds(self):\n        self.assertEqual(add(2, 2), 4)\n",
        },
        "sums.py",
        "tests/test_sums.py",
        ", 4)",
        "python3",
        "",
    ),
    "node": Example(
        {
            "package.json": '{"type": "module", "scripts": {"test": "node --test"}}',
            "sums.js": "export function add(a, b) { return a + b; }\n",
            "sums.test.js": "import { test } from 'node:test';\nimport assert from 'node:assert';\nimport { add } from './sums.js';\n\ntest('adds two', () => {\n  assert.equal(add(2, 2), 4);\n});\n",
        },
        "sums.js",
        "sums.test.js",
        ", 4)",
        "node",
        "export const a = 1;\n",
    ),
    "mocha": Example(
        {
            "package.json": '{"scripts": {"test": "mocha"}}',
            "sums.js": "exports.add = (a, b) => a + b;\n",
            "test/sums.js": "const assert = require('assert');\nconst { add } = require('../sums');\n\ndescribe('sums', () => {\n  it('adds two', () => {\n    assert.equal(add(2, 2), 4);\n  });\n});\n",
        },
        "sums.js",
        "test/sums.js",
        ", 4)",
        "mocha",
        "exports.a = 1;\n",
    ),
    "ava": Example(
        {
            "package.json": '{"type": "module", "scripts": {"test": "ava"}}',
            "sums.js": "export const add = (a, b) => a + b;\n",
            "test/sums.js": "import test from 'ava';\nimport { add } from '../sums.js';\n\ntest('adds two', t => {\n  t.is(add(2, 2), 4);\n});\n",
        },
        "sums.js",
        "test/sums.js",
        ", 4)",
        "ava",
        "export const a = 1;\n",
    ),
    "jest": Example(
        {
            "package.json": '{"scripts": {"test": "jest"}}',
            "sums.js": "exports.add = (a, b) => a + b;\n",
            "sums.test.js": "const { add } = require('./sums');\n\ntest('adds two', () => {\n  expect(add(2, 2)).toBe(4);\n});\n",
        },
        "sums.js",
        "sums.test.js",
        "toBe(4)",
        "jest",
        "exports.a = 1;\n",
    ),
    "vitest": Example(
        {
            "package.json": '{"type": "module", "scripts": {"test": "vitest"}}',
            "sums.js": "export const add = (a, b) => a + b;\n",
            "sums.test.js": "import { expect, test } from 'vitest';\nimport { add } from './sums.js';\n\ntest('adds two', () => {\n  expect(add(2, 2)).toBe(4);\n});\n",
        },
        "sums.js",
        "sums.test.js",
        "toBe(4)",
        "vitest",
        "export const a = 1;\n",
    ),
    "go": Example(
        {
            "go.mod": "module example.com/sums\n\ngo 1.18\n",
            "sums.go": "package sums\n\nfunc Add(a, b int) int { return a + b }\n",
            "sums_test.go": 'package sums\n\nimport "testing"\n\nfunc TestAdds(t *testing.T) {\n\tif got := Add(2, 2); got != 4 {\n\t\tt.Errorf("got %d", got)\n\t}\n}\n',
        },
        "sums.go",
        "sums_test.go",
        "got != 4",
        "go",
        "package sums\n",
    ),
    "cargo": Example(
        {
            "Cargo.toml": '[package]\nname = "sums"\nversion = "0.1.0"\nedition = "2021"\n',
            "src/lib.rs": "pub fn add(a: i32, b: i32) -> i32 {\n    a + b\n}\n",
            "tests/sums.rs": "mod common;\n\n#[test]\nfn adds() {\n    assert_eq!(sums::add(common::TWO, 2), 4);\n}\n",
            "tests/common/mod.rs": "pub const TWO: i32 = 2;\n",
        },
        "src/lib.rs",
        "tests/sums.rs",
        ", 4)",
        "cargo",
        "",
    ),
    "rspec": Example(
        {
            "lib/sums.rb": "def add(a, b)\n  a + b\nend\n",
            "spec/sums_spec.rb": "require_relative '../lib/sums'\n\nRSpec.describe 'sums' do\n  it 'adds two' do\n    expect(add(2, 2)).to eq(4)\n  end\nend\n",
        },
        "lib/sums.rb",
        "spec/sums_spec.rb",
        "eq(4)",
        "rspec",
        "",
    ),
    "minitest": Example(
        {
            "lib/sums.rb": "def add(a, b)\n  a + b\nend\n",
            "test/sums_test.rb": "require 'minitest/autorun'\nrequire 'sums'\n\nclass SumsTest < Minitest::Test\n  def test_adds\n    assert_equal 4, add(2, 2)\n  end\nend\n",
        },
        "lib/sums.rb",
        "test/sums_test.rb",
        "equal 4",
        "ruby",
        "",
    ),
    "test-unit": Example(
        {
            "lib/sums.rb": "def add(a, b)\n  a + b\nend\n",
            "test/sums_test.rb": "require 'test/unit'\nrequire 'sums'\n\nclass SumsTest < Test::Unit::TestCase\n  test 'adds two' do\n    assert_equal 4, add(2, 2)\n  end\nend\n",
        },
        "lib/sums.rb",
        "test/sums_test.rb",
        "equal 4",
        "ruby",
        "",
    ),
    "phpunit": Example(
        {
            "src/sums.php": "<?php\nfunction add(int $a, int $b): int\n{\n    return $a + $b;\n}\n",
            "tests/SumsTest.php": _PHP_TEST,
        },
        "src/sums.php",
        "tests/SumsTest.php",
        "(4,",
        "phpunit",
        "<?php\n",
    ),
    "bats": Example(
        {
            "sums.sh": "add() {\n  a=$1 b=$2\n  echo $((a + b))\n}\n",
            "test/sums.bats": 'setup() {\n  . ./sums.sh\n}\n\n@test "adds two" {\n  [ "$(add 2 2)" -eq 4 ]\n}\n',
        },
        "sums.sh",
        "test/sums.bats",
        "-eq 4",
        "bats",
        "",
    ),
}
