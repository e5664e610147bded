"""Runs the checks on versions of files, and forges what linters print."""

import json
from typing import Any

from agents.review.checks.results import CheckReport
from agents.review.checks.run import run_checks
from agents.toolbox import Toolbox
from tests.unit.checks.building import Versions, change_of
from workspace.sandbox.sandbox import Completed, Sandbox, SandboxCommand


async def check_files(toolbox: Toolbox, files: Versions, **given: object) -> CheckReport:
    change, versions = change_of(files)
    settings: dict[str, Any] = {"project": {}, "linters": (), "dependencies": None, **given}
    return await run_checks(change, versions, toolbox=toolbox, **settings)


class CountingSandbox(Sandbox):
    """A sandbox that counts the programs it starts."""

    def __init__(self, sandbox: Sandbox) -> None:
        super().__init__(sandbox.levels, sandbox.account)
        self.started = 0

    async def try_level(self, command: SandboxCommand, level: int) -> Completed:
        self.started += 1
        return await super().try_level(command, level)


def sarif(*results: tuple[str, str, int], **more: object) -> str:
    return json.dumps(
        {
            "version": "2.1.0",
            "runs": [
                {
                    "tool": {"driver": {"name": "x", "rules": []}},
                    "results": [
                        {
                            "ruleId": rule,
                            "level": "error",
                            "message": {"text": f"problem {rule}"},
                            "locations": [
                                {
                                    "physicalLocation": {
                                        "artifactLocation": {"uri": uri},
                                        "region": {"startLine": line, "endLine": 10**9},
                                    }
                                }
                            ],
                        }
                        | more
                        for rule, uri, line in results
                    ],
                }
            ],
        }
    )
