"""Runs the commands of a deployment in the sandbox: the build, and whatever brings a commit to its environment."""

import asyncio
import os
import re
import shlex
import stat
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from agents.testing.tester import Tester
from agents.toolbox import Toolbox
from domain.config.configuration import Commands
from domain.config.deploy import PLACEHOLDERS
from domain.deployments.deployment import DeployAccess
from domain.errors import CodeAccessError, ToolError
from domain.globs import matches
from domain.text.escaping import strip_invisible
from domain.text.redaction import redact_outgoing
from domain.value import Value
from workspace.checkout import Checkout, check_out
from workspace.mirror import Mirror
from workspace.sandbox.bubblewrap import build_path
from workspace.sandbox.registry_proxy import INSIDE, Address
from workspace.sandbox.sandbox import Completed

_SHOWN = 3_000  # characters of what a command printed at its end
_LOOKED_THROUGH = 50_000  # characters of it that are looked through for credentials
_MOST_FILES = 100_000  # that are looked through for an artifact
_BUILD_SECONDS = 900.0
_REACHED = "FORGE_TARGET"  # the variable that says where the operator's address is
_HIDDEN = "[secret]"
_PLACEHOLDER = re.compile("{(" + "|".join(PLACEHOLDERS) + ")}")


class CommandOutcome(Value):
    """How a command of a deployment ended.

    :param problem: what went wrong, for people, without a full stop; empty if nothing did.
    :param output: the end of what it printed, without secrets.
    :param began: False: nothing was run, so nothing has changed.
    :param may_go_on: it could not be ended, so nothing may be deployed over it.
    """

    problem: str = ""
    output: str = ""
    seconds: float = 0.0
    began: bool = True
    may_go_on: bool = False

    @property
    def is_successful(self) -> bool:
        return not self.problem


@dataclass(frozen=True)
class Deployer:
    """Runs the commands of deployments of one repository.

    :param commands: from the configuration on the default branch.
    """

    mirror: Mirror
    toolbox: Toolbox
    commands: Commands

    async def build(self, sha: str, line: str, artifact: str | None) -> CommandOutcome:
        """Build a commit, and check that the build leaves what it is for. Raises no errors.

        :param artifact: a glob; at least one file that matches must not be empty.
        """
        try:
            async with self._prepare(sha) as checkout:
                outcome = await self._run(checkout, shlex.split(line), _BUILD_SECONDS, {}, None)
                if not outcome.is_successful or artifact is None:
                    return outcome
                if await asyncio.to_thread(_has_artifact, checkout.code, artifact):
                    return outcome
                missing = f"The build left no file that matches {artifact} and is not empty"
                return outcome.model_copy(update={"problem": missing})
        except _NotSetUp as failed:
            return failed.outcome
        except (ToolError, CodeAccessError) as error:
            return CommandOutcome(problem=_strip_stop(str(error)))

    async def deploy(
        self,
        sha: str,
        line: str,
        inputs: Mapping[str, str],
        access: DeployAccess,
        seconds: float,
        build: str | None = None,
    ) -> CommandOutcome:
        """Run the deploy command of a commit where that was built. Raises no errors.

        :param inputs: what replaces the placeholders of the line.
        :param access: what the operator lets it reach and know.
        :param seconds: how long it may take, without the build.
        :param build: the command that builds the commit, which is told no secret and reaches nothing.
        """
        words = [_fill(word, inputs) for word in shlex.split(line)]
        target = Address(access.host, access.port, idle=seconds, is_proxy=False) if access.host else None
        try:
            async with self._prepare(sha) as checkout:
                if lacks := _explain_lack(checkout, access, target):
                    return CommandOutcome(problem=_strip_stop(lacks), began=False)
                if build is not None:
                    built = await self._run(checkout, shlex.split(build), _BUILD_SECONDS, {}, None)
                    if not built.is_successful:
                        problem = f"The build before it failed: {built.problem}"
                        return built.model_copy(update={"problem": problem, "began": False})
                return await self._run(checkout, words, seconds, access.secrets, target)
        except _NotSetUp as failed:
            return failed.outcome
        except (ToolError, CodeAccessError) as error:
            return CommandOutcome(problem=_strip_stop(str(error)), began=False)

    @asynccontextmanager
    async def _prepare(self, sha: str) -> AsyncGenerator[Checkout]:
        """A checkout of the commit, set up as for its tests."""
        async with check_out(self.mirror, sha, self.toolbox.sandbox) as checkout:
            failed = await Tester(self.mirror, self.toolbox, self.commands).set_up(checkout, sha, uses_cache=True)
            if failed is not None:
                problem = _strip_stop(f"The set-up of the repository failed: {failed.line}")
                raise _NotSetUp(CommandOutcome(problem=problem, output=failed.output[-_SHOWN:], began=False))
            yield checkout

    async def _run(
        self,
        checkout: Checkout,
        words: Sequence[str],
        seconds: float,
        secrets: Mapping[str, str],
        target: Address | None,
    ) -> CommandOutcome:
        environment = {**secrets, "PATH": build_path(self.toolbox.reads)}
        if target is not None:
            environment[_REACHED] = "{}:{}".format(*INSIDE)
        done = await checkout.run(
            words, seconds=seconds, environment=environment, reads=self.toolbox.reads, proxy=target
        )
        return CommandOutcome(
            problem=_explain_end(words, done, seconds), output=_read_output(done, secrets), seconds=done.seconds
        )


class _NotSetUp(Exception):
    def __init__(self, outcome: CommandOutcome) -> None:
        self.outcome = outcome
        super().__init__()


def _explain_lack(checkout: Checkout, access: DeployAccess, target: Address | None) -> str:
    """Why a command cannot get here what it is allowed; empty if it can."""
    if target is not None:
        return checkout.why_no_network(target)
    if access.secrets and not checkout.keeps_secrets:
        needs = "sandbox level 3 (install bubblewrap where Forge runs)"
        return f"It was not told its secrets: that needs {needs}, and this is level {checkout.level}"
    return ""


def _fill(word: str, inputs: Mapping[str, str]) -> str:
    """The word with the inputs in place of the placeholders; what an input holds is never replaced itself."""
    return _PLACEHOLDER.sub(lambda found: inputs[found[1]], word)


def _explain_end(words: Sequence[str], done: Completed, seconds: float) -> str:
    if done.status == 0:
        return ""
    if done.status is None:
        return f"{words[0]} was stopped: it took more than {seconds:.0f} s, or wrote too much"
    return f"{words[0]} ended with status {done.status}"


def _read_output(done: Completed, secrets: Mapping[str, str]) -> str:
    """The end of what a command printed; it may print what it was told."""
    text = strip_invisible((done.stdout.data + b"\n" + done.stderr.data).decode(errors="replace"))
    for value in sorted(map(strip_invisible, secrets.values()), key=len, reverse=True):  # one may begin with another
        if value:
            text = text.replace(value, _HIDDEN)
    # Redacted before it is cut to its length: half of a secret looks like none.
    return redact_outgoing(text.strip()[-_LOOKED_THROUGH:])[-_SHOWN:]


def _strip_stop(sentence: str) -> str:
    """Whoever tells it, goes on after it."""
    return sentence.rstrip(". ")


def _has_artifact(folder: Path, glob: str) -> bool:
    for number, (path, size) in enumerate(_list_files(folder)):
        if number >= _MOST_FILES:
            return False
        if size and matches(path, (glob,)):
            return True
    return False


def _list_files(folder: Path) -> Iterator[tuple[str, int]]:
    """The regular files below a folder, whose links are not followed, with their sizes in bytes."""
    for parent, _, names in os.walk(folder):
        for name in names:
            file = Path(parent, name)
            try:
                found = file.lstat()
            except OSError:
                continue  # gone, or below more folders than a path can name
            if stat.S_ISREG(found.st_mode):
                yield str(file.relative_to(folder)), found.st_size
