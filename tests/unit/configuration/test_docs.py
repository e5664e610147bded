"""The pages that are generated from the models are up to date, and the schema agrees with the models."""

from pathlib import Path

from bot.reference import commands, protected
from bot.reference import pages as pages
from domain.config import schema
from domain.config.configuration import Configuration
from tests.unit.configuration.files import paths_of

DOCS = Path(__file__).parents[3] / "docs"


def test_pages_are_up_to_date() -> None:
    """Run ``make docs`` if this fails."""
    assert (DOCS / "configuration.md").read_text(encoding="utf-8") == pages.markdown()
    assert (DOCS / "forge.schema.json").read_text(encoding="utf-8") == pages.json_schema()
    assert (DOCS / "protected.md").read_text(encoding="utf-8") == protected.markdown()
    assert (DOCS / "commands.md").read_text(encoding="utf-8") == commands.markdown()


def test_every_section_has_a_heading_and_every_key_a_line() -> None:
    page = pages.markdown()
    for path in paths_of(Configuration().model_dump()):
        section, _, rest = path.partition(".")
        assert f"\n## `{section}`\n" in page
        assert f"| `{rest}" in page


def test_the_schema_knows_places() -> None:
    assert schema.list_keys(["review", "linters", 0]) == ["name", "run", "paths", "files"]
    assert schema.list_keys(["gates", "any_name"])[:2] == ["phase", "when"]
    assert schema.find_node(["review", "nothing"]) is None
    assert schema.find_node(["preset", "deeper"]) is None
