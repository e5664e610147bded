"""Which changes make another key of a set-up, and which do not."""

from pathlib import Path

from agents.testing.cache_key import key, programs
from agents.testing.command_detection import Command
from workspace.snapshot import File

SETUP = Command(kind="setup", words=("sh", "-c", "./bin/prepare && pip download -r requirements.txt"))


def keyed(*changed: str, network: bool = True, level: int = 3, machine: str = "python3", setup: Command = SETUP) -> str:
    """The key where these files are others, or there at all."""
    named = {"requirements.txt": "1", "web/package-lock.json": "2", "bin/prepare": "3", "src/app.py": "4"}
    blobs = named | dict.fromkeys(changed, "x")
    files = {path: File(path, "100644", blob) for path, blob in blobs.items()}
    return key([setup], files, network, level, machine)


def test_what_decides_what_is_downloaded_makes_another_key() -> None:
    other = SETUP.model_copy(update={"words": ("make", "deps")})
    keys = [
        keyed(),
        keyed(network=False),
        keyed(level=2),
        keyed(machine="python3.13"),
        keyed(setup=other),
        keyed("requirements.txt"),
        keyed("web/package-lock.json"),
        keyed("bin/prepare"),
        keyed("go.sum"),
    ]
    assert len(set(keys)) == len(keys)


def test_everything_else_does_not() -> None:
    assert keyed() == keyed("src/app.py") == keyed("README.md")


def test_other_programs_are_another_machine(tmp_path: Path) -> None:
    before = programs([tmp_path])
    tool = tmp_path / "bin" / "python3"
    tool.parent.mkdir()
    tool.write_text("#!/bin/sh\n")
    after = programs([tmp_path])
    assert before != after == programs([tmp_path])
    assert str(tool) in after
