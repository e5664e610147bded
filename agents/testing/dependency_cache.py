"""Gives test jobs what set-ups of the default branch downloaded, and has it downloaded where it is not kept yet.

Nothing of a pull request takes part: what fills the cache is a set-up of its own, in a fresh checkout of the default
branch, with the commands of the configuration there. A job gets a copy, which goes with the job.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import structlog

from agents.testing.cache_key import compute_key, describe_programs
from agents.testing.command_detection import MANIFESTS, ProjectCommand, detect
from agents.testing.execution import execute
from agents.toolbox import Toolbox
from domain.config.configuration import Commands
from domain.errors import CodeAccessError, ToolError
from workspace.checkout import Checkout, check_out
from workspace.dependency_cache import CacheEntry
from workspace.mirror import Mirror
from workspace.safe_copy import Size
from workspace.snapshot import Snapshot

_SECONDS = 900.0
"""What each command may take that fills the cache."""

log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class _DefaultSetup:
    """A commit of the default branch, how it is set up, and the key of that."""

    commit: str
    setups: Sequence[ProjectCommand]
    key: str


class Dependencies:
    """What one test job has to do with the cache of its repository. Nothing goes wrong in it that ends the job.

    :param commands: what the repository's configuration says, from its default branch.
    """

    def __init__(self, mirror: Mirror, toolbox: Toolbox, commands: Commands) -> None:
        self._mirror = mirror
        self._toolbox = toolbox
        self._commands = commands
        self._default: _DefaultSetup | None = None
        self._kept: CacheEntry | None = None

    async def find_cached(self) -> None:
        """Find out what there is for the default branch as it is now."""
        filling = self._toolbox.cache_warmer
        if filling is None:
            return
        try:
            self._default = await self._load_default_setup()
        except CodeAccessError as error:
            log.warning("dependencies.unknown", repository=self._mirror.repository_id, reason=str(error))
        if self._default is not None:
            self._kept = filling.cache.find(self._mirror.repository_id, self._default.key)

    async def install(self, checkout: Checkout) -> bool:
        """Put a copy of what was found into a checkout in which nothing ran yet; whether there is one."""
        if self._kept is None:
            return False
        is_furnished = await checkout.install_cache(self._kept)
        if not is_furnished:
            log.warning("dependencies.not_given", repository=self._mirror.repository_id)
        return is_furnished

    def disable(self) -> None:
        """Furnish no further checkout."""
        self._kept = None

    def warm_cache(self) -> None:
        """Have the cache filled beside everything else, if :meth:`look` found nothing."""
        filling, default = self._toolbox.cache_warmer, self._default
        if filling is None or default is None or self._kept is not None:
            return
        filling.start(self._mirror.repository_id, default.key, lambda: self._fill(default))

    async def _load_default_setup(self) -> _DefaultSetup | None:
        """None where there is no default branch, or it is not set up."""
        commit = await self._mirror.fetch_default()
        if commit is None:
            return None
        files = (await Snapshot.of(self._mirror, commit)).files
        contents = await self._mirror.read(commit, [path for path in MANIFESTS if path in files])
        manifests = {path: content.decode(errors="replace") for path, content in contents.items()}
        setups = detect([*files], manifests, self._commands, "").setups
        level = self._toolbox.sandbox.strongest().level
        found = compute_key(setups, files, self._commands.network, level, describe_programs(self._toolbox.reads))
        return _DefaultSetup(commit, setups, found) if setups else None

    async def _fill(self, default: _DefaultSetup) -> Size:
        """Set up a fresh checkout of the default branch, and keep what that downloaded.

        :raises ToolError: the set-up failed.
        :raises NotCopied: what it left is not kept.
        """
        filling = self._toolbox.cache_warmer
        assert filling is not None
        async with check_out(self._mirror, default.commit, self._toolbox.sandbox) as checkout:
            for command in default.setups:
                done, _ = await execute(command, checkout, self._toolbox, self._commands, _SECONDS)
                if done.status != 0:
                    raise ToolError(f"The set-up of the default branch failed (exit status {done.status}).")
            return await filling.cache.keep(self._mirror.repository_id, default.key, checkout.home, checkout.owner)
