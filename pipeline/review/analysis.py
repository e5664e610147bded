"""Draws the review of one head together: the code, layers 1 and 2, what people dismissed, and the checkpoint."""

import asyncio
from collections.abc import Collection

from pydantic import JsonValue

from agents.review import reviewer
from agents.review.reviewer import CheckedChange, ModelPart
from domain.runs.run import Run
from memory.findings import dismissals, findings
from memory.runs import checkpoints, runs
from pipeline.checkout import fetch_mirror
from pipeline.config import loading, memory_file
from pipeline.config.check import ConfigCheck, check_configuration
from pipeline.context import Services
from pipeline.publishing import run_check
from pipeline.verdicts.settings import RunSettings, is_own_pull_request, load_configuration
from pipeline.verdicts.suppression import apply_dismissals
from safety.eligibility import NEWCOMERS
from safety.review_update import with_history
from safety.risk import Author

EXAMINED = frozenset({loading.PATH, memory_file.PATH})
"""Files by which people steer Forge: a pull request that changes one gets the check ``Forge / config``."""


class ReviewAnalysis:
    """The parts of one review. Each may be repeated after a crash."""

    def __init__(self, services: Services, run: Run) -> None:
        self._services = services
        self._run = run

    async def run_checks(self, settings: RunSettings) -> JsonValue:
        """Run layers 1 and 2 on the code."""
        services, run = self._services, self._run
        author = Author(
            from_fork=settings.pull_request.is_from_fork(run.repository.id),
            first_time=settings.pull_request.author_association in NEWCOMERS and not settings.is_own,
        )
        mirror = await fetch_mirror(services, run)
        change = await mirror.change(await mirror.merge_base(run.base_sha, run.head_sha), run.head_sha)
        kept = reviewer.apply_path_filters(change, settings.configuration)
        checked = await reviewer.check(
            kept,
            mirror,
            services.toolbox,
            settings.configuration,
            author,
            lambda: services.host.dependency_changes(run.repository, change.merge_base, run.head_sha),
            owned=await is_own_pull_request(services, run, settings.pull_request),
        )
        searched = await reviewer.add_transient_commits(
            checked, mirror, services.toolbox, settings.configuration, author
        )
        return searched.model_dump(mode="json")

    async def build_review(self, checked: CheckedChange, model: ModelPart) -> JsonValue:
        """Draw the review together, leave out what people do not want, and keep it as the phase's checkpoint."""
        services, run = self._services, self._run
        earlier = await findings.load_credentials(services.database, run.repository.id, run.number)
        review = with_history(reviewer.build_review(checked, model), (*checked.in_passing, *earlier))
        judged = await apply_dismissals(services, run.repository, review)
        timed = judged.model_copy(update={"seconds": await self._count_seconds()})
        await checkpoints.save_review(services.database, run, timed, services.clock.now())
        return review.decision

    async def has_leaked(self) -> JsonValue:
        """Whether an earlier head held a credential for which nobody answered: no filter of paths covers that."""
        database, run = self._services.database, self._run
        earlier = {
            each.fingerprint for each in await findings.load_credentials(database, run.repository.id, run.number)
        }
        return bool(earlier - set(await dismissals.find_by_fingerprint(database, run.repository, earlier)))

    async def _count_seconds(self) -> float:
        began = await runs.get_started_at(self._services.database, self._run.id)
        return 0.0 if began is None else (self._services.clock.now() - began).total_seconds()

    async def check_files(self, touched: Collection[str]) -> JsonValue:
        """Say in a check of its own whether Forge's files are right as the pull request has them; they take no effect.

        :param touched: of :data:`EXAMINED`, those that it changes; at least one.
        """
        services, run = self._services, self._run
        at_head = await (await fetch_mirror(services, run)).read(run.head_sha, sorted(touched))
        found: list[ConfigCheck] = []
        if loading.PATH in touched:
            loaded = await load_configuration(services, run)
            ceilings = services.ceilings.of_configuration
            there = at_head.get(loading.PATH)
            found.append(
                await asyncio.to_thread(check_configuration, there, loaded.configuration, loaded.below, ceilings)
            )
        if memory_file.PATH in touched:
            found.append(await memory_file.check(services, run.repository, at_head.get(memory_file.PATH)))
        shown = memory_file.merge_checks(found)
        await run_check.show_configuration(services, run, shown.conclusion, shown.text, shown.annotations)
        return shown.conclusion
