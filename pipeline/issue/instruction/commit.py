"""Makes the commit of an instruction, whose message names who asked for it."""

from domain.runs.patches import ChangeSet
from domain.runs.plan import Plan, sort_tasks
from domain.text.redaction import redact_outgoing
from messages import pull_request as texts
from pipeline.context import Services
from pipeline.publishing.instructions import Instruction
from pipeline.run_context import RunContext


async def render_trailer(services: Services, asked: Instruction) -> str:
    """Names who asked, with the address by which GitHub knows them."""
    forge = await services.host.signature(asked.comment.repository)
    sender = asked.comment.sender
    return f"Co-authored-by: {sender.login} <{sender.id}+{sender.login}@{forge.email.rpartition('@')[2]}>"


def render_message(plan: Plan, summary: str, run_id: str, trailer: str) -> str:
    """The message of the one commit: what is different now, not what was to be done.

    :param summary: of whoever carried it out, untrusted.
    """
    return redact_outgoing(f"{texts.render_change_message(name_change(plan), summary, run_id)}{trailer}\n")


def name_change(plan: Plan) -> str:
    """What the change of a plan is called."""
    return plan.title or sort_tasks(plan)[0].title


async def commit_change(context: RunContext, change: ChangeSet, message: str) -> str:
    """The commit of a change on top of the head of a run; the same change makes the same one."""
    mirror = await context.fetch_mirror()
    return await mirror.commit_change(context.run.head_sha, change, message, *await context.load_stamp())
