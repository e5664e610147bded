"""Where repositories keep their changelogs."""

import pytest

from agents.coding.changelogs import find_changelog

TOWNCRIER = {"pyproject.toml": '[tool.towncrier]\ndirectory = "docs/parts/"\n'}


@pytest.mark.parametrize(
    ("paths", "settings", "areas"),
    [
        (["CHANGELOG.md", "docs/changes.rst"], {}, ("CHANGELOG.md",)),
        (["docs/HISTORY.rst", "app.py"], {}, ("docs/HISTORY.rst",)),
        ([".changeset/config.json", ".changeset/odd-cats-run.md", "CHANGELOG.md"], {}, (".changeset/**",)),
        (["newsfragments/.gitkeep", "CHANGES.rst"], {}, ("newsfragments/**",)),
        (["changes/12.feature.rst", "changes/README.md", "CHANGES.rst"], {}, ("changes/**",)),
        (["NEWS.rst"], TOWNCRIER, ("docs/parts/**",)),
        (["news/models.py", "news/2024.md", "changelog.py"], {}, None),
        (["CHANGES.md"], {"pyproject.toml": "[tool.towncrier"}, ("CHANGES.md",)),
    ],
)
def test_a_changelog_is_found_by_what_is_there(
    paths: list[str], settings: dict[str, str], areas: tuple[str, ...] | None
) -> None:
    found = find_changelog(paths, settings)
    assert (None if found is None else found.areas) == areas
