"""A shop whose tests show what a total is, and a change that breaks it and takes the test away."""

CODE = "def total(prices):\n    return sum(prices)\n\n\ndef tax(price):\n    return price // 5\n"
BROKEN = CODE.replace("sum(prices)", "sum(prices[1:])")
TEST = (
    "import shop\n\n\ndef test_total():\n    assert shop.total([1, 2]) == 3\n\n\n"
    "def test_empty():\n    assert shop.total([]) == 0\n"
)
WITHOUT = "import shop\n\n\ndef test_empty():\n    assert shop.total([]) == 0\n"
TAXED = "import shop\n\n\ndef test_tax():\n    assert shop.tax(10) == 2\n"
FILES = {
    "shop.py": CODE,
    "tests/test_shop.py": TEST,
    "tests/test_tax.py": TAXED,
    "pytest.ini": "[pytest]\npythonpath = .\n",
}
HIDES = {"shop.py": BROKEN, "tests/test_shop.py": WITHOUT}
NAME = "tests/test_shop.py::test_total"
