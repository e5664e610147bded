"""Answers ``/forge describe``: proposes a title and a description, and sets them if somebody takes them."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

from agents.llm.ask import Question
from agents.review.explanations import DescribedChange, DraftedDescription, build_description_question
from domain.config.configuration import Configuration
from domain.errors import HostFailure
from domain.gates import digest
from domain.globs import matches
from domain.text.description import (
    choose_template,
    compose,
    is_template,
    list_closed_issues,
    split_sections,
    strip_marks,
    strip_own,
)
from domain.text.redaction import redact_outgoing
from domain.value import Value
from memory.runs import model_answers
from messages import descriptions
from messages import descriptions as texts
from messages.automation import RUN_TRAILER
from pipeline.automation.level import find_opening_obstacle
from pipeline.checkout import load_change
from pipeline.config.loading import load_configuration
from pipeline.feedback.answers.question import ask_about_change
from pipeline.feedback.answers.request import AnswerRequest
from pipeline.publishing import pull_requests
from pipeline.run_context import RunContext
from workspace.snapshot import Snapshot

_MOST_COMMITS, _MOST_TEMPLATES = 100, 20
_NUMBER = re.compile(r"(?<![\w/#&])#(\d{1,9})\b")


class Description(Value):
    """A title and a description, as they are or as they are proposed; in journals and stored."""

    title: str
    body: str

    def name(self, what: str) -> str:
        """The key under which something about exactly this description is kept."""
        return digest(what, self.title, self.body.replace("\r\n", "\n").rstrip())


class DescriptionNow(Value):
    """The description at this moment, with what is closed by it; in journals."""

    description: Description
    issue: str = ""
    configuration: Configuration


class WrittenBefore(Value):
    """What of the repository a description is written from, beside the diff; in journals.

    :param commits: the first lines of the pull request's commits, oldest first.
    """

    template: str = ""
    commits: tuple[str, ...] = ()


@dataclass(frozen=True)
class DescriptionAnswer:
    """The answer to one command.

    :param applies: what was proposed is to be set.
    """

    context: RunContext
    request: AnswerRequest
    key: str
    applies: bool

    async def find_answer(self) -> str:
        """The answer; the description may have been set with it."""
        step = self.context.journal.step
        now = await step("what it says now", self._load)
        if not self.applies:
            return await self._propose(now)
        kept = (self.context.database, self.context.run)
        if await step("is it set already", model_answers.find, *kept, now.description.name("set")) is not None:
            return texts.ALREADY_SET
        known = await step("what was proposed", model_answers.find, *kept, now.description.name("proposed"))
        if known is None:
            return await self._propose(now, texts.PROPOSED_ANEW)
        return await step("set it", self._set, now.description, Description.model_validate(known))

    async def _propose(self, now: DescriptionNow, note: str = "") -> str:
        before = await self.context.journal.step("what was written before", self._load_written, now)
        build = partial(self._build_question, now, before)
        drafted = await ask_about_change(self.context, now.configuration, build, DraftedDescription)
        if isinstance(drafted, str):
            return drafted
        if not await self.context.journal.step(
            "is it still allowed", self.request.may_still_ask, self.context.services
        ):
            return descriptions.report_lost_permission(self.request.asked.verb)
        sections = _draft_sections(now, before, drafted)
        proposed = _compose(now, before, drafted.title, sections)
        if proposed.name("") == now.description.name(""):
            return texts.NOTHING_TO_ADD
        if len(proposed.body) > texts.LONGEST_BODY:
            return texts.TOO_LONG
        await self.context.journal.step("keep the proposal", self._keep, now.description, proposed)
        return texts.render_proposal(
            proposed.title,
            strip_marks(redact_outgoing(compose(before.template, "", sections))),
            strip_marks(proposed.body),
            self.context.run.head_sha,
            note,
            has_own=bool(strip_own(now.description.body).strip()),
        )

    async def _build_question(self, now: DescriptionNow, before: WrittenBefore) -> Question:
        own = strip_own(now.description.body)
        about = DescribedChange(
            title=now.description.title,
            body=own,
            template=before.template,
            issue=now.issue,
            commits=before.commits,
        )
        change = await load_change(await self.context.fetch_mirror(), self.context.run)
        never = now.configuration.review.never_send
        return build_description_question(f"describe {self.key}", about, change, never)

    # --- steps -------------------------------------------------------------------------------------------------

    async def _load(self) -> DescriptionNow:
        services, run = self.context.services, self.context.run
        description = await self._load_description()
        return DescriptionNow(
            description=description,
            issue=await self._load_issue(description),
            configuration=await load_configuration(services, run.repository),
        )

    async def _load_description(self) -> Description:
        shown = await self.context.services.host.issue(self.context.run.repository, self.context.run.number)
        return Description(title=shown.title, body=shown.body)

    async def _load_issue(self, description: Description) -> str:
        """The text of the first issue that it closes; empty if GitHub shows none."""
        for number in list_closed_issues(description.body)[:1]:
            try:
                issue = await self.context.services.host.issue(self.context.run.repository, number)
            except HostFailure:  # it is gone, or may not be read
                return ""
            return "" if issue.is_pull_request else f"{issue.title}\n\n{issue.body}"
        return ""

    async def _load_written(self, now: DescriptionNow) -> WrittenBefore:
        mirror, run, never = await self.context.fetch_mirror(), self.context.run, now.configuration.review.never_send
        base = await mirror.merge_base(run.base_sha, run.head_sha)
        listed = await mirror.list_commits(base, run.head_sha, RUN_TRAILER, _MOST_COMMITS)
        template, default = "", await mirror.fetch_default()
        if default is not None:
            files = (await Snapshot.of(mirror, default)).files
            paths = [path for path in files if is_template(path) and not matches(path, never)]
            found = await mirror.read(default, paths[:_MOST_TEMPLATES])
            texts_of = {path: text.decode(errors="replace") for path, text in found.items()}
            template = choose_template(texts_of, now.description.body)
        return WrittenBefore(template=template, commits=tuple(commit.subject for commit in listed))

    async def _keep(self, now: Description, proposed: Description) -> None:
        value = proposed.model_dump(mode="json")
        await model_answers.keep(
            self.context.database, self.context.run, now.name("proposed"), value, self.context.now()
        )

    async def _set(self, now: Description, proposed: Description) -> str:
        """Set what was proposed, if it was proposed for what is there; may be repeated."""
        services, run = self.context.services, self.context.run
        if not await self.request.may_still_ask(services):
            return descriptions.report_lost_permission(self.request.asked.verb)
        obstacle = await find_opening_obstacle(services, run.repository)
        if obstacle is not None:
            return texts.report_obstacle(obstacle)
        live = (await self._load_description()).name("")
        if live == proposed.name(""):
            return texts.APPLIED
        if live != now.name(""):
            return texts.CHANGED_MEANWHILE
        await model_answers.keep(self.context.database, run, proposed.name("set"), {}, self.context.now())
        await pull_requests.describe(services, run.repository, run.number, proposed.title, proposed.body)
        return texts.APPLIED


def _draft_sections(now: DescriptionNow, before: WrittenBefore, drafted: DraftedDescription) -> Mapping[str, str]:
    """The model's words, inert, by the name of the template's section."""
    body = strip_own(now.description.body)
    said = "\n".join([now.description.title, body, now.issue, *before.commits])
    issues = {int(number) for number in _NUMBER.findall(said)}
    closed = list_closed_issues("\n".join([body, *before.commits]))
    names = {section.name for section in split_sections(before.template)}
    sections: dict[str, str] = {}
    for section in drafted.sections:
        name = " ".join(section.heading.lower().lstrip("# ").split()) if len(names) > 1 else ""
        shown = texts.render_section(section.text, issues, closed)
        sections[name] = "\n\n".join(filter(None, (sections.get(name, ""), shown)))
    return sections


def _compose(now: DescriptionNow, before: WrittenBefore, title: str, sections: Mapping[str, str]) -> Description:
    """What is proposed: the model's words in the sections of the template, below those of people."""
    return Description(
        title=texts.render_title(title) or now.description.title,
        body=redact_outgoing(compose(before.template, strip_own(now.description.body), sections)),
    )
