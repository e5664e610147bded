"""Computes the cache key of a set-up from everything that decides what it downloads."""

import hashlib
import json
import platform
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from agents.testing.runners.runner import ProjectCommand
from domain.paths import is_lock, is_manifest
from workspace.sandbox.bubblewrap import PATH
from workspace.snapshot import SnapshotFile

_VERSION = 1  # of the key and of the entries
_PROGRAMS = ("python3", "node", "go", "cargo", "ruby", "java", "dotnet", "php")
"""What was built with another version of one of these would not fit."""


def compute_key(
    setups: Collection[ProjectCommand], files: Mapping[str, SnapshotFile], has_network: bool, level: int, programs: str
) -> str:
    """The key of a set-up.

    :param files: path → file, of the commit.
    :param has_network: whether its configuration asks for the network.
    :param level: of the sandbox in which it runs.
    :param programs: the programs that run it; see :func:`describe_programs`.
    :returns: 64 hexadecimal digits.
    """
    words = [word for command in setups for word in command.words]
    named = {part.removeprefix("./") for word in words for part in word.split()}
    counts = [
        (path, file.mode, file.blob)
        for path, file in sorted(files.items())
        if is_manifest(path) or is_lock(path) or path in named
    ]
    told = [_VERSION, [command.words for command in setups], counts, has_network, level, programs]
    return hashlib.sha256(json.dumps(told).encode()).hexdigest()


def describe_programs(reads: Sequence[Path]) -> str:
    """The platform of this machine, and the programs that a set-up finds on it.

    :param reads: folders of programs that the operator named.
    """
    folders = [*(folder / "bin" for folder in reads), *map(Path, PATH.split(":"))]
    found = [_describe_program(name, folders) for name in _PROGRAMS]
    return " ".join([platform.machine(), *platform.libc_ver(), *filter(None, found)])


def _describe_program(name: str, folders: Sequence[Path]) -> str:
    """The path, size and modification time of a program; empty if there is none."""
    for folder in folders:
        path = (folder / name).resolve()
        if path.is_file():
            found = path.stat()
            return f"{path} {found.st_size} {found.st_mtime_ns}"
    return ""
