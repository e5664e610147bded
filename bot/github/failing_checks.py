"""Reads which checks of other Apps fail on a commit, and what they say of it."""

from collections.abc import Collection, Sequence

from bot.github.client import quote_segment, repository_path
from bot.github.payloads.checks import AnnotationShown
from bot.github.payloads.failing_checks import SpokenRun, SpokenStatus
from bot.github.payloads.parsing import parse_all
from bot.github.workflow_runs import GitHubActions
from domain.errors import Forbidden, NotFound
from domain.github.failing_checks import FailingCheck
from domain.github.workflow_runs import SLUG
from domain.ports import FailingChecks
from domain.runs.run import RepositoryRef


class GitHubFailingChecks(GitHubActions, FailingChecks):
    """Check runs of every App but this one, and commit statuses."""

    async def failures(self, repository: RepositoryRef, head_sha: str) -> Sequence[FailingCheck]:
        shown = await self._read_results(repository, head_sha)
        return [failing for one in shown if (failing := one.to_domain()) is not None]

    async def green_checks(self, repository: RepositoryRef, head_sha: str) -> Collection[str]:
        return {one.name for one in await self._read_results(repository, head_sha) if one.is_passed}

    async def awaits_checks(self, repository: RepositoryRef, head_sha: str) -> bool:
        return any(one.is_pending for one in await self._read_results(repository, head_sha))

    async def _read_results(self, repository: RepositoryRef, head_sha: str) -> list[SpokenRun | SpokenStatus]:
        """The newest of each check of other Apps, and of each status."""
        purpose = f"read the checks on {head_sha[:7]} of {repository.full_name}"
        commit = f"{repository_path(repository)}/commits/{quote_segment(head_sha)}"
        who = repository.installation_id
        runs = await self._client.items(who, f"{commit}/check-runs", purpose, {"filter": "latest"}, key="check_runs")
        statuses = parse_all(SpokenStatus, await self._client.items(who, f"{commit}/statuses", purpose), purpose)
        of_others = (one for one in parse_all(SpokenRun, runs, purpose) if not one.is_of(self._client.app_id))
        newest = {one.context: one for one in reversed(statuses)}  # the last reported comes first
        return [*of_others, *newest.values()]

    async def check_details(self, repository: RepositoryRef, check: FailingCheck, most: int) -> str:
        """What GitHub does not show any more, or not to this App, is left out."""
        if check.id is None:
            return ""
        lines = await self._read_annotations(repository, check) if check.annotated else []
        try:
            log = await self.job_log(repository, check.id, most) if check.app == SLUG else None
        except (Forbidden, NotFound):
            log = None
        return "\n".join([*lines, *([log] if log else [])])

    async def _read_annotations(self, repository: RepositoryRef, check: FailingCheck) -> list[str]:
        purpose = f"read the annotations of the check run “{check.name}” of {repository.full_name}"
        address = f"{repository_path(repository)}/check-runs/{check.id}/annotations"
        shown = parse_all(
            AnnotationShown, await self._client.items(repository.installation_id, address, purpose), purpose
        )
        return [f"{each.path}:{each.start_line}: {each.message or each.title or ''}" for each in shown]
