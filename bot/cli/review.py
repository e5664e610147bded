"""Reviews a local repository as a pull request is, by linters and security checks, and corrects what is simple."""

import asyncio
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from agents.review import reviewer
from agents.review.checks.credentials import add_unreviewed
from agents.review.layers import CheckedChange, ModelPart, apply_path_filters
from agents.toolbox import Toolbox
from bot.cli.local_review import LocalOptions
from bot.cli.review_output import to_terminal
from domain.errors import ForgeError
from domain.review.changes import Change
from domain.review.findings import Finding, Layer
from domain.review.review import Decision, LayerReport, Review
from domain.value import make_finding_id
from pipeline.config import parsing
from safety import autofix
from safety.containment import find_origin
from safety.risk import PullRequestAuthor
from workspace.local_repository import HEAD, LocalRepository, open_local

_NO_MODEL = "No model read this: --model asks the one of FORGE_FAST_MODEL."
_EXIT_CODES = {Decision.approve: 0, Decision.request_changes: 1, Decision.require_human: 3}


async def review_here(path: Path, options: LocalOptions, toolbox: Toolbox) -> tuple[Review, str | None]:
    """Review a repository; also what is wrong with its configuration.

    :raises CodeAccessError: if there is no repository, no such revision, or no common history.
    :raises ForgeError: if a file cannot be written.
    """
    compared = HEAD if options.staged and options.base is None else options.base
    async with open_local(path, compared, staged=options.staged) as code:
        examined = await _Examination.begin(code, toolbox)
        corrected = await correct(code, examined.checked.findings) if options.fix else []
        if not corrected:
            return await examined.finish(ask_model=options.ask_model), examined.loaded.problem
    for finding in corrected:
        sys.stderr.write(f"corrected {to_terminal(finding.where)}: {to_terminal(finding.rule)}\n")
    async with open_local(path, options.base) as code:
        examined = await _Examination.begin(code, toolbox)
        return await examined.finish(ask_model=options.ask_model), examined.loaded.problem


@dataclass(frozen=True)
class _Examination:
    """A local change of which layers 1 and 2 are known."""

    code: LocalRepository
    toolbox: Toolbox
    loaded: parsing.LoadedConfiguration
    change: Change
    checked: CheckedChange
    started: float

    @classmethod
    async def begin(cls, code: LocalRepository, toolbox: Toolbox) -> "_Examination":
        started = time.perf_counter()
        change = await code.change(code.merge_base_sha, code.head)
        config_file = (await code.read(code.merge_base_sha, [parsing.PATH])).get(parsing.PATH)
        loaded = parsing.load_from_checkout(config_file)
        settings = loaded.configuration
        kept = apply_path_filters(change, settings)
        author = PullRequestAuthor()
        checked = await reviewer.check(kept, code, toolbox, settings, author, _no_dependencies, trusted=True)
        checked = await add_unreviewed(checked, code, toolbox, author)
        return cls(code, toolbox, loaded, kept, checked, started)

    async def finish(self, *, ask_model: bool) -> Review:
        """The review, with what a model says if one is to be asked."""
        model = await self._ask() if ask_model else ModelPart(report=LayerReport(layer=Layer.model, note=_NO_MODEL))
        result = reviewer.build_review(self.checked, model)
        return finish_review(result, self.started)

    async def _ask(self) -> ModelPart:
        # Slow to import: only who asks a model waits for it.
        from bot.logging import configure
        from bot.settings import load_environment
        from pipeline.review.single_reading import SingleReading

        configure("console", level=40)
        models, own = load_environment().models, find_origin(from_fork=False, trusted=True)
        base = self.code.merge_base_sha
        reading = SingleReading(models, self.code.title, own, self.loaded.configuration, self.toolbox, base)
        return await reading.read(self.checked, self.change, self.code)


def finish_review(review: Review, started: float) -> Review:
    """The review with names for its findings, and how long it took: nobody keeps it.

    :param started: as ``time.perf_counter`` tells it.
    """
    named = {
        kind: tuple(each.model_copy(update={"id": make_finding_id(each.fingerprint)}) for each in found)
        for kind, found in (("findings", review.findings), ("in_history", review.in_history))
    }
    return review.model_copy(update={**named, "seconds": time.perf_counter() - started})


async def _no_dependencies() -> None:
    """Only GitHub can compare dependencies."""


def find_exit_code(review: Review, *, unread_ok: bool = False) -> int:
    """The exit code for a review; where linters read all of the source, nothing was left unread."""
    unread = 4 if review.unread.paths and not unread_ok else 0
    return _EXIT_CODES.get(review.decision, unread)


async def correct(code: LocalRepository, findings: Sequence[Finding]) -> list[Finding]:
    """Write the corrected files, and return the findings that were corrected.

    Leaves alone a file behind a symbolic link, and one that differs from what was reviewed, because somebody wrote to
    it or git stores it differently.

    :raises ForgeError: if there is no working tree, or a file cannot be written.
    """
    if code.top is None:
        raise ForgeError("There is no working tree, so nothing can be corrected.", "Leave out --fix.")
    wanted = autofix.select_fixable(findings)
    reviewed = await code.read(code.head, sorted({finding.path for finding in wanted}))
    files = {path: content for path, content in reviewed.items() if _is_unchanged(code.top, path, content)}
    contents, done = autofix.apply_fixes(files, wanted)
    for path, content in contents.items():
        await asyncio.to_thread(_write, code.top / path, content)
    return done


def _is_unchanged(top: Path, path: str, content: bytes) -> bool:
    file = top / path
    try:
        return file.resolve() == top.resolve() / path and file.read_bytes() == content
    except OSError:
        return False


def _write(file: Path, content: bytes) -> None:
    """Replace the file atomically, and keep its mode."""
    try:
        mode = file.stat().st_mode
        with tempfile.NamedTemporaryFile(dir=file.parent, prefix=".forge-", delete=False) as new:
            try:
                new.write(content)
                new.flush()
                Path(new.name).chmod(mode & 0o7777)
                Path(new.name).replace(file)
            except BaseException:
                Path(new.name).unlink(missing_ok=True)
                raise
    except OSError as error:
        raise ForgeError(
            f"{file} could not be written: {error.strerror}.", "The files after it were not corrected."
        ) from None
