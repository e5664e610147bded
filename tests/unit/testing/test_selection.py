"""Which tests small, realistic repositories have run for a change."""

import time

import pytest

from agents.testing.test_selection import Selection, select
from domain.review.review import RiskLevel

SOURCES = {
    "conftest.py": "",
    "src/shop/__init__.py": "",
    "src/shop/cart.py": "from . import money\nfrom .deep.rates import rate\n",
    "src/shop/money.py": "import decimal\n",
    "src/shop/deep/__init__.py": "",
    "src/shop/deep/rates.py": "def rate():\n    from ...shop import unknown\n    from .. import late\n",
    "src/shop/late.py": "",
    "src/shop/alone.py": "",
    "src/shop/patched.py": "",
    "src/mail/__init__.py": "",
    "src/mail/send.py": "",
    "tests/unit/conftest.py": "from tests import helpers\n",
    "tests/helpers.py": "",
    "tests/unit/test_cart.py": "from shop.cart import Cart\n",
    "tests/unit/test_money.py": "import shop.money as m\n",
    "tests/unit/test_mail.py": "def test():\n    with x:\n        if y:\n            import mail.send\n",
    "tests/unit/test_patched.py": "mock.patch('shop.patched.thing')\n",
    "tests/unit/test_broken.py": "from shop.money import (\n  a, b)\ndef (:\n",
    "tests/integration/test_shop.py": "import shop\n",
    "tests/integration/test_mail_flow.py": "from mail import send\n",
    "tests/e2e/test_pages.py": "import shop.alone\n",
}
OTHERS = [
    "README.md",
    "pyproject.toml",
    "web/sum.ts",
    "web/sum.test.ts",
    "web/other.test.ts",
    "go/a.go",
    "go/b_test.go",
]
PATHS = [*SOURCES, *OTHERS, "go/deep/c_test.go", "templates/page.html"]
CART, MONEY, MAIL = "tests/unit/test_cart.py", "tests/unit/test_money.py", "tests/unit/test_mail.py"
BROKEN = "tests/unit/test_broken.py"  # its imports cannot be told


def select_tests(*changed: str, level: RiskLevel = RiskLevel.low) -> Selection:
    return select(PATHS, SOURCES, changed, level)


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ("src/shop/money.py", {CART, MONEY, BROKEN}),
        ("src/shop/cart.py", {CART, BROKEN}),
        ("src/shop/late.py", {CART, BROKEN}),  # a relative import within a function, two steps away
        ("src/mail/send.py", {MAIL, BROKEN, "tests/integration/test_mail_flow.py"}),
        ("src/shop/patched.py", {"tests/unit/test_patched.py", BROKEN}),
        (CART, {CART, BROKEN}),
        ("tests/helpers.py", {CART, MONEY, MAIL, BROKEN, "tests/unit/test_patched.py"}),
        ("tests/unit/conftest.py", {CART, MONEY, MAIL, BROKEN, "tests/unit/test_patched.py"}),
        ("web/sum.ts", {"web/sum.test.ts"}),
        ("go/a.go", {"go/b_test.go"}),
        ("README.md", set[str]()),
        ("tests/unit/test_gone.py", set[str]()),
        ("web/gone.test.ts", set[str]()),
    ],
)
def test_low_risk_runs_what_the_change_concerns(changed: str, expected: set[str]) -> None:
    found = select_tests(changed)
    assert not found.runs_all
    assert set(found.tests) == expected


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        (["templates/page.html"], "it is not known"),
        (["tests/data.json"], "it is not known"),  # gone, and perhaps read by one of them
        (["tests/helpers/gone.py"], "it is not known"),
        (["web/__tests__/gone.js"], "it is not known"),
        (["go/deep/none/d.go"], "it is not known"),
        (["src/shop/money.py", "scripts/unknown.py"], "it is not known"),
        (["pyproject.toml"], "concerns all"),
        (["conftest.py"], "concerns all"),
        (["uv.lock"], "concerns all"),
        (["package.json"], "concerns all"),
        (["requirements/dev.txt"], "concerns all"),
        (["web/vitest.config.ts"], "concerns all"),
    ],
)
def test_all_are_run_where_choosing_could_lose_one(changed: list[str], why: str) -> None:
    found = select_tests(*changed)
    assert found.runs_all
    assert why in found.reason


@pytest.mark.parametrize("level", [RiskLevel.high, RiskLevel.critical])
def test_high_risk_runs_all(level: RiskLevel) -> None:
    assert select_tests("src/shop/money.py", level=level).runs_all


def test_medium_risk_runs_related_integration_tests_too() -> None:
    found = set(select_tests("src/shop/money.py", level=RiskLevel.medium).tests)
    assert found == {CART, MONEY, BROKEN, "tests/integration/test_shop.py", "tests/e2e/test_pages.py"}


def test_a_deleted_module_is_tested_by_what_still_imports_it() -> None:
    paths = [path for path in PATHS if path != "src/shop/money.py"]
    sources = {path: text for path, text in SOURCES.items() if path in paths}
    assert CART in select(paths, sources, ["src/shop/money.py"], RiskLevel.low).tests


@pytest.mark.parametrize(
    "text", ["(" * 50_000, "\0", "x = " + "-" * 100_000 + "1", "\ud800", "import " + "a." * 5_000 + "b"]
)
def test_sources_that_cannot_be_parsed_are_survived(text: str) -> None:
    sources = {"a.py": "", "test_a.py": "import a", "test_b.py": text}
    assert set(select(list(sources), sources, ["a.py"], RiskLevel.low).tests) >= {"test_a.py"}


@pytest.mark.deep
def test_five_thousand_files_take_seconds() -> None:
    body = "class A:\n    def run(self, x):\n        return [x + 1 for x in range(10)]\n" * 20
    sources = {f"p{n % 50}/m{n}.py": f"from p{(n + 1) % 50} import m{n + 1}\n{body}" for n in range(4_900)}
    sources |= {f"tests/test_{n}.py": f"import p{n % 50}.m{n}\n" for n in range(100)}
    started = time.monotonic()
    found = select(list(sources), sources, ["p20/m70.py"], RiskLevel.medium)
    assert set(found.tests) == {f"tests/test_{n}.py" for n in range(71)}
    assert time.monotonic() - started < 60
