"""How the demo's project reaches staging, a change that does well there, and one that does not."""

ENVIRONMENT = "staging"
WORKFLOW = "deploy.yml"

_DEPLOY = """\
name: deploy
run-name: Deploy ${{ inputs.deployment }}
on:
  workflow_dispatch:
    inputs:
      environment: {required: true}
      ref: {required: true}
      percentage: {required: true}
      deployment: {required: true}
permissions: {}
jobs:
  deploy:
    runs-on: ubuntu-latest
    steps:
      - run: echo "the simulated GitHub deploys to the toy service of the demo"
"""
_STEPS = "[5, 25, 100]"
MESSAGE = "Deploy to staging step by step"


def configure(url: str) -> dict[str, str]:
    """The files that let Forge deploy, by path. A team would watch for minutes; here each step gets two seconds.

    :param url: of the service.
    """
    settings = f"""\
deploy:
  environments:
    {ENVIRONMENT}:
      trigger: merge
      workflow: {WORKFLOW}
      strategy: {{low: {_STEPS}, medium: {_STEPS}, high: {_STEPS}}}
      verify:
        health: [{{url: "{url}/health"}}]
        error_rate: {{url: "{url}/figures", path: errors, degraded: 0.02, unhealthy: 0.05}}
        latency: {{url: "{url}/figures", path: milliseconds}}
        interval: 1
        window: 2
        bake: 2
        patience: 2
"""
    return {".github/forge.yml": settings, f".github/workflows/{WORKFLOW}": _DEPLOY}


GOOD_TITLE = "Round prices to whole cents"
GOOD_BODY = "Labels are printed with whole cents, so a price is rounded before it gets there."
GOOD_PUSH = {
    "rates/rounding.py": '''\
"""Rounds prices as labels show them."""

from decimal import ROUND_HALF_UP, Decimal

_CENT = Decimal("0.01")


def to_cents(price: Decimal) -> Decimal:
    """The price in whole cents."""
    return price.quantize(_CENT, ROUND_HALF_UP)
''',
    "tests/test_rounding.py": """\
from decimal import Decimal
from unittest import TestCase

from rates.rounding import to_cents


class Rounding(TestCase):
    def test_half_a_cent_is_rounded_up(self):
        self.assertEqual(to_cents(Decimal("1.995")), Decimal("2.00"))
""",
}

BAD_TITLE = "Quote with the carriers' discounts"
BAD_BODY = "The two carriers of the sample table grant us discounts; quotes show them from now on."
BAD_FILE = "rates/discounts.py"
BAD_FAILING = 0.3
"""The share of the quotes that fail in staging: there are more carriers than the two of the sample table."""
_DISCOUNTS = '''\
"""The discounts that carriers grant us."""

from decimal import Decimal

from rates.tariffs import Tariff

_DISCOUNTS = {"Letterbox": Decimal("0.05"), "Bulky": Decimal("0.10")}


def reduce_price(tariff: Tariff) -> Decimal:
    """The price of a tariff with its carrier's discount."""
    return tariff.price * (1 - _DISCOUNTS[tariff.carrier])
'''


def build_bad_push(quote: str, tests: str) -> dict[str, str]:
    """The change that passes its tests and fails in staging, by path.

    :param quote: ``rates/quote.py`` as it is.
    :param tests: its tests.
    """
    imported = "from rates.tariffs import Tariff\n"
    return {
        BAD_FILE: _DISCOUNTS,
        "rates/quote.py": quote.replace(imported, f"from rates.discounts import reduce_price\n{imported}").replace(
            "        tariff.price\n", "        reduce_price(tariff)\n"
        ),
        "tests/test_quote.py": tests.replace('Decimal("2.10"))\n\n', 'Decimal("1.995"))\n\n'),
    }
