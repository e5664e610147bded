"""Asks people whether a stuck agent shall try once more, and with which advice (``help_needed``)."""

from collections.abc import Sequence
from dataclasses import dataclass

from domain.config.configuration import Configuration
from domain.gates import Gate, GateRequest, GateState, Option, digest
from domain.runs.earlier_tests import Baseline
from domain.runs.next_step import PullRequestState, SendBack, would_repeat
from domain.runs.patches import RequiredFix
from domain.runs.plan import Task
from domain.runs.run import Phase
from domain.text.redaction import redact_outgoing
from domain.verdicts import Reason
from messages import earlier_tests as baseline_texts
from pipeline.gates.ask import open_gate
from pipeline.issue.coding.work_item import describe_recent
from pipeline.issue.plan_approval import ask
from pipeline.run_context import RunContext
from safety.gate_requests import build_request, default_options

_NAME = "help_needed"
_MOST_PROBLEMS, _LONGEST_PROBLEM = 8, 300  # named in a question, and characters of each
_WHAT_ELSE = "The agent does not get on by itself, and the same attempt would fail again. What shall it do otherwise?"
_REST_LEFT = "The agent left a part of a task undone. What shall it do otherwise?"
_LACKING = "the tests seem to fail for what the place where they run lacks, which is hardly for the code to mend"
_UNSURE = "the tests fail, and nobody is sure enough how to mend that"
_, _CONDITIONS, *_REST = default_options(_NAME, "the run ends; what it made stays as it is")
_WITH_WORDS = Option(
    command=_CONDITIONS.command.replace("conditions", "what to do"), effect="it tries once more, with your words"
)
_OPTIONS = (Option(command=f"/forge approve {_NAME}", effect="it tries once more"), _WITH_WORDS, *_REST)
_GO_ON = "it goes on without that, and says so in the pull request"
_FINISH_OPTIONS = (_WITH_WORDS, Option(command=f"/forge reject {_NAME} reason", effect=_GO_ON), *_REST[1:])


@dataclass(frozen=True)
class HelpGate:
    """The requests of one run for help. The words of an answer go into every later prompt."""

    context: RunContext
    configuration: Configuration

    async def may_fix(self, phase: Phase, head: str, send_backs: Sequence[SendBack], state: PullRequestState) -> bool:
        """Whether a person lets a change be fixed once more.

        Where nothing is known that another attempt would do otherwise, only a person's words can let it begin.

        :param phase: that sends it back.
        :raises WaitingForGate: nobody answered yet.
        """
        count = sum(each.phase is phase for each in send_backs)
        finder = "review" if phase is Phase.review else "tests"
        times = "once" if count == 1 else f"{count} times"
        text = f"the {finder} sent the change back {times}, and it is still not right" if count else _UNSURE
        text = _LACKING if state.blames_environment else text
        reason = Reason(code="help.bounces", text=text, value=count, children=_list_problems(state.to_fix))
        is_stuck = state.blames_environment or would_repeat(state, head, send_backs)
        return await self._ask_for_help(phase, digest(_NAME, head, len(send_backs)), reason, needs_words=is_stuck)

    async def may_retry(self, work: str, attempt: int, why: str) -> bool:
        """Whether a person lets a stuck agent try a piece of work once more.

        :param work: names the piece.
        :raises WaitingForGate: nobody answered yet.
        """
        reason = Reason(code="help.stuck", text=why.rstrip("."))
        return await self._ask_for_help(Phase.implementation, digest(_NAME, work, attempt), reason, work=work)

    async def may_finish(self, work: str, attempt: int, task: Task, left: str) -> bool:
        """Whether a person lets an agent try once more what it left undone; otherwise the run goes on without that.

        :param work: names the piece.
        :param left: what is not done, and why, in the agent's words.
        :raises WaitingForGate: nobody answered yet.
        """
        text = redact_outgoing(f"{task.id} {task.title}: {left}")
        reason = Reason(code="help.rest", text=" ".join(text.split()).rstrip("."))
        subject, configuration = digest(_NAME, "rest", work, attempt), self.configuration
        request = build_request(
            _NAME, Phase.implementation, subject, _REST_LEFT, [reason], configuration, options=_FINISH_OPTIONS
        )
        request = request.model_copy(update={"needs_words": True})
        gate = await ask(self.context, "ask about the rest", self._open, request, work)
        return gate.state is GateState.approved

    async def ask_to_go_untested(self, baseline: Baseline) -> Gate:
        """The answer to whether the run shall go on although its tests show nothing.

        :raises WaitingForGate: nobody answered yet.
        """
        subject, reasons = digest(_NAME, "untested", baseline.commit), baseline_texts.list_reasons(baseline)
        options = default_options(_NAME, "the run ends, and nothing is changed")
        prompt, configuration = baseline_texts.PROMPT, self.configuration
        request = build_request(_NAME, Phase.planning, subject, prompt, reasons, configuration, options=options)
        return await ask(self.context, "ask for help", self._open, request, "")

    async def _ask_for_help(
        self, phase: Phase, subject: str, reason: Reason, *, needs_words: bool = False, work: str = ""
    ) -> bool:
        """:param needs_words: whether an approval has to say what to do.

        :param work: names the piece of work whose checkpoints the question shows.
        """
        prompt = _WHAT_ELSE if needs_words else "The agent does not get on by itself. Shall it try once more?"
        options = _OPTIONS[1:] if needs_words else _OPTIONS
        request = build_request(_NAME, phase, subject, prompt, [reason], self.configuration, options=options)
        request = request.model_copy(update={"needs_words": needs_words})
        gate = await ask(self.context, "ask for help", self._open, request, work)
        return gate.state is GateState.approved

    async def _open(self, request: GateRequest, work: str) -> Gate:
        context = self.context
        shows = await describe_recent(context.database, context.run.id, work) if work else ""
        return await open_gate(context.services, context.run, request.model_copy(update={"shows": shows}))


def _list_problems(to_fix: Sequence[RequiredFix]) -> tuple[Reason, ...]:
    """What is to be fixed, in short."""
    named = [redact_outgoing(f"{each.path} {each.rule}: {each.message}") for each in to_fix[:_MOST_PROBLEMS]]
    more = len(to_fix) - len(named)
    texts = [*(" ".join(text.split())[:_LONGEST_PROBLEM] for text in named), *([f"{more} more"] if more > 0 else [])]
    return tuple(Reason(code="help.problem", text=text) for text in texts)
