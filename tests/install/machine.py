"""A clean Debian that boots in a folder, to follow docs/install.md on; needs root, debootstrap and systemd-nspawn."""

import os
import shutil
import subprocess
from pathlib import Path

from tests.install.page import ROOT

RELEASE = "trixie"
PROGRAMS = ("debootstrap", "systemd-nspawn", "apt-get")
SOURCE = "https://github.com/OWNER/forge.git"
"""Where the page clones from; inside, git takes it from this checkout instead."""
_BOOTED = """
[Unit]
Description=What the test asks for
After=multi-user.target
[Service]
Type=exec
ExecStart=-/bin/bash /root/asked.sh
[Install]
WantedBy=multi-user.target
"""
_ASKED = """
exec >/root/said.txt 2>&1
export HOME=/root
cd /root
set -x
{commands}
set +x
echo the end of what was asked
systemctl poweroff
"""


def find_obstacle() -> str | None:
    """Why no such machine can be made here; None if it can."""
    if os.geteuid() != 0:
        return "only root can make a machine of its own"
    missing = [name for name in PROGRAMS if shutil.which(name) is None]
    return f"{', '.join(missing)} not installed (Debian: debootstrap, systemd-container)" if missing else None


class CleanMachine:
    """A Debian in a folder, without anything of this machine but its network and its certificates."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "root"
        include = "--include=systemd,dbus,ca-certificates,git"
        _run("debootstrap", "--variant=minbase", include, RELEASE, str(self.root), _find_mirror())
        (self.root / "etc/systemd/system/asked.service").write_text(_BOOTED)
        self.enter("systemctl", "enable", "asked.service")
        self.enter("systemctl", "mask", "systemd-networkd.service", "systemd-resolved.service", "apt-daily.timer")
        for name, value in (("url./mnt/forge.insteadOf", SOURCE), ("safe.directory", "*")):
            self.enter("git", "config", "--system", name, value)

    def enter(self, *argv: str) -> None:
        """Run a command in the folder, without booting."""
        _run("chroot", str(self.root), *argv)

    def boot(self, commands: str, seconds: float) -> str:
        """Boot, run shell commands as root, power off; what they printed.

        The host's filter of system calls and protection of ``/proc/sys`` are not laid over those of the units.
        """
        (self.root / "root/asked.sh").write_text(_ASKED.format(commands=commands))
        said = self.root / "root/said.txt"
        said.unlink(missing_ok=True)
        binds = [f"--bind-ro={ROOT}:/mnt/forge", "--bind-ro=/etc/ssl/certs", "--bind-ro=/etc/resolv.conf"]
        argv = ["systemd-nspawn", "--quiet", f"--directory={self.root}", "--boot", "--register=no", "--keep-unit"]
        environment = {
            **os.environ,
            "SYSTEMD_SECCOMP": "0",
            "SYSTEMD_NSPAWN_API_VFS_WRITABLE": "yes",
            "SYSTEMD_NSPAWN_UNIFIED_HIERARCHY": "1",
        }
        with subprocess.Popen(
            [*argv, "--machine=forge-clean", "--console=pipe", "--setenv=SYSTEMD_SECCOMP=1", *binds],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        ) as machine:
            try:
                machine.wait(seconds)
            except subprocess.TimeoutExpired:
                machine.kill()
        return said.read_text() if said.exists() else ""


def _find_mirror() -> str:
    """Where this machine's own packages come from."""
    found = subprocess.run(
        ["apt-get", "indextargets", "--format", "$(REPO_URI)"], capture_output=True, text=True, check=True
    ).stdout
    return next(line for line in found.splitlines() if line.rstrip("/").endswith("/debian"))


def _run(*argv: str) -> None:
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{argv[0]}: {done.stdout[-2000:]} {done.stderr[-2000:]}"
