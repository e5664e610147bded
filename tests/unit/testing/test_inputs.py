"""Which changes make another key of a set-up, and which do not."""

from pathlib import Path

from agents.testing.detection import Command
from agents.testing.inputs import key, programs
from workspace.snapshot import File

SETUP = Command(kind="setup", words=("sh", "-c", "./bin/prepare && pip download -r requirements.txt"))


def keyed(network: bool = True, level: int = 3, machine: str = "python3", setup: Command = SETUP, **more: str) -> str:
    named = {"requirements.txt": "1", "web/package-lock.json": "2", "bin/prepare": "3", "src/app.py": "4"}
    blobs = named | {name.replace("__", "/").replace("_", "."): blob for name, blob in more.items()}
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
        keyed(requirements_txt="x"),
        keyed(**{"web__package-lock_json": "x"}),
        keyed(bin__prepare="x"),
        keyed(go_sum="x"),
    ]
    assert len(set(keys)) == len(keys)


def test_everything_else_does_not() -> None:
    assert keyed() == keyed(src__app_py="x") == keyed(README_md="x")


def test_other_programs_are_another_machine(tmp_path: Path) -> None:
    before = programs([tmp_path])
    tool = tmp_path / "bin" / "python3"
    tool.parent.mkdir()
    tool.write_text("#!/bin/sh\n")
    after = programs([tmp_path])
    assert before != after == programs([tmp_path])
    assert str(tool) in after
