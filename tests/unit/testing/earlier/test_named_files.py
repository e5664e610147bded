"""The earlier tests in files that only the script of a repository calls tests."""

import pytest

from tests.unit.sandbox.machine import has_bubblewrap
from tests.unit.testing.earlier.conftest import Earlier, has_program
from tests.unit.testing.earlier.examples import EXAMPLES

pytestmark = pytest.mark.skipif(not has_bubblewrap(), reason="no bwrap here")


@pytest.mark.skipif(not has_program("node"), reason="no node here")
@pytest.mark.parametrize("place", ["./tests/*.js", "tests/index.js"])
async def test_a_file_that_the_script_names_is_one_of_tests(earlier: Earlier, place: str) -> None:
    example = EXAMPLES["node"]
    text = example.files[example.test].replace("./sums.js", "../sums.js")
    package = f'{{"type": "module", "scripts": {{"test": "node --test {place}"}}}}'
    files = {"sums.js": example.files["sums.js"], "package.json": package, "tests/index.js": text}
    change = {"sums.js": example.change("lost")["sums.js"], "tests/index.js": text.replace(", 4)", ", 0)")}
    found = await earlier(files, change)
    assert [(each.path, each.outcome.value) for each in found.tests] == [("tests/index.js", "changed")], found
