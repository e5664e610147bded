"""Somebody follows docs/install.md on a machine that has nothing, word for word, and Forge serves there."""

import re

import pytest

from tests.install.machine import CleanMachine, find_obstacle
from tests.install.page import read_commands

pytestmark = [pytest.mark.deep, pytest.mark.timeout(1800)]

_WAIT = "for i in $(seq 150); do ss -ltn | grep -q 127.0.0.1:3000 && break; sleep 0.4; done"
_ASK = "python3 -c \"import urllib.request as u; print('{0}', u.urlopen('http://127.0.0.1:3000/{0}').status)\""
# The unit's own confinement, for another command.
_DOCTOR = """
sed --expression 's#^ExecStart=.*#ExecStart=/opt/forge/bin/forge doctor#' --expression 's/^Restart=.*/Type=oneshot/' \\
    /etc/systemd/system/forge.service > /etc/systemd/system/doctor.service
systemctl daemon-reload
systemctl start doctor
journalctl --unit doctor --no-pager --output cat
"""


@pytest.fixture(name="machine", scope="module")
def _machine(tmp_path_factory: pytest.TempPathFactory) -> CleanMachine:
    if (obstacle := find_obstacle()) is not None:
        pytest.skip(obstacle)
    return CleanMachine(tmp_path_factory.mktemp("machine"))


def test_systemd(machine: CleanMachine) -> None:
    *install, examine = _split(read_commands("systemd"))
    said = machine.boot(
        "\n".join(
            [
                "openssl genrsa -traditional -out ~/forge.private-key.pem 2048",
                "set -e",
                *install,
                "set +e",
                "apt-get install --yes --no-install-recommends iproute2 >/dev/null",
                _WAIT,
                _ASK.format("healthz"),
                _ASK.format("readyz"),
                "echo examine",
                examine,
                _DOCTOR,
                "systemctl stop forge",
                "systemctl show forge --property Result,ExecMainStatus,NRestarts",
                "systemd-analyze verify /etc/systemd/system/forge.service && echo verified",
            ]
        ),
        900,
    )
    assert "the end of what was asked" in said, said[-3000:]
    assert "healthz 200" in said, said[-3000:]
    assert "readyz 200" in said
    as_the_page_says, as_the_unit_runs = said.split("+ echo examine")[1].split("systemctl start doctor")
    for printed in (as_the_page_says, as_the_unit_runs):
        assert "✓ settings: complete" in printed, printed
        assert "level 3 (bubblewrap) is used and refuses 20 of 20 attacks" in printed, printed
    for line in ("Result=success", "ExecMainStatus=0", "NRestarts=0", "verified"):
        assert line in said.splitlines(), said[-3000:]


def _split(commands: str) -> list[str]:
    """The commands, one in each."""
    return re.sub(r"\\\n\s*", " ", commands).splitlines()
