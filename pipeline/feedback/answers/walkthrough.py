"""Answers ``/forge walkthrough`` in one comment, which the next one for a newer head brings up to date."""

from dataclasses import dataclass

from agents.answers.walker import DraftedWalk, build_question, list_parts, select_seams
from agents.llm.ask import Question
from agents.review.model.file_selection import FileSelection
from agents.review.syntax import outline_files
from domain.config.configuration import Configuration
from domain.review.changes import SkippedFile
from domain.text.redaction import redact_outgoing
from domain.value import Value
from messages import descriptions
from messages import descriptions as texts
from pipeline.checkout import load_change
from pipeline.durable.steps import run_outside_journal
from pipeline.feedback.answers.change_question import ask_about_change
from pipeline.feedback.answers.request import AnswerRequest
from pipeline.publishing import comments
from pipeline.run_context import RunContext
from pipeline.verdicts.settings import load_configuration
from safety.containment import CodeOrigin


class WalkedChange(Value):
    """What a walk is about; in journals."""

    title: str
    configuration: Configuration


@dataclass(frozen=True)
class WalkthroughAnswer:
    """The answer to one command."""

    context: RunContext
    request: AnswerRequest
    key: str

    async def find_answer(self) -> str:
        """Why there is no walk; empty if it stands in its comment."""
        step = self.context.journal.step
        about = await step("what is walked through", self._load)
        reading = await run_outside_journal(self._select, about)
        if not reading.groups:
            return texts.report_nothing(reading.not_read)

        async def build() -> Question:
            return build_question(f"walkthrough {self.key}", about.title, reading, redact_outgoing)

        walk = await ask_about_change(self.context, about.configuration, build, DraftedWalk)
        if isinstance(walk, str):
            return walk
        if not await step("is it still allowed", self.request.may_still_ask, self.context.services):
            return descriptions.report_lost_permission(self.request.asked.verb)
        parts = list_parts(walk, reading)
        named = {file.path for part in parts for file in part.files}
        shown = dict.fromkeys(part.path for group in reading.groups for part in group)
        unnamed = [SkippedFile(path=path, reason=texts.UNNAMED) for path in shown if path not in named]
        left_out = [*unnamed, *reading.not_read]
        if not parts:
            return texts.report_nothing(left_out)
        marker = self.context.services.markers.make("walkthrough", self._name)
        text = texts.render_walkthrough(parts, left_out, self.context.run.head_sha, marker)
        is_shown = await step("show it", self._show, marker, text)
        return "" if is_shown else texts.render_walkthrough(parts, left_out, self.context.run.head_sha)

    async def _select(self, about: WalkedChange) -> FileSelection:
        mirror, never = await self.context.fetch_mirror(), about.configuration.review.never_send
        change = await load_change(mirror, self.context.run)
        versions = await mirror.versions(change.files)
        outlines = await outline_files(change, versions, self.context.services.toolbox, CodeOrigin.stranger)
        return select_seams(change, versions, outlines, never, redact_outgoing)

    @property
    def _name(self) -> str:
        """The same for every head of the pull request."""
        return f"walkthrough {self.context.run.repository.id} {self.context.run.number}"

    async def _load(self) -> WalkedChange:
        services, run = self.context.services, self.context.run
        live = await services.host.pull_request(run.repository, run.number)
        return WalkedChange(title=live.title, configuration=(await load_configuration(services, run)).configuration)

    async def _show(self, marker: str, text: str) -> bool:
        run = self.context.run
        return await comments.keep_comment(self.context.services, run.repository, run.number, self._name, marker, text)
