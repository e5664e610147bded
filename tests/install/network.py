"""A network of its own for a machine and for those who use it: out by slirp4netns, in by nobody.

Whatever listens there takes no port of the host, and what a container engine does to the firewall stays there.
"""

import socket
import subprocess
import sys
import time
from pathlib import Path

DEVICE = "tap0"
ADDRESS = "10.0.2.100"
NAMESERVER = "10.0.2.3"
"""What slirp4netns gives the machine, and where it answers for the host's own name server."""
_PATIENCE = 20.0  # seconds


def run_inside(argv: list[str]) -> int:
    """Run a command in a new network, and return its exit code.

    :raises OSError: slirp4netns could not be started.
    """
    with subprocess.Popen(["unshare", "--net", *argv]) as inside:
        _wait_for_namespace(inside)
        slirp = ["slirp4netns", "--configure", "--mtu=1400", "--disable-host-loopback", str(inside.pid), DEVICE]
        with subprocess.Popen(slirp, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as outward:
            try:
                return inside.wait()
            finally:
                inside.terminate()
                outward.terminate()


def wait_for_network() -> None:
    """Wait inside until the way out is there.

    :raises TimeoutError: it did not come.
    """
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    ended = time.monotonic() + _PATIENCE
    while DEVICE not in (name for _, name in socket.if_nameindex()):
        if time.monotonic() > ended:
            raise TimeoutError(f"slirp4netns made no {DEVICE} within {_PATIENCE:.0f} s")
        time.sleep(0.1)


def _wait_for_namespace(process: subprocess.Popen[bytes]) -> None:
    """Until the child is in its own network, which `unshare` makes before it runs the command."""
    own = _read_namespace("self")
    while process.poll() is None and _read_namespace(process.pid) in {own, None}:
        time.sleep(0.02)
    if process.poll() is not None:
        sys.exit(f"unshare ended with {process.returncode}: is this root?")


def _read_namespace(process: int | str) -> str | None:
    link = Path(f"/proc/{process}/ns/net")
    return str(link.readlink()) if link.exists() else None
