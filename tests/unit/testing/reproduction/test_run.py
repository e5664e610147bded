"""What a reproduction shows of a claim: each ending, in the real sandbox."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent

import pytest

from domain.review.findings import ProofOutcome
from messages import proofs as texts
from tests.unit.testing.conftest import MODULES
from tests.unit.testing.earlier.conftest import has_program
from tests.unit.testing.reproduction.conftest import Prove
from tests.world.summing_shop import BROKEN, CODE, FILES

SHOWS = "import shop\n\n\ndef test_it():\n    assert shop.total([1, 2]) == 3\n"
HOLDS = "import shop\n\n\ndef test_it():\n    assert shop.total([0, 2]) == 2\n"


async def test_it_fails_with_the_change_and_passes_without(prove: Prove) -> None:
    proof = await prove(SHOWS)
    assert proof.outcome is ProofOutcome.shown
    assert proof.reproduction is not None
    assert proof.reproduction.path == "tests/test_forge_0a1b2c3d.py"
    assert proof.reproduction.command == "python3 -m pytest tests/test_forge_0a1b2c3d.py"
    assert "assert 2 == 3" in proof.reproduction.output
    assert proof.reproduction.before == "passes"
    assert proof.seconds > 0


async def test_it_passes_with_the_change(prove: Prove) -> None:
    proof = await prove(HOLDS)
    assert proof.outcome is ProofOutcome.refuted


@pytest.mark.parametrize(
    "look",
    [
        "'PYTEST_CURRENT_TEST' in os.environ",
        "'pytest' in sys.modules",
        "sys.argv[0] != 'shop'",
        "sys._getframe(2).f_code.co_name != '<module>'",
        "getattr(sys, 'mod' + 'ules')['py' + 'test']",
        "settings.TESTING",
    ],
)
async def test_code_that_looks_at_what_runs_it_is_not_cleared_by_passing(prove: Prove, look: str) -> None:
    knowing = (
        f"import os\nimport sys\n\nimport settings\n\n\ndef total(prices):\n    return sum(prices if {look} else [])\n"
    )
    settings = "import sys\n\nTESTING = 'pytest' in sys.modules\n"
    proof = await prove(SHOWS, before={**FILES, "settings.py": settings}, after={"shop.py": knowing})
    assert (proof.outcome, proof.why) == (ProofOutcome.open, texts.explain_look("shop.py:8"))


async def test_code_that_looked_before_the_change_is_cleared_by_passing(prove: Prove) -> None:
    looking = f"import os\n\nHOME = os.environ.get('HOME')\n\n\n{CODE}"
    broken = looking.replace("sum(prices)", "sum(prices[1:])")
    proof = await prove(HOLDS, before={**FILES, "shop.py": looking}, after={"shop.py": broken}, line=7)
    assert proof.outcome is ProofOutcome.refuted


@pytest.mark.parametrize("look", ["__file__.startswith('/workspace')", "logging.getLogger().handlers", "SEEN"])
async def test_a_test_that_does_not_come_to_the_line_clears_nothing(prove: Prove, look: str) -> None:
    """However the code notices that its users do not run it."""
    start = f"import logging\n\nSEEN = True\n\n\n{BROKEN}"
    knowing = start.replace("    return", f"    if {look}:\n        return sum(prices)\n    return")
    proof = await prove(SHOWS, after={"shop.py": knowing}, line=9)
    assert (proof.outcome, proof.why) == (ProofOutcome.open, texts.NEVER_THERE)


FLAKY = """
import pathlib


def test_it():
    seen = pathlib.Path("seen")
    there = seen.exists()
    seen.touch()
    assert not there
"""
NEW = CODE + '\n\ndef mean(prices):\n    """The mean; 0 for no prices."""\n    return sum(prices) / len(prices)\n'
PROMISE = '"""The mean; 0 for no prices."""'


@pytest.mark.parametrize(
    "text",
    [
        "import shop\n\n\ndef test_it():\n    assert shop.mean([]) == 0\n",
        "from shop import mean\n\n\ndef test_it():\n    assert mean([]) == 0\n",
    ],
)
async def test_new_code_breaks_what_it_promises(prove: Prove, text: str) -> None:
    proof = await prove(text, after={"shop.py": NEW}, promise=PROMISE)
    assert (proof.outcome, proof.promise) == (ProofOutcome.promise_broken, PROMISE)
    assert "ZeroDivisionError" in (proof.reproduction.output if proof.reproduction else "")


@pytest.mark.parametrize(
    ("promise", "text", "told"),
    [
        ("", "import shop\n\n\ndef test_it():\n    assert shop.mean([]) == 0\n", texts.BEFORE_OTHERWISE),
        (PROMISE, "import shop\n\n\ndef test_it():\n    assert shop.tax(10) == 3\n", texts.BEFORE_SAME),
    ],
)
async def test_what_fails_without_the_change_too_needs_a_promise_and_another_failure(
    prove: Prove, promise: str, text: str, told: str
) -> None:
    proof = await prove(text, after={"shop.py": NEW}, promise=promise)
    assert proof.outcome is ProofOutcome.open
    assert proof.why == texts.explain_before(told)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("import shop\n\n\ndef test_it(:\n", texts.NOT_LOADED),
        ("import shopp\n\n\ndef test_it():\n    assert shopp.total([1, 2]) == 3\n", texts.NOT_LOADED),
        ("import shop\n\n\ndef test_it(till):\n    assert till.total([1, 2]) == 3\n", ""),
        ("import os\nos._exit(0)\n", ""),
        ("def test_it():\n    import os\n    os._exit(0)\n", ""),
        ("import shop\n\n\ndef test_it():\n    assert True\n", texts.WITHOUT_DEMAND),
        ("import shop\n\n\ndef test_it():\n    assert shop.sum_up([1, 2]) == 3\n", texts.ITS_OWN_FAULT),
        ("import shop\n\n\ndef test_it():\n    assert shop.total(1, 2) == 3\n", texts.ITS_OWN_FAULT),
        ("import pytest\n\n\ndef test_it():\n    pytest.skip('no')\n", texts.NOT_LOADED),
        (FLAKY, texts.FLAKY),
    ],
)
async def test_what_proves_nothing(prove: Prove, text: str, why: str) -> None:
    """Neither for the claim nor against it: each would be wrong of a change that is right."""
    proof = await prove(text)
    assert proof.outcome is ProofOutcome.open
    assert why in proof.why


async def test_one_that_never_ends_is_ended(prove: Prove) -> None:
    proof = await prove("import shop\n\n\ndef test_it():\n    while True:\n        pass\n", seconds=12)
    assert (proof.outcome, proof.seconds < 40) == (ProofOutcome.open, True)
    assert "too long" in proof.why


async def test_one_that_writes_elsewhere_reaches_nothing(prove: Prove, tmp_path: Path) -> None:
    """Nothing of this machine changes, and what fails alike on both sides shows nothing."""
    own = tmp_path / "mine"
    own.mkdir(mode=0o777)
    own.chmod(0o777)
    proof = await prove(
        f"""
        import pathlib
        import shop


        def test_it():
            for place in ("{own}", "/usr", "/etc"):
                pathlib.Path(place, "written-by-a-test").write_text("here")
        """
    )
    assert proof.outcome is ProofOutcome.open
    assert list(own.iterdir()) == []
    assert not Path("/usr/written-by-a-test").exists()
    assert not Path("/etc/written-by-a-test").exists()


async def test_settings_of_the_change_let_nothing_pass(prove: Prove) -> None:
    """A hook that calls every test passed would take the finding away."""
    hook = dedent(
        """
        import pytest


        @pytest.hookimpl(wrapper=True)
        def pytest_pyfunc_call(pyfuncitem):
            try:
                yield
            except Exception:
                pass
            return True
        """
    )
    proof = await prove(SHOWS, after={"shop.py": BROKEN, "tests/conftest.py": hook})
    assert (proof.outcome, proof.why) == (ProofOutcome.open, texts.ONLY_WITH_ITS_SETTINGS)


async def test_what_it_prints_is_redacted(prove: Prove) -> None:
    token = "ghp_" + "a1B2" * 9
    proof = await prove(
        f"import shop\n\n\ndef test_it():\n    assert shop.total([1, 2]) == 3, '{token[:10]}' '{token[10:]}'\n"
    )
    assert proof.outcome is ProofOutcome.shown
    assert token not in (proof.reproduction.output if proof.reproduction else token)


UNITTEST = {
    "shop.py": CODE,
    "test_shop.py": "import unittest\n\nimport shop\n\n\nclass Tests(unittest.TestCase):\n    def test_total(self):\n"
    "        self.assertEqual(shop.total([1, 2]), 3)\n",
}


async def test_with_unittest(prove: Prove) -> None:
    text = UNITTEST["test_shop.py"].replace("test_total", "test_it")
    proof = await prove(text, before=UNITTEST)
    assert proof.outcome is ProofOutcome.shown
    assert proof.reproduction is not None
    assert proof.reproduction.command == "python3 -m unittest test_forge_0a1b2c3d.py"


NODE = {
    "package.json": '{"name": "shop", "scripts": {"test": "node --test"}}\n',
    "shop.js": "exports.total = (prices) => {\n  return prices.reduce((sum, price) => sum + price, 0);\n};\n",
    "test/shop.test.js": "const test = require('node:test');\nconst assert = require('node:assert');\n"
    "const shop = require('../shop');\n\ntest('total', () => assert.equal(shop.total([1, 2]), 3));\n",
}


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        (NODE["test/shop.test.js"], ProofOutcome.shown),
        (NODE["test/shop.test.js"].replace("[1, 2]), 3", "[0, 2]), 2"), ProofOutcome.refuted),
        (NODE["test/shop.test.js"].replace("'../shop'", "'../shopp'"), ProofOutcome.open),
        (NODE["test/shop.test.js"].replace("shop.total", "shop.sumUp"), ProofOutcome.open),
    ],
)
async def test_with_node(prove: Prove, text: str, outcome: ProofOutcome) -> None:
    broken = NODE["shop.js"].replace("prices.reduce", "prices.slice(1).reduce")
    proof = await prove(text, before=NODE, after={"shop.js": broken}, about="shop.js")
    assert proof.outcome is outcome


@pytest.mark.parametrize("look", ["process.env.NODE_ENV === 'test'", "require.main.path", "globalThis.it"])
async def test_node_code_that_looks_at_what_runs_it_is_not_cleared_by_passing(prove: Prove, look: str) -> None:
    knowing = NODE["shop.js"].replace("prices.reduce", f"(({look}), prices).reduce")
    proof = await prove(NODE["test/shop.test.js"], before=NODE, after={"shop.js": knowing}, about="shop.js")
    assert (proof.outcome, proof.why) == (ProofOutcome.open, texts.explain_look("shop.js:2"))


@dataclass(frozen=True)
class Packaged:
    """A repository whose tests a package of Node runs, and what one more test is called there.

    :param example: the path of its test.
    :param own: the path of a reproduction.
    """

    files: Mapping[str, str]
    about: str
    example: str
    own: str
    command: str


def _package(runner: str, kind: str) -> str:
    return f'{{"name": "shop", "type": "{kind}", "scripts": {{"test": "{runner}"}}}}\n'


PACKAGED = {
    "jest": Packaged(
        {
            "package.json": _package("jest", "commonjs"),
            "src/shop.js": NODE["shop.js"],
            "src/shop.test.js": "const shop = require('./shop');\n\n"
            "test('total', () => {\n  expect(shop.total([1, 2])).toBe(3);\n});\n",
        },
        "src/shop.js",
        "src/shop.test.js",
        "src/forge_0a1b2c3d.test.js",
        "npx jest src/forge_0a1b2c3d.test.js",
    ),
    "vitest": Packaged(
        {
            "package.json": _package("vitest", "module"),
            "src/shop.ts": "export const total = (prices: number[]): number => {\n"
            "  return prices.reduce((sum, price) => sum + price, 0);\n};\n",
            "src/shop.spec.ts": "import { expect, test } from 'vitest';\nimport * as shop from './shop';\n\n"
            "test('total', () => {\n  expect(shop.total([1, 2])).toBe(3);\n});\n",
        },
        "src/shop.ts",
        "src/shop.spec.ts",
        "src/forge_0a1b2c3d.spec.ts",
        "npx vitest run src/forge_0a1b2c3d.spec.ts",
    ),
    "mocha": Packaged(
        {
            "package.json": _package("mocha", "commonjs"),
            "shop.js": NODE["shop.js"],
            "test/shop.js": "const assert = require('assert');\nconst shop = require('../shop');\n\n"
            "it('totals', () => {\n  assert.equal(shop.total([1, 2]), 3);\n});\n",
        },
        "shop.js",
        "test/shop.js",
        "test/test_forge_0a1b2c3d.js",
        "npx mocha test/test_forge_0a1b2c3d.js",
    ),
}
_ENDS = {
    ("", ""): ProofOutcome.shown,
    ("[1, 2]", "[0, 3]"): ProofOutcome.refuted,
    ("/shop'", "/shopp'"): ProofOutcome.open,  # cannot be loaded
    ("shop.total", "shop.sumUp"): ProofOutcome.open,  # its own fault
    ("[1, 2]", "[Math.random(), 2]"): ProofOutcome.open,  # fails without the change, too
}


@pytest.mark.parametrize(("change", "outcome"), _ENDS.items(), ids=str)
@pytest.mark.parametrize("runner", PACKAGED)
async def test_with_packages_of_node(prove: Prove, runner: str, change: tuple[str, str], outcome: ProofOutcome) -> None:
    if not has_program(runner):
        pytest.skip(f"no {runner} here")
    given = PACKAGED[runner]
    broken = given.files[given.about].replace("prices.reduce", "prices.slice(1).reduce")
    text = given.files[given.example].replace(*change)
    where = {"before": given.files, "after": {given.about: broken}, "about": given.about}
    proof = await prove(text, **where, setup=f"ln -s {MODULES} node_modules", seconds=240)
    assert proof.outcome is outcome, proof
    if outcome is ProofOutcome.shown:
        assert proof.reproduction is not None
        assert (proof.reproduction.path, proof.reproduction.command) == (given.own, given.command)
        assert "3" in proof.reproduction.output
        assert proof.reproduction.before == "passes"


@pytest.mark.skipif(not has_program("node"), reason="no node here")
async def test_it_runs_in_the_part_of_the_repository_that_a_claim_is_about(prove: Prove) -> None:
    """JavaScript in a folder of a repository of Python: its own manifest says what runs it, and there."""
    code = "export const total = (prices) => prices.reduce((sum, each) => sum + each, 0);\n"
    test = "import {test} from 'node:test';\nimport assert from 'node:assert';\nimport {total} from '../src/cart.js';\n"
    files = {
        "tests/test_shop.py": SHOWS,
        "web/package.json": '{"type": "module", "scripts": {"test": "node --test"}}',
        "web/src/cart.js": code,
        "web/test/cart.test.js": test + "test('none', () => assert.equal(total([]), 0));\n",
    }
    proof = await prove(
        test + "test('all', () => assert.equal(total([1, 2]), 3));\n",
        before=files,
        after={"web/src/cart.js": code.replace("sum + each", "each")},
        about="web/src/cart.js",
    )
    assert proof.outcome is ProofOutcome.shown, proof.why
    assert proof.reproduction is not None
    assert proof.reproduction.path == "web/test/forge_0a1b2c3d.test.js"
    assert proof.reproduction.command == "cd web && node --test test/forge_0a1b2c3d.test.js"
