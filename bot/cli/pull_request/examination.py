"""Reads one pull request from GitHub and reviews it, as the App would, without keeping anything."""

import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from agents.review import reviewer
from agents.review.checks.credentials import add_transient_commits
from agents.review.layers import apply_path_filters
from agents.toolbox import Toolbox
from bot.cli.review import finish_review
from domain.github.pull_requests import PullRequest
from domain.review.changes import Change
from domain.review.review import Review
from domain.runs.run import RepositoryRef
from github.host import PersonalHost
from pipeline.checkout import find_base
from pipeline.config import parsing
from pipeline.review.single_reading import SingleReading
from safety.eligibility import NEWCOMERS, find_exclusion, nothing_left
from safety.risk import PullRequestAuthor
from safety.suppression import with_dismissals, with_history
from workspace.mirror import Mirror, Mirrors
from workspace.safe_copy import temporary_folder


@dataclass(frozen=True)
class Examined:
    """A pull request, ready to be reviewed.

    :param base: its base branch as it is now.
    :param mirror: has its head and base.
    :param loaded: the configuration of the base branch; the head has no say.
    :param default_head: the newest commit of the default branch; None if there is none.
    """

    repository: RepositoryRef
    pull_request: PullRequest
    base: str
    mirror: Mirror
    loaded: parsing.LoadedConfiguration
    default_head: str | None

    def leave_out_linters(self) -> "Examined":
        """The same without the linters that the repository configures: those may execute what the head brings."""
        configuration = self.loaded.configuration
        review = configuration.review.model_copy(update={"linters": ()})
        loaded = replace(self.loaded, configuration=configuration.model_copy(update={"review": review}))
        return replace(self, loaded=loaded)

    async def load_change(self) -> Change:
        """What it changes, with the files that path filters exclude."""
        head = self.pull_request.head_sha
        return await self.mirror.change(await self.mirror.merge_base(self.base, head), head)

    async def find_exclusion(self) -> str | None:
        """Why the repository does not want it reviewed unasked; None if it does."""
        settings = self.loaded.configuration.review
        reason = find_exclusion(self.pull_request, settings, self.repository.id)
        if reason is None:
            reason = nothing_left((await self.load_change()).paths, settings)
        return None if reason is None else reason.text


@asynccontextmanager
async def open_examination(
    host: PersonalHost, repository: RepositoryRef, pull: PullRequest
) -> AsyncGenerator[Examined]:
    """Fetch the code into a folder that is removed afterwards. The token goes to git in its environment only.

    :raises CodeAccessError: it cannot be fetched.
    """
    with temporary_folder("mirror") as folder:
        authorization = await host.git_credentials(repository)
        mirror = await Mirrors(Path(folder)).mirror(repository.id, host.clone_url(repository), authorization)
        base = await find_base(host, repository, pull)
        await mirror.fetch(pull.head_sha, base, pull.number, pull.base_ref)
        files = await mirror.read(base, [parsing.PATH])
        loaded = parsing.load_from_checkout(files.get(parsing.PATH))
        default = base if pull.base_ref == pull.default_branch else await mirror.fetch_default()
        yield Examined(repository, pull, base, mirror, loaded, default)


async def review_pull_request(
    host: PersonalHost, examined: Examined, toolbox: Toolbox, reading: SingleReading
) -> Review:
    """Review it with all layers.

    :param reading: asks the model, if one is set up.
    :raises CodeHostError: if GitHub cannot be asked about its dependencies.
    :raises CodeAccessError: if its code cannot be read.
    """
    started = time.perf_counter()
    pull, repository, configuration = examined.pull_request, examined.repository, examined.loaded.configuration
    author = PullRequestAuthor(
        from_fork=pull.is_from_fork(repository.id), first_time=pull.author_association in NEWCOMERS
    )
    change = apply_path_filters(await examined.load_change(), configuration)
    checked = await reviewer.check(
        change,
        examined.mirror,
        toolbox,
        configuration,
        author,
        partial(host.dependency_changes, repository, change.merge_base, pull.head_sha),
    )
    checked = await add_transient_commits(checked, examined.mirror, toolbox, configuration, author)
    model = await reading.read(checked, change, examined.mirror)
    review = with_dismissals(with_history(reviewer.build_review(checked, model), checked.in_passing), ())
    return finish_review(review, started)
