"""A clean Debian that boots in a folder, to follow the pages on; needs root, debootstrap and systemd-nspawn."""

import os
import shutil
import signal
import subprocess
import time
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.install.network import ADDRESS, NAMESERVER
from tests.install.page import ROOT

RELEASE = "trixie"
PROGRAMS = ("debootstrap", "systemd-nspawn", "slirp4netns", "nsenter", "unshare", "apt-get", "openssl")
SOURCE = "https://github.com/OWNER/forge.git"
"""Where the pages clone from; inside, git takes it from this checkout instead."""
TREE = "/mnt/debian"
"""Where the machine finds the Debian that it was made of, to make images of."""
_PACKAGES = "systemd,systemd-sysv,dbus,ca-certificates,git"
_TRUSTED = Path("/usr/local/share/ca-certificates")
_PATIENCE = 90.0  # seconds that a boot may take
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


class MachineError(Exception):
    """A command that had to work did not, on the clean machine or while it was made."""


def find_obstacle() -> str | None:
    """Why no such machine can be made here; None if it can."""
    if os.geteuid() != 0:
        return "only root can make a machine of its own"
    missing = [name for name in PROGRAMS if shutil.which(name) is None]
    packages = "debootstrap, systemd-container, slirp4netns, openssl"
    return f"{', '.join(missing)} not installed (Debian: {packages})" if missing else None


def make_certificate(folder: Path) -> Path:
    """The key and the certificate of a GitHub at the machine's own address, in one file; made unless it is there.

    :raises MachineError: openssl failed.
    """
    file = folder / "github.pem"
    if not file.exists():
        subject = ("-subj", "/CN=the simulated GitHub", "-addext", f"subjectAltName=IP:{ADDRESS}")
        openssl = ("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "3650", *subject)
        run(*openssl, "-keyout", f"{file}.part", "-out", f"{file}.crt")
        text = Path(f"{file}.part").read_text() + Path(f"{file}.crt").read_text()
        Path(f"{file}.part").write_text(text)
        Path(f"{file}.part").rename(file)
    return file


def make_tree(folder: Path, *trusted: Path) -> Path:
    """Install Debian's smallest system into a folder, unless it is there, and return it.

    What this machine trusts besides Debian's certificates is trusted there, too: a proxy may stand before the network.

    :param trusted: more certificates.
    :raises MachineError: debootstrap failed.
    """
    if folder.exists():
        return folder
    made = folder.with_name(f"{folder.name}.part")
    shutil.rmtree(made, ignore_errors=True)
    run("debootstrap", "--variant=minbase", f"--include={_PACKAGES}", RELEASE, str(made), _find_mirror())
    for certificate in (*_TRUSTED.glob("*.crt"), *trusted):
        shutil.copy(certificate, made / _TRUSTED.relative_to("/") / f"{certificate.stem}.crt")
    run("chroot", str(made), "update-ca-certificates")
    return made.rename(folder)


class CleanMachine:
    """A Debian in a folder that was booted, in the network of this process. Use as a context manager.

    Nothing of the host is in it but the git checkout that the pages are of, to be cloned.

    :param tree: what `make_tree` made; it is copied.
    """

    def __init__(self, tree: Path, folder: Path) -> None:
        self.root = folder / "root"
        self._tree = tree
        run("cp", "--archive", "--reflink=auto", str(tree), str(self.root))
        (self.root / "etc/resolv.conf").unlink(missing_ok=True)
        (self.root / "etc/resolv.conf").write_text(f"nameserver {NAMESERVER}\n")
        (self.root / "etc/hostname").write_text("clean\n")
        for name, value in (("url./mnt/forge.insteadOf", SOURCE), ("safe.directory", "*")):
            run("chroot", str(self.root), "git", "config", "--system", "--add", name, value)
        units = ("systemd-networkd.service", "systemd-resolved.service", "apt-daily.timer", "console-getty.service")
        run("chroot", str(self.root), "systemctl", "mask", *units)
        self._nspawn: subprocess.Popen[bytes] | None = None
        self._leader = 0

    def __enter__(self) -> Self:
        """Boot. The host's filter of system calls and protection of ``/proc/sys`` do not lie over the units' own."""
        environment = {
            **os.environ,
            "SYSTEMD_SECCOMP": "0",
            "SYSTEMD_NSPAWN_API_VFS_WRITABLE": "yes",
            "SYSTEMD_NSPAWN_UNIFIED_HIERARCHY": "1",
        }
        argv = ["systemd-nspawn", "--quiet", f"--directory={self.root}", "--boot", "--register=no", "--keep-unit"]
        binds = [f"--bind-ro={ROOT}:/mnt/forge", f"--bind-ro={self._tree}:{TREE}"]
        more = ["--capability=all", "--console=pipe", "--setenv=SYSTEMD_SECCOMP=1", *binds]
        with (self.root.parent / "console").open("wb") as console:
            self._nspawn = subprocess.Popen(
                [*argv, *more, f"--machine=forge-clean-{os.getpid()}"],
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=console,
                stderr=console,
            )
        self._leader = self._wait_for_leader(self._nspawn)
        self.run("systemctl is-system-running --wait || true", title="boot")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._nspawn is None:
            return
        self._nspawn.send_signal(signal.SIGTERM)  # an orderly power-off
        try:
            self._nspawn.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            os.kill(self._leader, signal.SIGKILL)
            self._nspawn.wait()

    def run(self, commands: str, *, title: str, at: str = "/root", seconds: float = 900) -> str:
        """Run shell commands as root, as a person types them: one by one, up to the first that fails.

        :param title: says what they are where they fail.
        :param at: the folder they begin in.
        :returns: what they printed.
        :raises MachineError: one failed, or they took longer than ``seconds``.
        """
        argv = ["nsenter", f"--target={self._leader}", *_NAMESPACES, "--root"]
        clean = ["/usr/bin/env", "-i", f"PATH={_PATH}", "HOME=/root", "LANG=C.UTF-8", "TERM=dumb"]
        shell = ["/bin/bash", "-e", "-o", "pipefail", "-c", f"cd {at}\n{commands}"]
        try:
            done = subprocess.run(
                [*argv, *clean, *shell],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                timeout=seconds,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise MachineError(f"{title}: not done after {seconds:.0f} s\n{_end(error.stdout)}") from error
        if done.returncode:
            raise MachineError(f"{title}: exit code {done.returncode}\n{_end(done.stdout)}")
        return done.stdout.decode(errors="replace")

    def write(self, path: str, text: str, mode: int = 0o644) -> None:
        """Put a file there."""
        file = self.root / path.lstrip("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        file.chmod(mode)

    def read(self, path: str) -> str:
        return (self.root / path.lstrip("/")).read_text()

    def _wait_for_leader(self, nspawn: subprocess.Popen[bytes]) -> int:
        """The first process of the machine, once it is systemd."""
        ended = time.monotonic() + _PATIENCE
        while time.monotonic() < ended and nspawn.poll() is None:
            for pid in _list_descendants(nspawn.pid):
                status = Path(f"/proc/{pid}/status")
                text = status.read_text() if status.exists() else ""
                if "Name:\tsystemd\n" in text and any(
                    line.startswith("NSpid:") and line.split()[-1] == "1" for line in text.splitlines()
                ):
                    return pid
            time.sleep(0.2)
        raise MachineError(f"the machine did not boot\n{(self.root.parent / 'console').read_text()[-3000:]}")


_NAMESPACES = ("--mount", "--uts", "--ipc", "--pid", "--cgroup")


def run(*argv: str) -> None:
    """Run a command of this machine.

    :raises MachineError: it failed.
    """
    done = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    if done.returncode:
        raise MachineError(f"{' '.join(argv)}: exit code {done.returncode}\n{_end(done.stdout)}")


def _list_descendants(pid: int) -> list[int]:
    found: list[int] = []
    for file in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            children = [int(each) for each in file.read_text().split()]
        except OSError:
            continue
        for child in children:
            found += [child, *_list_descendants(child)]
    return found


def _find_mirror() -> str:
    """Where this machine's own packages come from."""
    found = subprocess.run(
        ["apt-get", "indextargets", "--format", "$(REPO_URI)"], capture_output=True, text=True, check=True
    ).stdout
    return next(line for line in found.splitlines() if line.rstrip("/").endswith("/debian"))


def _end(printed: bytes | None) -> str:
    return (printed or b"").decode(errors="replace")[-6000:]
