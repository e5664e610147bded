"""What the written pages say of the code is there: links, settings, and the names that others rely on."""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

import pytest
from ruamel.yaml import YAML

from bot.settings import Settings
from domain.config.deploy import ErrorRate, Latency, RolloutStrategy, Throughput, WatchSettings
from domain.deployments.deployment import DeploymentState
from domain.gates import STANDARD_GATES, GateState
from domain.review.review import Conclusion, Decision
from domain.runs.run import Phase, ReasonCode, RunState
from pipeline.publishing.deployment_record import CONCLUSIONS, REPORTED
from safety.authorization import ROLES

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *sorted(DOCS.glob("*.md"))]

_LINK = re.compile(r"\]\((?!https?:)([^)\s]+)\)")
_SOURCE = re.compile(r'src(?:set)?="(?!https?:)([^"]+)"')
_ADDRESS = re.compile(r"\]\((https?:[^)]*)\)|(?:src|href)=\"(https?:[^\"]*)\"|<(https?:[^>]*)>")
_PLAIN_ADDRESS = re.compile(r"https://[a-z0-9-]+(\.[a-z0-9-]+)+(/[\w.~%+@:/-]*)?(\?[\w.~%+=&-]*)?(#[\w.~%:/-]+)?")
_FENCED = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)


def text_of(page: Path) -> str:
    return _FENCED.sub("", page.read_text(encoding="utf-8"))


def anchors(page: Path) -> Iterator[str]:
    """Where GitHub (lower case, spaces to hyphens, punctuation dropped) and the site, which strips it, agree."""
    for heading in re.findall(r"^#+ (.+)$", text_of(page), re.MULTILINE):
        anchor = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        if anchor == re.sub(r"-+", "-", anchor).strip("-"):
            yield anchor


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_leads_somewhere(page: Path) -> None:
    text = text_of(page)
    for link in [*_LINK.findall(text), *_SOURCE.findall(text)]:
        path, _, anchor = unquote(link).partition("#")
        target = page.parent / path if path else page
        assert target.exists(), f"{page.name} links to {link}"
        assert not anchor or anchor in set(anchors(target)), f"{page.name} links to {link}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_address_is_one(page: Path) -> None:
    """Whether somebody answers there is asked by no test: it would need the network."""
    found: list[str] = ["".join(groups) for groups in _ADDRESS.findall(text_of(page))]
    assert [each for each in found if not _PLAIN_ADDRESS.fullmatch(each)] == []


def test_the_site_has_every_page() -> None:
    """Each once, in the order of a reader."""
    site = YAML(typ="safe").load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))
    listed = [page for group in site["nav"] for pages in group.values() for page in pages]
    moved = {"index.md", "changes.md", "contributing.md"}
    assert sorted(listed) == sorted(moved | {path.name for path in DOCS.glob("*.md")})


def test_the_site_has_what_its_pages_link_to(tmp_path: Path) -> None:
    """As `make site` gathers it; a link to a folder leads to no page there."""
    folder = tmp_path / "pages"
    subprocess.run([sys.executable, ROOT / "bin" / "site_pages.py", folder], check=True)
    for page in folder.glob("*.md"):
        for link in [*_LINK.findall(text_of(page)), *_SOURCE.findall(text_of(page))]:
            path = unquote(link).partition("#")[0]
            assert not path or (page.parent / path).is_file(), f"{page.name} links to {link}"


@pytest.mark.parametrize("picture", sorted((DOCS / "images").iterdir()), ids=lambda path: path.name)
def test_every_picture_is_small_and_shown(picture: Path) -> None:
    assert picture.stat().st_size <= 150_000
    assert any(f"images/{picture.name}" in page.read_text(encoding="utf-8") for page in PAGES)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_lines_are_short_enough_to_read(page: Path) -> None:
    """Tables and code keep their rows on one line."""
    long = [line for line in text_of(page).splitlines() if len(line) > 199 and not line.lstrip().startswith("|")]
    assert long == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_nothing_waits_to_be_filled_in(page: Path) -> None:
    found = re.findall(r"(?<![\w`])@[A-Z]{3,}@|\b(?:TODO|TBD|FIXME)\b(?!`)", text_of(page))
    assert not found, f"{page.name} still has {found}"


def test_every_setting_is_described() -> None:
    """Those of one kind share a row, the others by the end of their names."""
    rows = (DOCS / "operations.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`(_?[A-Z][A-Z_]+)`", rows))
    ceilings = {f"FORGE_CEILING{name}" for name in named if name.startswith("_")}
    wanted = {f"FORGE_{name.upper()}" for name in Settings.model_fields}
    assert wanted <= named | ceilings
    assert {name for name in named if name.startswith("FORGE_") and name != "FORGE_"} <= wanted


def test_the_contract_has_every_name() -> None:
    page = (DOCS / "contract.md").read_text(encoding="utf-8")
    for kind in (RunState, GateState, Phase, Decision, Conclusion, ReasonCode):
        assert [name.value for name in kind if name.value and f"`{name.value}`" not in page] == []


def test_the_page_of_gates_says_who_decides_and_how_long_that_takes() -> None:
    page = (DOCS / "gates.md").read_text(encoding="utf-8")
    for name, gate in STANDARD_GATES.items():
        [row] = re.findall(rf"^\| `{name}` \| .* \| (.*) \| (.*) \|(.*) \|$", page, re.MULTILINE)
        role, time, left_out = row
        assert role.startswith(gate.role)
        assert time == f"{gate.timeout.total_seconds() / 3600:g} h"
        assert left_out.strip() == ("the author" if gate.not_author else "who asked" if gate.not_requester else "")


def test_the_page_of_commands_has_githubs_roles_in_their_order() -> None:
    page = (DOCS / "commands.md").read_text(encoding="utf-8")
    assert " < ".join(ROLES[1:]) in page


@pytest.mark.parametrize("state", DeploymentState)
def test_the_page_of_deployments_says_what_each_state_shows(state: DeploymentState) -> None:
    page = (DOCS / "deployments.md").read_text(encoding="utf-8")
    [row] = re.findall(rf"^\| `{state}`.*? \| (.*?) \| (.*) \|$", page, re.MULTILINE)
    conclusion, reported = row
    running = "queued" if state is DeploymentState.queued else "in progress"
    assert conclusion == (f"`{CONCLUSIONS[state].value}`" if state in CONCLUSIONS else running)
    assert (f"`{REPORTED[state].value}`" in reported) if state in REPORTED else (reported == "none")


def test_the_page_of_deployments_has_the_defaults_as_they_are() -> None:
    page = (DOCS / "deployments.md").read_text(encoding="utf-8")
    words, strategy, watch = " ".join(page.split()), RolloutStrategy(), WatchSettings()
    for steps in (strategy.low, strategy.medium, strategy.high):
        assert f"| {', '.join(map(str, steps))} |" in page
    for name in ("interval", "window", "bake"):
        assert f"`{name}` seconds ({getattr(watch, name)})" in words
    assert f"`patience` times ({watch.patience})" in words
    for metric in (ErrorRate, Latency, Throughput):
        [row] = [line for line in page.splitlines() if line.startswith(f"| `{_snake(metric)}`: ")]
        fields = metric.model_fields
        assert f" {fields['degraded'].default:g} |" in row
        assert f" {fields['unhealthy'].default:g} |" in row


def _snake(metric: type[ErrorRate | Latency | Throughput]) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", metric.__name__).lower()
