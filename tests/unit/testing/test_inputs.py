"""Which changes make another key of a set-up, and which do not."""

from pathlib import Path

from agents.testing.execution import compute_key, describe_programs
from agents.testing.runners.runner import ProjectCommand
from workspace.snapshot import SnapshotFile

SETUP = ProjectCommand(kind="setup", words=("sh", "-c", "./bin/prepare && pip download -r requirements.txt"))


def compute_test_key(
    *changed: str, network: bool = True, level: int = 3, machine: str = "python3", setup: ProjectCommand = SETUP
) -> str:
    """The key where these files are others, or there at all."""
    named = {"requirements.txt": "1", "web/package-lock.json": "2", "bin/prepare": "3", "src/app.py": "4"}
    blobs = named | dict.fromkeys(changed, "x")
    files = {path: SnapshotFile(path, "100644", blob) for path, blob in blobs.items()}
    return compute_key([setup], files, network, level, machine)


def test_what_decides_what_is_downloaded_makes_another_key() -> None:
    other = SETUP.model_copy(update={"words": ("make", "deps")})
    keys = [
        compute_test_key(),
        compute_test_key(network=False),
        compute_test_key(level=2),
        compute_test_key(machine="python3.13"),
        compute_test_key(setup=other),
        compute_test_key("requirements.txt"),
        compute_test_key("web/package-lock.json"),
        compute_test_key("bin/prepare"),
        compute_test_key("go.sum"),
    ]
    assert len(set(keys)) == len(keys)


def test_everything_else_does_not() -> None:
    assert compute_test_key() == compute_test_key("src/app.py") == compute_test_key("README.md")


def test_other_programs_are_another_machine(tmp_path: Path) -> None:
    before = describe_programs([tmp_path])
    tool = tmp_path / "bin" / "python3"
    tool.parent.mkdir()
    tool.write_text("#!/bin/sh\n")
    after = describe_programs([tmp_path])
    assert before != after == describe_programs([tmp_path])
    assert str(tool) in after
