"""Checks the files by which people steer Forge, as a pull request has them (``Forge / config``)."""

import asyncio
from collections.abc import Collection, Sequence

from domain.review.review import Conclusion
from domain.runs.run import Run
from pipeline.checkout import fetch_mirror
from pipeline.config import check, parsing
from pipeline.config.check import ConfigCheck, check_configuration
from pipeline.config.loading import load_live
from pipeline.context import Services
from pipeline.publishing import checks


def list_own(paths: Collection[str]) -> list[str]:
    """The files by which people steer Forge, or nearly so; a change of one gets the check ``Forge / config``."""
    return sorted(path for path in paths if path == parsing.PATH or check.is_misplaced(path))


async def check_files(services: Services, run: Run, touched: Sequence[str]) -> Conclusion:
    """Check Forge's own files as the pull request has them, and show it; they take no effect.

    :param touched: those of :func:`list_own` that it changes; at least one.
    """
    at_head = await (await fetch_mirror(services, run)).read(run.head_sha, touched)
    found: list[ConfigCheck] = []
    if parsing.PATH in touched:
        loaded = await load_live(services, run.repository)
        ceilings = services.ceilings.of_configuration
        there = at_head.get(parsing.PATH)
        known = (loaded.configuration, loaded.below, ceilings, services.public_url)
        found.append(await asyncio.to_thread(check_configuration, there, *known))
    found += check.check_misplaced(at_head)
    if not found:
        return Conclusion.success
    shown = check.merge_checks(found)
    await checks.show_configuration(services, run, shown.conclusion, shown.text, shown.annotations)
    return shown.conclusion
