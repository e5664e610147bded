"""A repository whose tests measure what they run, and reports of that as a repository's command writes them."""

from collections.abc import Iterable, Mapping

from tests.world.issues import PROJECT, SHOP

RATES = "".join(f"    if country == 'C{number}':\n        return {number}\n" for number in range(1, 7))
MEASURED = {
    **SHOP,
    "pyproject.toml": f'{PROJECT}\n[dependency-groups]\ntest = ["pytest", "coverage"]\n',
    "shop/rates.py": f"def rate(country):\n{RATES}    return 0\n",
    "tests/test_rates.py": (
        "from shop.rates import rate\n\n\ndef test_rates():\n"
        "    assert [rate(f'C{number}') for number in range(8)] == [0, 1, 2, 3, 4, 5, 6, 0]\n"
    ),
}
"""A shop that is covered by its tests, as coverage.py measures them."""
FAKED = {
    "tests/fake.py": "RATES = [0, 1, 2, 3, 4, 5, 6, 0]\n\n\ndef rate(country):\n    return RATES[int(country[1:])]\n",
    "tests/test_rates.py": MEASURED["tests/test_rates.py"].replace("from shop.rates", "from tests.fake"),
}
"""The test of the rates as it was, but for what it runs."""


def _change_import(before: str, after: str) -> str:
    return (
        "--- a/tests/test_rates.py\n+++ b/tests/test_rates.py\n@@ -1,4 +1,4 @@\n"
        f"-from {before} import rate\n+from {after} import rate\n\n\n def test_rates():\n"
    )


_FAKE = "--- /dev/null\n+++ b/tests/fake.py\n@@ -0,0 +1,5 @@\n" + "".join(
    f"+{line}\n" for line in FAKED["tests/fake.py"].splitlines()
)
LOSING = (_change_import("shop.rates", "tests.fake"), _FAKE)
"""Diffs of the same: the test of the rates runs something else."""
RESTORES = _change_import("tests.fake", "shop.rates")
"""Takes it back."""


def write_report(covered: Iterable[int], missed: Iterable[int] = (), path: str = "shop/cart.py") -> str:
    """A report about one file."""
    rows = "".join(f'<line number="{line}" hits="1"/>' for line in covered)
    rows += "".join(f'<line number="{line}" hits="0"/>' for line in missed)
    return wrap_report(f'<class filename="{path}"><lines>{rows}</lines></class>')


def wrap_report(classes: str) -> str:
    return f"<coverage><packages><package><classes>{classes}</classes></package></packages></coverage>\n"


def build_reported(report: str | None, settings: str = "") -> Mapping[str, str]:
    """A repository whose tests leave a report that lies in it.

    :param report: None: they leave none.
    """
    code = "".join(f"a{line} = {line}\n" for line in range(1, 41))
    return {
        **SHOP,
        ".github/forge.yml": f"commands: {{test: sh test.sh}}\n{settings}",
        "shop/cart.py": code,
        "test.sh": 'if [ -f report.xml ]; then cp report.xml "$FORGE_RESULTS/coverage.xml"; fi\n',
        **({} if report is None else {"report.xml": report}),
    }
