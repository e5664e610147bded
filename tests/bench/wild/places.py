"""Brings what the tests of a public package need where they run: a folder of programs for the sandbox.

    python -m tests.bench.wild.places FOLDER NAME…

``places.toml`` says what a package needs; ``FOLDER`` is made readable for every account.
"""

import argparse
import shlex
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_PLACES: dict[str, dict[str, Any]] = tomllib.loads(Path(__file__).with_name("places.toml").read_text())
_PYTHON = """#!/bin/sh
PYTHONPATH="$PWD/src:$PWD:{library}" exec {interpreter} "$@"
"""
"""The checked-out tree comes first, so that its program is tested and not an installed one of the same name."""


@dataclass(frozen=True)
class Place:
    """Where the tests of a package run.

    :param reads: folders that the sandbox shows.
    :param setup: the command that prepares a checkout; None if there is nothing to prepare.
    """

    reads: tuple[Path, ...]
    setup: str | None


def find_place(folder: Path, name: str) -> Place:
    """The place of a package, which :func:`bring` made below a folder; programs for all lie in ``shared``."""
    own, needs = folder / name.replace("/", "+"), _PLACES[name]
    steps = [needs["setup"].replace("{place}", str(own))] if "setup" in needs else []
    if "npm" in needs:
        # a folder of its own, as runners keep what they remember in it
        steps.append(f"mkdir node_modules && ln -s {own}/node_modules/* {own}/node_modules/.bin node_modules")
    if "go" in needs:
        steps.append(f"go env -w GOMODCACHE={own}/go GOFLAGS=-mod=mod GOPROXY=off")
    setup = shlex.join(("sh", "-c", " && ".join(steps))) if steps else None
    return Place((own, *sorted((folder / "shared").glob("*"))), setup)


def bring(folder: Path, name: str, tree: Path) -> None:
    """Install what a package needs.

    :param tree: a checkout of it, for what its lock says.
    """
    own, needs = folder / name.replace("/", "+"), _PLACES[name]
    (own / "bin").mkdir(parents=True, exist_ok=True)
    if "pip" in needs:
        library = own / "lib"
        _run(sys.executable, "-m", "pip", "install", "-q", "--target", str(library), *needs["pip"])
        program = own / "bin" / "python3"
        interpreter = Path(sys.base_prefix, "bin", "python3").resolve()
        program.write_text(_PYTHON.format(library=library, interpreter=interpreter))
        program.chmod(0o755)
    if "npm" in needs:
        _run("npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", str(own), *needs["npm"])
    if "go" in needs:
        subprocess.run(["env", f"GOMODCACHE={own}/go", "go", "mod", "download", "all"], cwd=tree, check=True)
    _run("chmod", "-R", "a+rX", str(folder))


def _run(*words: str, cwd: Path | None = None) -> None:
    subprocess.run(words, cwd=cwd, check=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("name", choices=sorted(_PLACES))
    parser.add_argument("tree", type=Path)
    given = parser.parse_args()
    bring(given.folder.resolve(), given.name, given.tree)


if __name__ == "__main__":
    main()
