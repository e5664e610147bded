"""How the demo's project reaches staging: its service, a change that does well there, and one that does not."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from aiohttp import web

_USUAL_ERRORS = 0.002


@dataclass(eq=False)
class ToyService:
    """What runs in staging.

    :ivar shares: percent of the traffic by version.
    :ivar failing: the share of a version's requests that fail, from 0 to 1, if it is more than usual.
    :ivar url: where it answers.
    """

    shares: dict[str, float] = field(default_factory=dict[str, float])
    failing: dict[str, float] = field(default_factory=dict[str, float])
    url: str = ""

    def deploy(self, version: str, percentage: int, failing: float) -> None:
        """Give a version its share of the traffic; the others keep their parts of what is left."""
        others = {each: share for each, share in self.shares.items() if each != version and share}
        left = (100 - percentage) / (sum(others.values()) or 1)
        self.shares = {version: percentage, **{each: share * left for each, share in others.items()}}
        self.failing[version] = failing

    @property
    def error_rate(self) -> float:
        """The share of all requests that fail."""
        total = sum(self.shares.values())
        failed = sum(share * max(self.failing[each], _USUAL_ERRORS) for each, share in self.shares.items())
        return failed / total if total else _USUAL_ERRORS

    async def answer_health(self, _: web.Request) -> web.Response:
        return web.Response(text="ready")

    async def answer_figures(self, _: web.Request) -> web.Response:
        return web.json_response({"errors": round(self.error_rate, 4), "milliseconds": 38})


@asynccontextmanager
async def run_service() -> AsyncGenerator[ToyService]:
    """The service, on loopback."""
    service, app = ToyService(), web.Application()
    app.router.add_get("/health", service.answer_health)
    app.router.add_get("/figures", service.answer_figures)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        service.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        yield service
    finally:
        await runner.cleanup()


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
