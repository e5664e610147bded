"""Follows docs/install.md with systemd, and what it says of a key of one's own for the store."""

import re
import time

from tests.install.known import INSTALL
from tests.install.reader import Reader

# The unit's own confinement, for another command.
_DOCTOR = """
sed --expression 's#^ExecStart=.*#ExecStart=/opt/forge/bin/forge doctor#' --expression 's/^Restart=.*/Type=oneshot/' \\
    /etc/systemd/system/forge.service > /etc/systemd/system/doctor.service
systemctl daemon-reload
systemctl start doctor
journalctl --unit doctor --no-pager --output cat
"""
_STOPPED = "systemctl stop forge && systemctl show forge --property Result,ExecMainStatus,NRestarts"


async def follow(reader: Reader) -> None:
    """From the page's first command to a review, a stop and a second start."""
    reader.machine.write("/root/forge.private-key.pem", reader.github.app.private_key_pem, 0o600)
    await reader.follow(INSTALL, "systemd", 1)
    await reader.follow(INSTALL, "systemd", 2)
    await reader.wait_until_ready()
    reader.see_doctor(await reader.follow(INSTALL, "systemd", 3), 3)
    reader.see_doctor(await reader.type(_DOCTOR, "forge doctor, confined as the unit is"), 3)
    await reader.see_review(reader.machine.read("/etc/forge/secrets/webhook_secret"))
    await _see_sentences(reader)
    begun = time.monotonic()
    stopped = await reader.type(_STOPPED, "“SIGTERM stops Forge”")
    reader.see(f"it ended with code 0, after {time.monotonic() - begun:.0f} s", _ended_well(stopped), stopped)
    await reader.follow(INSTALL, "What is stored", 1)
    await reader.type("systemctl start forge", "a second start")
    await reader.wait_until_ready()


async def _see_sentences(reader: Reader) -> None:
    """What sentences of the page say, beside its blocks."""
    log = await reader.type(
        "journalctl --unit forge --no-pager --output cat", "“`journalctl --unit forge` has its log”"
    )
    reader.see("the log is JSON and has the start", '"event": "serving"' in log, log)
    security = await reader.type("systemd-analyze security --no-pager forge", "“the units are confined”")
    exposure = re.search(r"exposure level for forge.service: ([\d.]+)", security)
    reader.see("systemd calls the unit's exposure low", exposure is not None and float(exposure[1]) < 4, security)
    await reader.type(
        "systemd-analyze verify /etc/systemd/system/forge.service", "systemd knows every line of the unit"
    )


def _ended_well(shown: str) -> bool:
    return {"Result=success", "ExecMainStatus=0", "NRestarts=0"} <= set(shown.splitlines())
