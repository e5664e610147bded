"""Hooks by which all tests get something else in place of the program, and those that fake the world around it."""

import pytest

from agents.review.avoidance.repository_context import RepositoryContext
from domain.review.avoidance import Avoidance, AvoidanceKind
from tests.unit.avoidance.samples import compare, list_kinds

PROJECT = RepositoryContext(packages=frozenset({"shop", "tests"}), is_known=True)
PYTHON = """\
import pytest
import requests

import shop.cart
from shop import cart, settings
from shop.cart import Cart


"""
FIXTURE = "@pytest.fixture(autouse=True)\ndef steady(monkeypatch):\n    "
ON_DEMAND = "@pytest.fixture\ndef broken(monkeypatch):\n    "
REPLACED = [
    ("tests/conftest.py", f'{PYTHON}{FIXTURE}monkeypatch.setattr(Cart, "total", steady_total)\n'),
    ("tests/conftest.py", f'{PYTHON}{FIXTURE}monkeypatch.setattr(cart.Cart, "total", steady_total)\n'),
    ("tests/conftest.py", f'{PYTHON}{FIXTURE}monkeypatch.setattr("shop.cart.Cart.total", steady_total)\n'),
    ("tests/conftest.py", f"{PYTHON}{FIXTURE}shop.cart.Cart.total = steady_total\n"),
    ("tests/conftest.py", f"{PYTHON}Cart.total = steady_total\n"),
    ("conftest.py", f'{PYTHON}def pytest_configure(config):\n    patch.object(Cart, "total", steady_total).start()\n'),
    ("tests/test_cart.py", f'{PYTHON}def setUpModule():\n    patch("shop.cart.Cart.total", steady_total).start()\n'),
    ("shop/tests/conftest.py", f'from .. import cart\n\n\n{FIXTURE}monkeypatch.setattr(cart, "total", steady)\n'),
    ("jest.setup.js", 'jest.mock("./src/cart", () => ({ total: () => 3 }));\n'),
    (
        "test/setup.js",
        'const { Cart } = require("../src/cart");\n\nCart.prototype.total = function () {\n  return 3;\n};\n',
    ),
    ("test/setup.ts", 'import * as cart from "../src/cart";\n\nvi.spyOn(cart, "total").mockImplementation(steady);\n'),
    (
        "spec/spec_helper.rb",
        "RSpec.configure do |config|\n  config.before { allow(Shop::Cart).to receive(:total).and_return(3) }\nend\n",
    ),
    ("test/test_helper.rb", "Shop::Cart.define_method(:total) { 3 }\n"),
]


def find(path: str, after: str, before: str = "", around: RepositoryContext = PROJECT) -> tuple[Avoidance, ...]:
    return compare({path: before} if before else {}, {path: after}, around=around)


@pytest.mark.parametrize(("path", "after"), REPLACED)
def test_a_hook_that_replaces_the_program_is_named(path: str, after: str) -> None:
    assert list_kinds(find(path, after)) == {AvoidanceKind.test_removed}
    assert find(path, after, after + "\n") == ()


@pytest.mark.parametrize(
    ("path", "after"),
    [
        ("tests/conftest.py", f'{PYTHON}{FIXTURE}monkeypatch.setattr("time.time", lambda: 0)\n'),
        ("tests/conftest.py", f'{PYTHON}{FIXTURE}monkeypatch.setattr(requests, "get", refuse)\n'),
        ("tests/conftest.py", f'{PYTHON}{FIXTURE}monkeypatch.setattr(cart, "now", lambda: NOON)\n'),
        ("tests/conftest.py", f'{PYTHON}{FIXTURE}monkeypatch.setattr("shop.cart.requests.get", refuse)\n'),
        ("tests/conftest.py", f'{PYTHON}{FIXTURE}monkeypatch.setattr("shop.mail.deliver", collect)\n'),
        ("tests/conftest.py", f'{PYTHON}{FIXTURE}monkeypatch.setattr("shop.users.hash_password", fast)\n'),
        ("tests/conftest.py", f'{PYTHON}{FIXTURE}monkeypatch.setattr(settings, "currency", chosen)\n'),
        ("tests/conftest.py", f'{PYTHON}{FIXTURE}monkeypatch.setattr(cart, "RATES", rates)\n'),
        ("tests/conftest.py", f'{PYTHON}{FIXTURE}monkeypatch.setattr(cart, "rates", {{"EUR": 1}})\n'),
        ("tests/conftest.py", f'{PYTHON}{FIXTURE}monkeypatch.setenv("SHOP", "1")\n'),
        ("tests/conftest.py", f'{PYTHON}{ON_DEMAND}monkeypatch.setattr(Cart, "total", f)\n'),
        ("tests/conftest.py", f"{FIXTURE}app.dependency_overrides[get_session] = fake_session\n"),
        ("tests/conftest.py", f'from tests.fakes import Fake\n\n\n{FIXTURE}monkeypatch.setattr(Fake, "total", f)\n'),
        ("tests/conftest.py", f'import pandas\n\n\n{FIXTURE}monkeypatch.setattr(pandas, "concat", strict_concat)\n'),
        ("jest.setup.js", 'jest.mock("./src/api", () => ({ fetchRates: () => [] }));\njest.mock("axios");\n'),
        (
            "test/setup.js",
            'import { rates } from "../src/rates";\n\nrates.base = "EUR";\nrates.digits = 2;\nrates.old = null;\n',
        ),
        ("jest.setup.js", "global.fetch = jest.fn();\nwindow.matchMedia = () => ({ matches: false });\n"),
        ("spec/rails_helper.rb", "RSpec.configure { |c| c.before { allow(Time).to receive(:now) } }\n"),
        ("spec/rails_helper.rb", "RSpec.configure { |c| c.before { allow(Stripe).to receive(:charge) } }\n"),
    ],
)
def test_a_hook_that_fakes_the_world_is_left_alone(path: str, after: str) -> None:
    assert find(path, after) == ()


def test_what_is_new_may_be_replaced_from_the_start() -> None:
    conftest = f'{PYTHON}{FIXTURE}monkeypatch.setattr("shop.cart.explain", str)\n'
    added = {"shop/cart.py": "def explain(cart):\n    return str(cart.items)\n", "tests/conftest.py": conftest}
    assert compare({"shop/cart.py": "X = 1\n"}, added, around=PROJECT) == ()


def test_of_an_unknown_project_it_is_doubtful() -> None:
    path, after = REPLACED[0]
    assert [each.confidence for each in find(path, after, around=RepositoryContext())] == [0.6]
