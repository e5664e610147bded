"""Pull requests of two invented repositories with what their maintainers think of each finding: the labels.

Each repository has a folder in which a rule is wrong as a matter of style, as maintainers know them: modules that
import names for others to import, and notebooks exported as scripts, whose bare comparisons show a value. Everywhere
else the same rules are right, and so is every other rule.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

Label = tuple[str, str]
"""A rule and the path it is about."""


@dataclass(frozen=True)
class Change:
    """One pull request.

    :param files: path → content at its head.
    :param right: what maintainers want to be told; all else that is raised is a false positive, and is dismissed.
    """

    files: Mapping[str, str]
    right: frozenset[Label] = frozenset()


def _exports(module: str, *names: str) -> str:
    """A module that imports names for others."""
    return "".join(f"from {module} import {name}\n" for name in names)


def _cells(*expressions: str) -> str:
    """A notebook as a script: each expression shows its value."""
    return "VALUES = [1, 2, 3]\n" + "".join(f"{each}\n" for each in expressions)


_TYPO = "def total(prices):\n    return sum(prices) + shiping\n"
_UNUSED = "import os\n\n\ndef name():\n    return 'shop'\n"
_LOST = "def discount(price):\n    price == 0\n    return price\n"
_SHARED = "def add(item, basket=[]):\n    basket.append(item)\n    return basket\n"

SHOP: Sequence[Change] = (
    Change({"compat/v1.py": _exports("shop.money", "Money", "Currency")}),
    Change({"shop/total.py": _TYPO}, frozenset({("ruff/F821", "shop/total.py")})),
    Change({"compat/v2.py": _exports("shop.order", "Order", "Line")}),
    Change({"shop/name.py": _UNUSED}, frozenset({("ruff/F401", "shop/name.py")})),
    Change({"compat/v3.py": _exports("shop.stock", "Stock", "Shelf", "Place")}),
    Change(
        {"compat/v4.py": _exports("shop.tax", "Rate"), "shop/basket.py": _SHARED},
        frozenset({("ruff/B006", "shop/basket.py")}),
    ),
    Change({"compat/v5.py": _exports("shop.mail", "Mail", "Letter")}),
    Change({"shop/label.py": _UNUSED.replace("name", "label")}, frozenset({("ruff/F401", "shop/label.py")})),
)

STATISTICS: Sequence[Change] = (
    Change({"notebooks/sales.py": _cells("VALUES == [1]", "VALUES[0] == 1")}),
    Change({"src/discount.py": _LOST}, frozenset({("ruff/B015", "src/discount.py")})),
    Change({"notebooks/returns.py": _cells("len(VALUES) == 3")}),
    Change({"notebooks/stock.py": _cells("VALUES == []", "VALUES[2] == 3")}),
    Change({"src/total.py": _TYPO}, frozenset({("ruff/F821", "src/total.py")})),
    Change({"notebooks/visits.py": _cells("VALUES[0] > 1", "VALUES[1] > 1")}),
    Change(
        {"notebooks/mails.py": _cells("VALUES[2] > 1"), "src/rebate.py": _LOST.replace("discount", "rebate")},
        frozenset({("ruff/B015", "src/rebate.py")}),
    ),
    Change({"notebooks/prices.py": _cells("VALUES[0] < 1", "VALUES[1] < 1")}),
)

SEQUENCES: Mapping[str, Sequence[Change]] = {"octo-org/shop": SHOP, "octo-org/statistics": STATISTICS}
