"""Draws the review of one head together: the code, layers 1 and 2, what people dismissed, and the checkpoint."""

import asyncio
from collections.abc import Collection

from pydantic import JsonValue

from agents.review import reviewer
from agents.review.reviewer import Checked, ModelPart
from domain.runs.run import Run
from memory.findings import dismissals, findings
from memory.runs import checkpoints, runs
from pipeline.checkout import fetch_mirror
from pipeline.config import loading, memory_file
from pipeline.config.check import ConfigCheck, config_check
from pipeline.context import Services
from pipeline.publishing.publisher import Publisher
from pipeline.verdicts.settings import Settings, configured, is_own
from pipeline.verdicts.suppression import heeded
from safety.eligibility import NEWCOMERS
from safety.review_update import with_history
from safety.risk import Author

EXAMINED = frozenset({loading.PATH, memory_file.PATH})
"""Files by which people steer Forge: a pull request that changes one gets the check ``Forge / config``."""


class Drawing:
    """The parts of one review. Each may be repeated after a crash."""

    def __init__(self, services: Services, run: Run) -> None:
        self._services = services
        self._run = run

    async def check(self, settings: Settings) -> JsonValue:
        """Run layers 1 and 2 on the code."""
        services, run = self._services, self._run
        author = Author(
            from_fork=settings.pull_request.is_from_fork(run.repository.id),
            first_time=settings.pull_request.author_association in NEWCOMERS and not settings.is_own,
        )
        mirror = await fetch_mirror(services, run)
        change = await mirror.change(await mirror.merge_base(run.base_sha, run.head_sha), run.head_sha)
        kept = reviewer.within(change, settings.configuration)
        checked = await reviewer.check(
            kept,
            mirror,
            services.toolbox,
            settings.configuration,
            author,
            lambda: services.host.dependency_changes(run.repository, change.merge_base, run.head_sha),
            owned=await is_own(services, run, settings.pull_request),
        )
        searched = await reviewer.with_commits(checked, mirror, services.toolbox, settings.configuration, author)
        return searched.model_dump(mode="json")

    async def draw(self, checked: Checked, model: ModelPart) -> JsonValue:
        """Draw the review together, leave out what people do not want, and keep it as the phase's checkpoint."""
        services, run = self._services, self._run
        earlier = await findings.credentials(services.database, run.repository.id, run.number)
        review = with_history(reviewer.draw(checked, model), (*checked.in_passing, *earlier))
        judged = await heeded(services, run.repository, review)
        timed = judged.model_copy(update={"seconds": await self._seconds()})
        await checkpoints.save_review(services.database, run, timed, services.clock.now())
        return review.decision

    async def leaked(self) -> JsonValue:
        """Whether an earlier head held a credential for which nobody answered: no filter of paths covers that."""
        database, run = self._services.database, self._run
        earlier = {each.fingerprint for each in await findings.credentials(database, run.repository.id, run.number)}
        return bool(earlier - set(await dismissals.among(database, run.repository, earlier)))

    async def _seconds(self) -> float:
        began = await runs.began(self._services.database, self._run.id)
        return 0.0 if began is None else (self._services.clock.now() - began).total_seconds()

    async def check_files(self, touched: Collection[str]) -> JsonValue:
        """Say in a check of its own whether Forge's files are right as the pull request has them; they take no effect.

        :param touched: of :data:`EXAMINED`, those that it changes; at least one.
        """
        services, run = self._services, self._run
        at_head = await (await fetch_mirror(services, run)).read(run.head_sha, sorted(touched))
        found: list[ConfigCheck] = []
        if loading.PATH in touched:
            loaded = await configured(services, run)
            ceilings = services.ceilings.of_configuration
            there = at_head.get(loading.PATH)
            found.append(await asyncio.to_thread(config_check, there, loaded.configuration, loaded.below, ceilings))
        if memory_file.PATH in touched:
            found.append(await memory_file.check(services, run.repository, at_head.get(memory_file.PATH)))
        shown = memory_file.together(found)
        await Publisher.of(services).show_configuration(run, shown.conclusion, shown.text, shown.annotations)
        return shown.conclusion
