"""Checks which level of the sandbox works here, and which attacks it refuses."""

import os
from collections.abc import Sequence

from bot.doctor.diagnosis import Diagnosis, fail, ok
from domain.errors import ForgeError
from safety.containment import ADVICE as NO_SANDBOX
from safety.containment import CODE
from workspace.sandbox.probes import ATTACKS
from workspace.sandbox.probing import Wanted, probe, select_levels
from workspace.sandbox.sandbox import SandboxLevel, find_groups


async def check_sandbox(user: str, wanted: Wanted) -> Diagnosis:
    """Which level of the sandbox is used, and whether Forge can work with it."""
    try:
        return judge_levels(await probe(user), wanted)
    except ForgeError as error:
        return fail("sandbox", error.message, error.advice)


def judge_levels(levels: Sequence[SandboxLevel], wanted: Wanted, more: str = "") -> Diagnosis:
    """Which of the levels that were tried is used, and whether Forge can work with it.

    :param more: is said behind the number of attacks it refuses.
    """
    try:
        best = max((level for level in select_levels(levels, wanted) if level.works), key=lambda level: level.level)
    except ForgeError as error:
        return fail("sandbox", error.message, error.advice or "See docs/security.md.")
    refused = sum(attack.refused is True for attack in best.attacks)
    state = f"level {best.level} ({best.name}) is used and refuses {refused} of {len(ATTACKS)} attacks{more}"
    if os.geteuid() == 0 and not find_groups():
        state += "; no group of their own keeps runs apart, as the groups 61184 to 65519 do not exist in this container"
    if best.level < CODE:
        return fail("sandbox", f"{state}, so pull requests from forks are not checked", NO_SANDBOX)
    return ok("sandbox", state)
