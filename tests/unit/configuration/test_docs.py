"""The pages that are generated from the models are up to date, and the schema agrees with the models."""

import re
from pathlib import Path

import pytest

from bot import reference
from bot.reference import PAGES
from domain.config import configuration

DOCS = Path(__file__).parents[3] / "docs"


def test_pages_are_up_to_date() -> None:
    """Run ``make docs`` if this fails."""
    assert (DOCS / "configuration.md").read_text(encoding="utf-8") == reference.render_configuration()
    assert (DOCS / "forge.schema.json").read_text(encoding="utf-8") == reference.json_schema()
    assert (DOCS / "protected.md").read_text(encoding="utf-8") == reference.render_protected()
    gates = (DOCS / "gates.md").read_text(encoding="utf-8")
    assert gates == reference.put_names(gates)
    assert (DOCS / "commands.md").read_text(encoding="utf-8") == reference.render_commands()


@pytest.mark.parametrize(
    ("place", "page"),
    [
        (("review", "linters", 0), PAGES["linters"]),
        (("gates", "any_name"), PAGES["gates"]),
        (("notify", 0), PAGES["notify"]),
        (("deploy", "environments", "staging"), PAGES["environments"]),
        (("deploy", "environments", "staging", "strategy"), PAGES["environments"]),
        (("deploy", "environments", "staging", "verify"), PAGES["environments"]),
        (("deploy", "environments", "staging", "verify", "health", 0), PAGES["environments"]),
        (("deploy", "environments", "staging", "verify", "latency"), PAGES["environments"]),
    ],
)
def test_what_an_entry_holds_is_on_the_page_that_is_named(place: tuple[str | int, ...], page: str) -> None:
    text = (DOCS / page).read_text(encoding="utf-8")
    assert [key for key in configuration.list_keys(place) if not re.search(rf"\b{key}\b[`:]", text)] == []


def test_the_schema_knows_places() -> None:
    assert configuration.list_keys(["review", "linters", 0]) == ["name", "run", "paths", "files"]
    assert configuration.list_keys(["gates", "any_name"])[:2] == ["phase", "when"]
    assert configuration.find_node(["review", "nothing"]) is None
    assert configuration.find_node(["preset", "deeper"]) is None
