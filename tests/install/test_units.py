"""The systemd units are ones that systemd takes, confined as far as the sandbox lets them be."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.install.page import ROOT

UNITS = ROOT / "deploy" / "systemd"
SERVE, WORKER = UNITS / "forge.service", UNITS / "forge-worker@.service"
EXPOSED = 35  # tenths, of 100; 96 for a unit that confines nothing
BREAKS_BUBBLEWRAP = {
    "PrivateUsers",
    "ProcSubset",
    "ProtectKernelLogs",
    "ProtectKernelTunables",
    "ProtectProc",
    "RestrictNamespaces",
    "RestrictSUIDSGID",  # answers openat2 with ENOSYS
}


@pytest.fixture(name="analyze")
def _analyze() -> str:
    found = shutil.which("systemd-analyze")
    if found is None:
        pytest.skip("systemd is not installed here")
    return found


@pytest.mark.parametrize("unit", [SERVE, WORKER])
def test_systemd_knows_every_line(unit: Path, analyze: str, tmp_path: Path) -> None:
    # It must find the program, which is installed elsewhere.
    copy = tmp_path / unit.name.replace("@", "@1")
    copy.write_text(unit.read_text().replace("/opt/forge/bin/forge", "/bin/true"))
    done = subprocess.run([analyze, "verify", str(copy)], capture_output=True, text=True, check=False)
    assert (done.returncode, [line for line in done.stderr.splitlines() if copy.name in line]) == (0, [])


@pytest.mark.parametrize("unit", [SERVE, WORKER])
def test_they_are_confined(unit: Path, analyze: str) -> None:
    argv = [analyze, "security", "--offline=true", f"--threshold={EXPOSED}", "--no-pager", str(unit)]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_both_are_confined_alike() -> None:
    assert _settings(SERVE) == _settings(WORKER)


@pytest.mark.parametrize("unit", [SERVE, WORKER])
def test_nothing_keeps_bubblewrap_from_working(unit: Path) -> None:
    assert not BREAKS_BUBBLEWRAP & _names(unit)


def _settings(unit: Path) -> list[str]:
    """What does not name the process."""
    own = re.compile(r"#|Description|After|ExecStart|WorkingDirectory|StateDirectory=|Environment=")
    return [line for line in unit.read_text().splitlines() if line and not own.match(line)]


def _names(unit: Path) -> set[str]:
    return {line.split("=")[0] for line in unit.read_text().splitlines() if re.match(r"\w+=", line)}
