"""Finds, creates and updates check runs on GitHub, with all their annotations."""

from collections.abc import Sequence

from bot.github.checks import batches, creation_body, find_missing, require_valid, update_body
from bot.github.client import quote_segment, repository_path
from bot.github.conversation import GitHubConversation
from bot.github.errors import bad_answer
from bot.github.payloads.checks import AnnotatedShown, AnnotationShown, CheckRunShown
from bot.github.payloads.parsing import parse, parse_all
from domain.errors import NotFound
from domain.github.checks import Annotation, CheckRun, CheckRunRef
from domain.runs.run import RepositoryRef


class GitHubCheckRuns(GitHubConversation):
    """Writes check runs as the App."""

    async def find_check_run(self, repository: RepositoryRef, head_sha: str, external_id: str) -> CheckRunRef | None:
        purpose = f"look for a check run on {head_sha[:7]} of {repository.full_name}"
        items = await self._client.items(
            repository.installation_id,
            f"{repository_path(repository)}/commits/{quote_segment(head_sha)}/check-runs",
            purpose,
            {"filter": "all", "app_id": self._client.app_id},
            key="check_runs",
        )
        runs = [one.to_domain() for one in parse_all(CheckRunShown, items, purpose)]
        ours = [one for one in runs if one.external_id == external_id and one.head_sha == head_sha]
        return max(ours, key=lambda one: one.id, default=None)

    async def create_check_run(self, repository: RepositoryRef, check: CheckRun) -> CheckRunRef:
        """Create a check run; annotations beyond the first 50 follow as updates.

        If such an update fails, the check run exists already: find it by its ``external_id`` and update it, which adds
        only what is missing.
        """
        require_valid(check)
        purpose = f"create the check run “{check.name}” on {check.head_sha[:7]} of {repository.full_name}"
        first, *others = batches(check.annotations)
        data = await self._client.write(
            repository.installation_id,
            "POST",
            f"{repository_path(repository)}/check-runs",
            purpose,
            creation_body(check, first),
        )
        ref = parse(CheckRunShown, data, purpose).to_domain()
        for batch in others:
            ref = await self._show(repository, ref.id, check, batch)
        return ref

    async def update_check_run(self, repository: RepositoryRef, check_id: int, check: CheckRun) -> CheckRunRef:
        """Sends only the annotations the check run does not show yet, so it may be repeated after a crash."""
        require_valid(check)
        missing = check.annotations
        if missing:
            missing = find_missing(missing, await self._annotations(repository, check_id))
        first, *others = batches(missing)
        ref = await self._show(repository, check_id, check, first)
        for batch in others:
            ref = await self._show(repository, check_id, check, batch)
        return ref

    async def _show(
        self, repository: RepositoryRef, check_id: int, check: CheckRun, annotations: Sequence[Annotation]
    ) -> CheckRunRef:
        purpose = f"update the check run “{check.name}” on {check.head_sha[:7]} of {repository.full_name}"
        address = f"{repository_path(repository)}/check-runs/{check_id}"
        body = update_body(check, annotations)
        data = await self._client.write(repository.installation_id, "PATCH", address, purpose, body)
        return parse(CheckRunShown, data, purpose).to_domain()

    async def _annotations(self, repository: RepositoryRef, check_id: int) -> list[AnnotationShown]:
        """The annotations that a check run shows; GitHub's count tells whether the list is complete.

        GitHub may not show a new check run yet; then it has none. If it is gone, the write that follows fails.
        """
        purpose = f"read the annotations of a check run of {repository.full_name}"
        address = f"{repository_path(repository)}/check-runs/{check_id}"
        try:
            found = await self._client.get(repository.installation_id, address, purpose)
        except NotFound:
            return []
        count = parse(AnnotatedShown, found, purpose).output.annotations_count
        if count == 0:
            return []
        items = await self._client.items(repository.installation_id, f"{address}/annotations", purpose)
        if len(items) < count:
            raise bad_answer(purpose, f"{len(items)} items of {count}")
        return parse_all(AnnotationShown, items, purpose)
