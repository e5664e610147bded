"""The earlier tests where a part of what runs them is not installed."""

import pytest

from tests.unit.sandbox.machine import has_bubblewrap
from tests.unit.testing.earlier.conftest import Earlier, has_program
from tests.unit.testing.earlier.examples import EXAMPLES

pytestmark = pytest.mark.skipif(not has_bubblewrap(), reason="no bwrap here")


@pytest.mark.skipif(not has_program("phpunit"), reason="no phpunit here")
@pytest.mark.parametrize("settings", ["", "<phpunit><testsuites/></phpunit>", '<phpunit bootstrap="tests/first.php"/>'])
async def test_a_phpunit_of_the_system_loads_what_the_installed_one_would(earlier: Earlier, settings: str) -> None:
    example = EXAMPLES["phpunit"]
    files = {
        **example.files,
        example.test: example.files[example.test].replace("require_once __DIR__ . '/../src/sums.php';", ""),
        "composer.json": '{"require-dev": {"phpunit/phpunit": "^9"}}',
        "tests/first.php": "<?php require __DIR__ . '/../vendor/autoload.php';",
        "generated.php": "<?php require __DIR__ . '/../src/sums.php';",
        **({"phpunit.xml.dist": settings} if settings else {}),
    }
    setup = "sh -c 'mkdir vendor && cp generated.php vendor/autoload.php'"
    found = await earlier(files, example.change("lost"), setup=setup)
    assert [each.outcome.value for each in found.tests] == ["lost"], found


_MEASURED = """require 'simplecov'
SimpleCov.formatter = SimpleCov::Formatter::MultiFormatter.new([SimpleCov::Formatter::HTMLFormatter])
SimpleCov.start { add_filter '/test/' }
if ENV['CI']
  require 'coveralls'
  Coveralls.wear!
end
"""


@pytest.mark.parametrize("more", ["", "require 'nowhere'\n"], ids=["what only measures", "what else"])
@pytest.mark.parametrize("runner", ["rspec", "minitest"])
async def test_what_only_measures_coverage_of_ruby_need_not_be_there(earlier: Earlier, runner: str, more: str) -> None:
    example = EXAMPLES[runner]
    if not has_program(example.needs):
        pytest.skip(f"no {example.needs} here")
    files = {**example.files, example.test: _MEASURED + more + example.files[example.test]}
    found = await earlier(files, example.change("lost"))
    assert [each.outcome.value for each in found.tests] == ([] if more else ["lost"]), found
    told = [each.replace("_spec", "_test").partition("sums")[2] for each in found.not_run]
    assert [each[:62] for each in told] == (
        ["_test.rb could not be run: `nowhere` is missing where Forge ru"] if more else []
    )


@pytest.mark.parametrize(
    ("runner", "other"),
    [
        ("rspec", {"perf/sums_spec.rb": "require 'nowhere'\nRSpec.describe('speed') { it('is fast') { } }\n"}),
        (
            "minitest",
            {"test/speed_test.rb": "require 'nowhere'\nclass SpeedTest < Minitest::Test\n  def test_it; end\nend\n"},
        ),
    ],
)
async def test_a_file_that_cannot_be_loaded_keeps_no_other_from_running(
    earlier: Earlier, runner: str, other: dict[str, str]
) -> None:
    example = EXAMPLES[runner]
    if not has_program(example.needs):
        pytest.skip(f"no {example.needs} here")
    change = {**example.change("lost"), **{path: f"{text}\n# touched\n" for path, text in other.items()}}
    found = await earlier({**example.files, **other}, change)
    assert [(each.path, each.outcome.value) for each in found.tests] == [(example.test, "lost")], found
    assert f"{next(iter(other))} could not be run: `nowhere` is missing where Forge runs tests." in found.not_run[0]


@pytest.mark.skipif(not has_program("rspec"), reason="no rspec here")
async def test_a_file_that_loads_only_after_another_one_runs_in_the_order_of_all(earlier: Earlier) -> None:
    example = EXAMPLES["rspec"]
    alone = example.files[example.test].replace("require_relative '../lib/sums'\n", "method(:add)\n")
    helper = {"spec/adding.rb": "SUM = 4\n"}
    first = f"require_relative 'adding'\n{example.files[example.test]}".replace("'sums'", "'first'")
    files = {**example.files, **helper, "spec/first_spec.rb": first, example.test: alone}
    change = {**example.change("lost"), "spec/adding.rb": "SUM = 5 - 1\n"}
    found = await earlier(files, change)
    assert sorted((each.path, each.outcome.value) for each in found.tests) == [
        ("spec/first_spec.rb", "open"),
        (example.test, "lost"),
    ], found
