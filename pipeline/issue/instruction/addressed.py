"""Says below a pull request what became of each thread, once all that ``/forge address`` works off are done."""

import structlog

from domain.errors import ForgeError
from domain.runs.run import Run, Trigger
from memory.runs import runs
from messages import updates as texts
from pipeline.context import Services
from pipeline.issue.instruction.kept_commits import find_commit
from pipeline.publishing import comments
from pipeline.publishing.instructions import Instruction, load_instruction, load_instructions

log = structlog.get_logger(__name__)


async def tell_end(services: Services, run: Run) -> None:
    """Say it once, if this run was the last one of such a command; may be repeated."""
    asked = await load_instruction(services.database, run)
    if not asked.is_of_others:
        return
    past = await runs.list_for_pull_request(services.database, run.repository.id, run.number, with_questions=True)
    every = {each.run.id: each.run for each in past if each.run.trigger is Trigger.instruction}
    known = await load_instructions(services.database, list(every))
    beside = sorted(run_id for run_id, each in known.items() if each.series == asked.series)
    if any(not every[run_id].state.is_final and run_id != run.id for run_id in beside):
        return
    threads = [await _describe(services, every[run_id], known[run_id]) for run_id in beside]
    try:
        text = texts.report_end(threads)
        await comments.answer_below(services, run.repository, run.number, f"{asked.series} end", text)
    except ForgeError as error:  # a conversation that takes no answer keeps nothing from ending
        log.warning("threads.end_not_told", run=run.id, error=str(error))


async def _describe(services: Services, run: Run, asked: Instruction) -> texts.AddressedThread:
    page = services.host.clone_url(run.repository).removesuffix(".git")
    root = asked.comment.comment.thread or asked.comment.comment.id
    where = asked.path if asked.line is None else f"{asked.path}:{asked.line}"
    commit = (await find_commit(services.database, run)).commit
    return texts.AddressedThread(where, f"{page}/pull/{run.number}#discussion_r{root}", run, commit)
