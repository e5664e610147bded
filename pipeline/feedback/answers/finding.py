"""Loads what a fix needs to know: the findings as they are at the head, their threads, and what forbids a fix."""

from pydantic import BaseModel

from domain.config.configuration import Configuration
from domain.github.pull_requests import PullRequest
from domain.globs import matches
from domain.review.findings import Finding
from domain.runs.run import Run
from domain.slash.commands import AskFix
from domain.text.escaping import inline_code
from memory.findings import findings
from memory.runs import checkpoints
from messages import commands as command_texts
from messages import fixes as texts
from messages import fixes_of_all as all_texts
from pipeline.context import Services
from pipeline.feedback.answers.request import AnswerRequest
from pipeline.verdicts.settings import load_configuration
from safety.gates import list_protected
from safety.protected_files import decides_about_runs
from workspace.patches import path_rules


class FixableFinding(BaseModel):
    """A finding that can be fixed; in journals.

    :param root: the first comment of its thread, where that stands on exactly ``finding.comment_lines`` of this head;
        else None.
    """

    finding: Finding
    configuration: Configuration
    pull_request: PullRequest
    root: int | None = None

    @property
    def key(self) -> str:
        """What its branch is called by."""
        return self.finding.id.lower()


class OpenFindings(BaseModel):
    """The open findings of a head; in journals."""

    findings: tuple[Finding, ...]
    configuration: Configuration
    pull_request: PullRequest


class NotFixed(BaseModel):
    """Why there is no fix, as an answer; in journals."""

    text: str


class Unfixed(BaseModel):
    """Why there is no fix of one finding; in journals.

    :param why: one of the explanations of :mod:`messages.fixes`.
    :param advice: what to do instead, where ``why`` does not say it.
    """

    why: str
    advice: str = ""


async def load_finding(
    services: Services, run: Run, request: AnswerRequest, asked: AskFix
) -> FixableFinding | NotFixed:
    """The finding at this moment, or why it cannot be fixed."""
    pull = await _load_pull_request(services, run)
    if isinstance(pull, NotFixed):
        return pull
    review = await checkpoints.load_latest_review(services.database, run.repository.id, run.number)
    name = await _find_fingerprint(services, run, request, asked)
    current = () if review is None or review.head_sha != run.head_sha else review.all_findings
    finding = next((each for each in current if each.fingerprint == name), None)
    if finding is None:
        return NotFixed(text=texts.report_gone(asked.finding or "", run.head_sha))
    configuration = (await load_configuration(services, run)).configuration
    forbidden = find_obstacle(finding, configuration)
    if forbidden is not None:
        return NotFixed(text=texts.report_unfixed(finding, forbidden.why, forbidden.advice))
    root = await _find_root(services, run, finding)
    return FixableFinding(finding=finding, configuration=configuration, pull_request=pull, root=root)


async def load_open_findings(services: Services, run: Run) -> OpenFindings | NotFixed:
    """The findings at this moment that nobody dismissed, the most severe first, or why none can be fixed."""
    pull = await _load_pull_request(services, run)
    if isinstance(pull, NotFixed):
        return pull
    review = await checkpoints.load_latest_review(services.database, run.repository.id, run.number)
    if review is None or review.head_sha != run.head_sha:
        return NotFixed(text=all_texts.report_unfinished(run.head_sha))
    if not review.findings:
        return NotFixed(text=all_texts.report_nothing_open(run.head_sha))
    configuration = (await load_configuration(services, run)).configuration
    return OpenFindings(findings=review.findings, configuration=configuration, pull_request=pull)


async def _load_pull_request(services: Services, run: Run) -> PullRequest | NotFixed:
    pull = await services.host.pull_request(run.repository, run.number)
    if not pull.is_open or pull.head_sha != run.head_sha:
        return NotFixed(text=command_texts.head_moved(pull.head_sha))
    return pull


async def _find_fingerprint(services: Services, run: Run, request: AnswerRequest, asked: AskFix) -> str:
    where = (services.database, run.repository.id, run.number)
    if asked.finding is not None:
        named = await findings.find_by_name(*where, asked.finding)
        return "" if named is None else named.fingerprint
    carried = await findings.load_by_comment(*where)
    return next((each.fingerprint for each in carried.get(request.comment.comment.thread or 0, ())), "")


def find_obstacle(finding: Finding, configuration: Configuration) -> Unfixed | None:
    """Why no change of the finding's file is offered; None if nothing forbids it."""
    if finding.is_credential:
        return Unfixed(why=texts.explain_credential())
    why = _find_obstacle_of_path(finding, configuration)
    return Unfixed(why=f"{why}.", advice="Fix it by hand.") if why else None


def _find_obstacle_of_path(finding: Finding, configuration: Configuration) -> str:
    """Why the finding's file may not be changed or shown, as a clause; empty if it may."""
    where = inline_code(finding.path)
    if decides_about_runs(finding.path) or list_protected([finding.path], configuration):
        return f"{where} is protected, so only people change it"
    if path_rules.find_mistake(finding.path) is not None:
        return f"Forge does not write to {where}"
    if finding.fix is None and matches(finding.path, configuration.review.never_send):
        return f"`review.never_send` keeps {where} from models"
    if finding.fix is None and not configuration.review.may_ask_model:
        return "`review.model: never` keeps code from models"
    return ""


async def _find_root(services: Services, run: Run, finding: Finding) -> int | None:
    """The thread in which a suggestion replaces the finding's lines: its comment begins there, posted on this head."""
    earlier = await findings.load_posted_before(services.database, run)
    carried = await findings.load_by_comment(services.database, run.repository.id, run.number)
    mine = (
        root
        for root, remark in carried.items()
        if finding.fingerprint in {each.fingerprint for each in remark}
        and remark[0].comment_lines == finding.comment_lines
    )
    return None if finding.fingerprint in earlier else next(mine, None)
