"""What a model is shown of files that a change leaves alone."""

import pytest

from agents.review.model.related import render_related
from agents.review.model.rendering import WITHHELD
from tests.unit.model_review.trees import describe, find, tell

TILL = "def total(cart):\n    return cart.sum\n"
CHANGED = describe("till.py", TILL, TILL.replace("cart)", "cart, rate)"))
SAME_HEAD = describe("till.py", TILL, TILL.replace("sum", "sum + 1"))
CALLER = "from till import total\n\n\ndef checkout(cart):\n    assert cart\n    return total(cart, 2) + 1\n"


def call(number: int) -> str:
    return f"from till import total\n\n\ndef pay(cart):\n    return total(cart, {number})\n"


def test_a_caller_is_shown_with_the_function_around_it() -> None:
    (found,) = find([CHANGED], {"shop.py": CALLER})
    assert (found.of, found.path, found.why, found.start) == ("till.py", "shop.py", "calls total, which changed", 4)
    assert found.lines == ("def checkout(cart):", "    assert cart", "    return total(cart, 2) + 1")


def test_of_a_long_function_a_few_lines_around_the_call_are_shown() -> None:
    long = CALLER.replace("    assert cart\n", "    assert cart\n" * 20)
    (found,) = find([CHANGED], {"shop.py": long})
    assert found.lines == ("    assert cart",) * 3 + ("    return total(cart, 2) + 1",)


def test_callers_come_first_then_what_is_called_and_tests_last() -> None:
    head = "from rates import find_rate\n\n\ndef total(cart, rate):\n    return cart.sum * find_rate(rate)\n"
    rates = "def find_rate(rate):\n    known = {1: 2}\n    return known[rate]\n"
    files = {"tests/test_till.py": CALLER, "rates.py": rates, "shop.py": CALLER.replace("2) + 1", "3)")}
    assert [each.why for each in find([describe("till.py", TILL, head)], files)] == [
        "calls total, which changed",
        "defines find_rate, which line 5 calls",
        "tests with total, which changed",
    ]


def test_a_definition_ends_where_it_ends() -> None:
    called = "def find_rate(rate):\n    known = {1: 2}\n    return known[rate]\n\n\ndef other():\n    pass\n"
    head = "from rates import find_rate\n\n\ndef total(cart):\n    return find_rate(cart)\n"
    found = next(each for each in find([describe("till.py", TILL, head)], {"rates.py": called}))
    assert found.lines == tuple(called.split("\n")[:3])


def test_one_of_many_callers_says_nothing_where_the_head_stays() -> None:
    files = {f"a{number}.py": call(number) for number in range(9)}
    assert find([SAME_HEAD], files) == ()
    assert len(find([SAME_HEAD], dict(list(files.items())[:2]))) == 2
    assert len(find([CHANGED], files)) == 3


def test_callers_that_write_the_same_are_shown_once() -> None:
    assert len(find([CHANGED], {f"a{number}.py": CALLER for number in range(3)})) == 1


def test_a_change_of_texts_comments_and_layout_concerns_nobody() -> None:
    base = "def total(cart):\n    # sum\n    return cart.get('sum')\n"
    quiet = describe("till.py", base, "def total(cart):\n    # all\n    return  cart.get('total')\n")
    assert find([quiet], {"shop.py": CALLER}) == ()


def test_settings_and_texts_are_not_matched_by_words() -> None:
    files = {"a.yml": "total: 1\n", "a.json": '{"total": 1}', "README.md": "`total(cart)`", "b.py": "x = 'total(1)'\n"}
    assert find([CHANGED], files) == ()


def test_there_is_no_more_than_there_is_room_for() -> None:
    assert find([CHANGED], {"shop.py": CALLER}, most=20) == ()
    assert find([], {"shop.py": CALLER}) == ()


def test_credentials_and_hidden_characters_are_not_shown() -> None:
    body = f"MIIplanted{'A' * 54}\n" * 9
    key = f'KEY = """\n-----BEGIN RSA PRIVATE KEY-----\n{body}-----END RSA PRIVATE KEY-----\n"""\n'
    caller = f"from till import total\n{key}x = total(1)  # \u202e\n"
    (shown,) = render_related(find([CHANGED], {"a.py": caller}))
    assert "planted" not in shown
    assert "\u202e" not in shown
    assert WITHHELD in shown
    assert shown.startswith("== a.py (unchanged, calls total, which changed)\n")


def test_hostile_files_cost_nothing_but_themselves() -> None:
    deep = "from till import total\nx = " + "(\n" * 20_000 + "total(1)" + ")" * 20_000 + "\n"
    wide = "from till import total\n" + "x" * 3_000 + " = total(1)\n"
    chain = "from till import total\ny = total(1)" + ".a()" * 400 + "\n"
    many = "from till import total\n" + "total(1)\n" * 20_000
    files = {"deep.py": deep, "wide.py": wide, "broken.py": "total(((" * 200, "chain.py": chain, "shop.py": CALLER}
    assert "shop.py: calls total, which changed" in tell([CHANGED], files)
    assert {each.path for each in find([CHANGED], {"many.py": many})} == {"many.py"}


def test_classes_that_take_each_other_in_are_followed_to_an_end() -> None:
    base = "from b import B\n\n\nclass A(B):\n    def total(self):\n        return 1\n"
    other = "from a import A\n\n\nclass B(A):\n    def pay(self):\n        return self.total()\n"
    change = describe("a.py", base, base.replace("(self)", "(self, cart)"))
    assert tell([change], {"b.py": other}) == {"b.py: calls A.total, which changed"}


def test_a_function_of_a_file_overrides_no_method() -> None:
    base = "class Store:\n    def load_all(self):\n        return 1\n"
    other = "from a import Store\n\n\ndef load_all():\n    return [Store()]\n"
    change = describe("a.py", base, base.replace("(self)", "(self, cart)"))
    assert not [each for each in tell([change], {"b.py": other}) if "overrides" in each or "builds on" in each]


@pytest.mark.parametrize("taken", ["from .plots import *", "from .plots import draw_violins"])
def test_a_package_that_passes_all_on_leads_to_what_is_called(taken: str) -> None:
    before = "import pkg as p\n\n\ndef show():\n    return 1\n"
    change = describe("shop.py", before, before.replace("return 1", "return p.draw_violins(1)"))
    files = {
        "pkg/__init__.py": f"{taken}\n",
        "pkg/plots.py": "def draw_violins(x):\n" + "    x += 1\n" * 6 + "    return x\n",
    }
    assert [each for each in tell([change], files) if each.startswith("pkg/plots.py")]
    del files["pkg/__init__.py"]
    assert tell([change], files) == set()
