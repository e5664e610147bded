"""Writes into a run's pull request how its review and tests ended, and marks it ready."""

from dataclasses import dataclass

from domain.github.issues import Issue
from messages import pull_request as pull_request_texts
from messages.pull_request import VerifiedResult
from pipeline.publishing import pull_requests
from pipeline.publishing.publisher import write_once
from pipeline.run_context import RunContext


@dataclass(frozen=True)
class PullRequestResult:
    """The result in one pull request.

    :param context: of the run that opened it.
    """

    context: RunContext
    number: int

    async def write(self, head: str, result: VerifiedResult) -> None:
        """Write the result into the description; people's words in it stay."""
        host, repository, number = self.context.services.host, self.context.run.repository, self.number

        async def write() -> int:
            live = await host.issue(repository, number)
            body = await self._add_to_description(live, result)
            if body is not None:
                await pull_requests.describe(self.context.services, repository, number, live.title, body)
            return number

        await write_once(self.context.services, self.context.run, f"result {head}", "description", write)

    async def mark_ready(self, head: str, result: VerifiedResult, step: str, text: str) -> bool:
        """End the draft, write the result, and show below the issue how the run ended, all in one request.

        :param step: names the last state of the comment below the issue.
        :param text: of that comment.
        :returns: False, and nothing is written, if the pull request is closed or its head is another.
        """
        live = await self.context.services.host.pull_request(self.context.run.repository, self.number)
        if not live.is_open or live.head_sha != head:
            return False

        async def write() -> int:
            return await self._write_ready(result, step, text)

        await write_once(self.context.services, self.context.run, f"ready {head}", "pull_request_state", write)
        return True

    async def _write_ready(self, result: VerifiedResult, step: str, text: str) -> int:
        host, repository, number = self.context.services.host, self.context.run.repository, self.number
        body = await self._add_to_description(await host.issue(repository, number), result)
        edit = await self.context.status.build_edit(text)
        if await pull_requests.mark_ready(self.context.services, repository, number, body, edit):
            await self.context.status.record_shown(step, edit)
        return number

    async def _add_to_description(self, live: Issue, result: VerifiedResult) -> str | None:
        """The description with the result; None if it stays the same."""
        body = pull_request_texts.add_result(live.body, result, await self.context.load_cost())
        return None if body is None or body == live.body else body
