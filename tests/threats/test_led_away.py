"""Where GitHub leads Forge to: nothing on this machine is asked, no credential leaves the API's origin (T-X5)."""

from collections.abc import AsyncIterator

import pytest

from domain.errors import CodeHostError, Unavailable
from tests.contract.stage import Stage, open_stage
from tests.threats.traps import THIS_MACHINE, open_trap


@pytest.fixture
async def stage() -> AsyncIterator[Stage]:
    async with open_stage() as set_up:
        yield set_up


@pytest.mark.parametrize("host", THIS_MACHINE)
@pytest.mark.parametrize("scheme", ["http", "https"])
async def test_t_x5_a_log_kept_on_this_machine_is_not_read(stage: Stage, scheme: str, host: str) -> None:
    run = stage.sim.run_workflow(stage.shelf, stage.head, "CI", {"test": ("failure", "1 failed\n")})
    async with open_trap() as (port, heard):
        address = {"location": f"{scheme}://{host}:{port}/latest/meta-data/"}
        stage.sim.faults.add(kind="before", path="/logs$", times=None, status=302, headers=address, message="Found")
        with pytest.raises(Unavailable):
            await stage.host.job_log(stage.repository, run.jobs[-1].check.id, 1000)
        assert heard == []


@pytest.mark.parametrize("status", [301, 302, 307, 308])
async def test_t_x5_the_api_leads_nowhere_else(stage: Stage, status: int) -> None:
    async with open_trap() as (port, heard):
        address = {"location": f"http://127.0.0.1:{port}/repos/acme/shelf/pulls/1"}
        fault = stage.sim.faults.add(
            kind="before", path=r"/(pulls|contents|issues)/.*", times=None, status=status, headers=address, message="x"
        )
        for asking in (
            stage.host.pull_request(stage.repository, 1),
            stage.host.file_content(stage.repository, "a.py"),
            stage.host.create_comment(stage.repository, 1, "hello"),
        ):
            with pytest.raises(CodeHostError):
                await asking
        assert fault.fired
        assert heard == []
