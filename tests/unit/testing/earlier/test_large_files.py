"""The earlier tests beside a file that has more tests than a report may tell."""

import pytest

from agents.testing.earlier_tests.choice import find_users
from tests.unit.sandbox.machine import has_bubblewrap
from tests.unit.testing.earlier.conftest import Earlier

_VITEST = """#!/usr/bin/env node
const fs = require('fs');
const run = (file) => {
  if (file.startsWith('many')) return Array.from({length: 20001}, (_, n) => ({fullName: `${n}`, status: 'passed'}));
  try { require(`${process.cwd()}/${file}`); return [{fullName: 'adds', status: 'passed'}]; }
  catch (error) { return [{fullName: 'adds', status: 'failed', failureMessages: [error.message]}]; }
};
const files = process.argv.slice(2).filter((each) => fs.existsSync(each));
const testResults = files.map((file) => ({name: `${process.cwd()}/${file}`, assertionResults: run(file)}));
const place = process.argv.find((each) => each.startsWith('--outputFile.json=')).split('=')[1];
fs.writeFileSync(place, JSON.stringify({testResults}));
process.exitCode = +testResults.some((each) => each.assertionResults.some((one) => one.status === 'failed'));
"""


@pytest.mark.skipif(not has_bubblewrap(), reason="no bwrap here")
async def test_a_report_that_is_too_large_takes_no_other_file_with_it(earlier: Earlier) -> None:
    files = {
        "package.json": '{"scripts": {"test": "vitest"}}',
        "sums.js": "exports.add = (a, b) => a + b;\n",
        "sums.test.js": "require('assert').equal(require('./sums').add(2, 2), 4);\n",
        "many.test.js": "",
        "old/vitest": _VITEST,
    }
    setup = (
        "sh -c 'mkdir -p node_modules/.bin && cp old/vitest node_modules/.bin/ && chmod +x node_modules/.bin/vitest'"
    )
    change = {"sums.js": "exports.add = (a, b) => a - b;\n", "sums.test.js": None, "many.test.js": None}
    found = await earlier(files, change, setup=setup)
    assert [(each.id, each.outcome.value) for each in found.tests] == [("sums.test.js::adds", "lost")], found


def test_a_snapshot_is_used_by_its_own_file_only() -> None:
    texts = {"src/a.spec.ts": "", "src/b.spec.ts": "a", "src/sub/a.spec.ts": ""}
    assert find_users(["src/__snapshots__/a.spec.ts.snap"], texts) == ["src/a.spec.ts"]


def test_data_is_used_by_whoever_names_a_folder_around_it() -> None:
    texts = {"tests/test_data.py": 'DATA = Path(__file__).parent / "data"', "tests/test_a.py": "data = 1"}
    assert find_users(["tests/data/invalid/spec/common-49.toml"], texts) == ["tests/test_data.py"]
