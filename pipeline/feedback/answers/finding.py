"""Loads what a fix needs to know: the finding as it is at the head, its file, its thread, and what forbids a fix."""

from pydantic import BaseModel

from domain.config.configuration import Configuration
from domain.github.pull_requests import PullRequest
from domain.globs import matches
from domain.review.findings import Finding
from domain.runs.run import Run
from domain.slash.commands import AboutFinding
from domain.text.escaping import inline_code
from memory.findings import findings
from memory.runs import checkpoints
from messages import commands as command_texts
from messages import fixes as texts
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


class NotFixed(BaseModel):
    """Why there is no fix, as an answer; in journals."""

    text: str


async def load_finding(
    services: Services, run: Run, request: AnswerRequest, asked: AboutFinding
) -> FixableFinding | NotFixed:
    """The finding at this moment, or why it cannot be fixed."""
    pull = await services.host.pull_request(run.repository, run.number)
    if not pull.is_open or pull.head_sha != run.head_sha:
        return NotFixed(text=command_texts.head_moved(pull.head_sha))
    review = await checkpoints.load_latest_review(services.database, run.repository.id, run.number)
    name = await _find_fingerprint(services, run, request, asked)
    current = () if review is None or review.head_sha != run.head_sha else review.all_findings
    finding = next((each for each in current if each.fingerprint == name), None)
    if finding is None:
        return NotFixed(text=texts.report_gone(asked.finding or "", run.head_sha))
    configuration = (await load_configuration(services, run)).configuration
    forbidden = _find_obstacle(finding, configuration)
    if forbidden:
        return NotFixed(text=forbidden)
    root = await _find_root(services, run, finding)
    return FixableFinding(finding=finding, configuration=configuration, pull_request=pull, root=root)


async def _find_fingerprint(services: Services, run: Run, request: AnswerRequest, asked: AboutFinding) -> str:
    where = (services.database, run.repository.id, run.number)
    if asked.finding is not None:
        named = await findings.find_by_name(*where, asked.finding)
        return "" if named is None else named.fingerprint
    carried = await findings.load_by_comment(*where)
    return next((each.fingerprint for each in carried.get(request.comment.comment.thread or 0, ())), "")


def _find_obstacle(finding: Finding, configuration: Configuration) -> str:
    """Why no change of the finding's file is offered; empty if nothing forbids it."""
    where = inline_code(finding.path)
    if finding.is_credential:
        return texts.refuse_credential(finding)
    if decides_about_runs(finding.path) or list_protected([finding.path], configuration):
        return texts.refuse_path(finding, f"{where} is protected, so only people change it")
    if path_rules.find_mistake(finding.path) is not None:
        return texts.refuse_path(finding, f"Forge does not write to {where}")
    if finding.fix is None and matches(finding.path, configuration.review.never_send):
        return texts.refuse_path(finding, f"`review.never_send` keeps {where} from models")
    if finding.fix is None and not configuration.review.may_ask_model:
        return texts.refuse_path(finding, "`review.model: never` keeps code from models")
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
