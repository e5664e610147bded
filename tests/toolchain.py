"""A folder of programs for the sandbox of tests: a Python that has pytest, which any account can reach."""

import compileall
import functools
import re
import shutil
import sys
import tempfile
from importlib.metadata import distribution
from pathlib import Path

_PACKAGES = ("pytest", "pluggy", "iniconfig", "packaging", "pygments", "coverage")
_NEVER_IMPORTED = re.compile("/pygments/(lexers|styles|formatters)/")


@functools.cache
def toolchain() -> Path:
    """The folder, as ``FORGE_SANDBOX_TOOLS`` takes it; made once per test process."""
    folder = Path(tempfile.mkdtemp(prefix="forge-tools-"))
    library = folder / "lib"
    for name in _PACKAGES:
        _copy(name, library)
    # Whoever is confined cannot write there, and would compile pytest at each of its starts.
    compileall.compile_dir(library, quiet=1, rx=_NEVER_IMPORTED)
    program = folder / "bin" / "python3"
    program.parent.mkdir()
    interpreter = Path(sys.base_prefix, "bin", "python3").resolve()
    program.write_text(f'#!/bin/sh\nPYTHONPATH={library}${{PYTHONPATH:+:$PYTHONPATH}} exec {interpreter} "$@"\n')
    for path in (folder, *folder.rglob("*")):
        path.chmod(0o755 if path.is_dir() or path == program else 0o644)
    return folder


def _copy(name: str, target: Path) -> None:
    """The files of an installed package, as they stand below its library."""
    package = distribution(name)
    for file in package.files or ():
        source = Path(str(package.locate_file(file)))
        if ".." not in file.parts and source.is_file() and source.suffix != ".pyc":
            copy = target / file
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, copy)
