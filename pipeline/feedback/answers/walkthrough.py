"""Answers ``/forge walkthrough`` in one comment, which the next one for a newer head brings up to date."""

from agents.llm.ask import Question
from agents.review.explanations import DraftedWalk, build_walk_question, list_parts, select_seams
from agents.review.model.file_selection import FileSelection
from agents.review.syntax import outline_files
from domain.config.configuration import Configuration
from domain.review.changes import SkippedFile
from domain.value import Value
from messages import descriptions as texts
from pipeline.checkout import load_change
from pipeline.config.loading import load_configuration
from pipeline.durable.journal import run_outside_journal
from pipeline.feedback.answers.question import ask_about_change
from pipeline.feedback.answers.request import AnswerRequest
from pipeline.publishing import comments
from pipeline.run_context import RunContext
from safety.containment import CodeOrigin


class WalkedChange(Value):
    """What a walk is about; in journals."""

    title: str
    configuration: Configuration


async def walk_through(context: RunContext, request: AnswerRequest, key: str) -> str:
    """Walk through a change in its comment; why there is no walk, or an empty text if it stands there."""
    services, run, step = context.services, context.run, context.journal.step
    about = await step("what is walked through", _load, context)
    reading = await run_outside_journal(_select, context, about)
    if not reading.groups:
        return texts.report_nothing(reading.not_read)

    async def build() -> Question:
        return build_walk_question(f"walkthrough {key}", about.title, reading)

    walk = await ask_about_change(context, about.configuration, build, DraftedWalk)
    if isinstance(walk, str):
        return walk
    if not await step("is it still allowed", request.may_still_ask, services):
        return texts.report_lost_permission(request.asked.verb)
    parts = list_parts(walk, reading)
    named = {file.path for part in parts for file in part.files}
    shown = dict.fromkeys(part.path for group in reading.groups for part in group)
    unnamed = [SkippedFile(path=path, reason=texts.UNNAMED) for path in shown if path not in named]
    left_out = [*unnamed, *reading.not_read]
    if not parts:
        return texts.report_nothing(left_out)
    name = f"walkthrough {run.repository.id} {run.number}"  # the same for every head of the pull request
    marker = services.markers.make("walkthrough", name)
    text = texts.render_walkthrough(parts, left_out, run.head_sha, marker)
    where = (services, run.repository, run.number, name, marker, text)
    is_shown = await step("show it", comments.keep_comment, *where)
    return "" if is_shown else texts.render_walkthrough(parts, left_out, run.head_sha)


async def _load(context: RunContext) -> WalkedChange:
    services, run = context.services, context.run
    live = await services.host.pull_request(run.repository, run.number)
    return WalkedChange(title=live.title, configuration=await load_configuration(services, run.repository))


async def _select(context: RunContext, about: WalkedChange) -> FileSelection:
    mirror, never = await context.fetch_mirror(), about.configuration.review.never_send
    change = await load_change(mirror, context.run)
    versions = await mirror.versions(change.files)
    outlines = await outline_files(change, versions, context.services.toolbox, CodeOrigin.stranger)
    return select_seams(change, versions, outlines, never)
