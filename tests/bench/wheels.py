"""Takes a wheel from the package index while a benchmark runs; nothing of it is installed or kept."""

import subprocess
import sys
from pathlib import Path

import pytest


def download_wheel(into: Path, name: str, version: str) -> Path:
    """The wheel of a release. Without it the benchmark is skipped."""
    options = ("--quiet", "--no-deps", "--only-binary", ":all:", "--dest", into)
    command = [sys.executable, "-m", "pip", "download", *options, f"{name}=={version}"]
    done = subprocess.run(command, capture_output=True, check=False)
    wheels = list(into.glob("*.whl"))
    if done.returncode or not wheels:
        pytest.skip(f"{name} {version} could not be had from the package index")
    return wheels[0]
