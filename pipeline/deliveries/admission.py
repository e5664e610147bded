"""Admits runs of issues: on the code as it is now, one at a time, and only for who may ask."""

from pydantic import BaseModel

from domain.commands import LabelledIssue, Repeat
from domain.errors import NotFound
from domain.github.pull_requests import PullRequest
from domain.github.seen import EventSnapshot, is_edited
from domain.runs.run import RepositoryRef, Run, Trigger
from domain.slash.commands import PlainCommand
from domain.slash.verbs import Verb
from domain.text.redaction import redact_outgoing
from memory.budgets import model_answers
from memory.ledger import ledger
from memory.runs import runs
from memory.runs.runs import Admission, Candidate
from pipeline import consistent_reads
from pipeline.automation.level import find_opening_obstacle
from pipeline.config import loading
from pipeline.context import Services
from pipeline.gates.actor import load_actor
from safety.authorization import authorise
from safety.eligibility import asks_for_run
from safety.required_checks import check_name

CLOSED = "it is closed"
IN_PROGRESS = "it is being worked on"
EMPTY = "the repository has no commit to begin from"
EDITED = "somebody edited it since this was asked for; read it again, and ask again if that is what you want"


class FencedPullRequest(BaseModel):
    """The pull request at this moment, and the fencing token from just before."""

    fence: int
    pull_request: PullRequest


async def load_with_fence(
    services: Services, repository: RepositoryRef, number: int, seen: EventSnapshot | None
) -> FencedPullRequest:
    """Look at a pull request before something begins or ends there.

    :raises Behind: if GitHub answers with what was there before ``seen``.
    """
    fence = await runs.get_fence(services.database, repository.id, number)
    return FencedPullRequest(
        fence=fence, pull_request=await consistent_reads.load_pull_request(services, repository, number, seen)
    )


async def choose_check_name(services: Services, repository: RepositoryRef, pull_request: PullRequest) -> str:
    """The name of the check that says the verdict on a pull request, by the branch it goes into now."""
    base, default = pull_request.base_ref, pull_request.default_branch
    if base == default:
        return check_name(base, default, ())
    try:
        required = await services.host.required_checks(repository, base)
    except NotFound:  # the branch is gone
        required = None
    return redact_outgoing(check_name(base, default, required))


class Admitted(BaseModel):
    """A run and those it put an end to; without a run, ``why`` says what spoke against one."""

    run: Run | None = None
    superseded: tuple[Run, ...] = ()
    why: str = ""


def build_admitted(found: Admission | None, why_not: str) -> Admitted:
    """What became of a candidate, for the journal."""
    if found is None or found.run is None:
        return Admitted(why=why_not)
    return Admitted(run=found.run, superseded=found.superseded)


async def admit_issue(
    services: Services, guid: str, repository: RepositoryRef, number: int, trigger: Trigger, seen: EventSnapshot | None
) -> Admitted:
    """Admit a run of an open issue, unless one works on it; a plan that waits for people makes way.

    It is about the words that the issue had when somebody asked: who edits it later need not be one who may ask.

    :raises Behind: if GitHub answers with what was there before ``seen``.
    """
    admitted_by = f"{guid}#{number}"
    if trigger is Trigger.issue and (why := await find_opening_obstacle(services, repository)) is not None:
        return build_admitted(await runs.find_admission(services.database, admitted_by), why)
    while True:
        fence = await runs.get_fence(services.database, repository.id, number)
        issue = await consistent_reads.load_issue(services, repository, number, seen)
        if not issue.is_open or is_edited(issue, seen):
            why = EDITED if issue.is_open else CLOSED
            return build_admitted(await runs.find_admission(services.database, admitted_by), why)
        try:
            head = (await services.host.default_branch(repository)).head_sha
        except NotFound:  # the issue was there a moment ago
            return build_admitted(None, EMPTY)
        kept = (model_answers.ISSUE, {"title": issue.title, "body": issue.body})
        candidate = Candidate(admitted_by, repository, number, head, head, trigger, Repeat.anew, kept=kept)
        admission = await runs.admit(services.database, candidate, fence, services.clock.now())
        if not admission.stale:  # else something else began on the issue meanwhile
            return build_admitted(admission, IN_PROGRESS)


async def find_label_refusal(services: Services, guid: str, command: LabelledIssue) -> str | None:
    """Why a label asks for nothing; None if it asks for a run, and who put it there may.

    :raises CodeHostError: if GitHub does not say who that is; that is never a permission.
    """
    ceilings = services.ceilings.of_configuration
    loaded = await loading.load(services.host, services.database, command.repository, ceilings)
    if not asks_for_run(command.label, loaded.configuration.labels):
        return "ignored: another label"
    if command.head_sha is not None:  # on a pull request it says what the button says
        return None
    if not loaded.configuration.issues.run:
        return "ignored: issues.run is off here"
    standing = await load_actor(services, command.repository, None, command.sender)
    refused = authorise(PlainCommand(verb=Verb.run), standing.facts)
    if refused is None:
        return None
    payload = {"verb": Verb.run.value, "code": refused.code.value, "account": command.sender.id, "held": refused.held}
    await ledger.record_refusal(services.database, guid, payload, services.clock.now())
    return f"refused: it needs the role {refused.needed}, the sender has {refused.held}"
