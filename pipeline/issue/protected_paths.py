"""Asks people whether an agent may change the protected files that a plan names (``protected_paths``)."""

from dataclasses import dataclass
from functools import partial

from pydantic import JsonValue

from domain.config.configuration import Configuration
from domain.gates import Gate, GateRequest, GateState, Option, digest
from domain.runs.plan import RatedPlan
from domain.runs.run import Phase, Run, RunState
from domain.verdicts import Reason
from messages import plan as plan_texts
from pipeline.context import Services
from pipeline.durable.journal import WorkflowJournal
from pipeline.gates.ask import WaitingForGate, open_gate
from pipeline.issue.planning import REFUSAL_REASONS, IssueRunInput, RunEnd
from pipeline.publishing.issue_comment import IssueStatus
from safety.gates import build_request, default_options
from safety.plan_risk import list_grantable

_NAME = "protected_paths"


@dataclass(frozen=True)
class GrantedPaths:
    """What people said about the protected files of a plan.

    :param paths: those an agent may change, and no others.
    :param refused: those it has to leave alone, although the plan names them.
    """

    paths: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()


NOTHING_GRANTED = GrantedPaths()


class ProtectedPathsGate:
    """Which protected files the agents of one run may change."""

    def __init__(self, services: Services, journal: WorkflowJournal, run: Run) -> None:
        self._services = services
        self._journal = journal
        self._run = run
        self._status = IssueStatus(services, run)

    async def ask_for_paths(self, begun: IssueRunInput, plan: RatedPlan) -> GrantedPaths | RunEnd:
        """What people let the run's agents change of what is protected; how the run ends if they leave it no file.

        :raises AtGate: nobody answered yet.
        """
        paths = list_grantable(plan.plan, begun.configuration)
        if not paths:
            return NOTHING_GRANTED
        wanted = _build_request(self._run, plan, paths, begun.configuration)
        gate = Gate.model_validate(
            await self._journal.step("ask for protected files", partial(self._open_gate, wanted))
        )
        if gate.is_waiting:
            raise WaitingForGate(gate)
        if gate.state is GateState.approved:
            return GrantedPaths(paths)
        if set(plan.plan.files) <= set(paths):
            text = plan_texts.nothing_granted(paths, spent=await self._status.load_cost())
            return RunEnd(RunState.failed, REFUSAL_REASONS[gate.state], text)
        return GrantedPaths(refused=paths)

    async def _open_gate(self, wanted: GateRequest) -> JsonValue:
        return (await open_gate(self._services, self._run, wanted)).model_dump(mode="json")


def _build_request(run: Run, plan: RatedPlan, paths: tuple[str, ...], configuration: Configuration) -> GateRequest:
    """Bound to the code, to every word of the plan, and to the files it lists."""
    subject = digest(_NAME, run.base_sha, plan.model_dump_json(), *paths)
    noun = "file" if len(paths) == 1 else "files"
    reason = Reason(
        code="plan.protected_path",
        text=f"The plan changes {len(paths)} protected {noun}",
        value=len(paths),
        children=tuple(Reason(code="path", text=path) for path in paths),
    )
    prompt = (
        "Agents leave these files alone, since they decide what is run, who may do what, which dependencies there are "
        "or what becomes of stored data. May they change exactly these?"
    )
    return build_request(_NAME, Phase.implementation, subject, prompt, [reason], configuration, options=_OPTIONS)


_APPROVE, _CONDITIONS, *_REST = default_options(
    _NAME, "the run goes on without these files, which stay as they are; it ends if the plan names no others"
)
_OPTIONS = (
    Option(command=_APPROVE.command, effect="agents may change exactly these files, and no other protected ones"),
    Option(command=_CONDITIONS.command, effect="the same, and your conditions go with it"),
    *_REST,
)
