"""Answers ``/forge fix``: with the finding's own fix, or with a change that a model writes and that is validated."""

import base64
from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import BaseModel, JsonValue

from agents.answers import fixer
from agents.answers.fixer import WrittenFix
from agents.llm.models import LanguageModel, ModelTier, Unusable
from agents.testing.reproduction.endings import EndingKind
from agents.testing.reproduction.run import try_with
from agents.testing.tester import Tester
from domain.gates import digest
from domain.review.findings import Finding
from domain.review.line_edits import LineEdit
from domain.review.proof import Reproduction
from domain.runs.run import Phase
from domain.slash.commands import AboutFinding
from domain.text.redaction import redact_outgoing
from messages import fixes as texts
from messages import proofs as proof_texts
from pipeline.durable.steps import run_outside_journal
from pipeline.feedback.answers.finding import FixableFinding, NotFixed, load_finding
from pipeline.feedback.answers.fix_offer import FixOffer, ValidFix
from pipeline.feedback.answers.fix_proposal import find_proposal
from pipeline.feedback.answers.request import AnswerRequest
from pipeline.model_calls.budgeted import BudgetedCalls
from pipeline.run_context import RunContext
from safety.line_edits import apply_edits, find_mistakes, read_lines

_SYNTAX_SECONDS = 10.0
_ATTEMPTS = 2
_TEST_SECONDS = 120  # for the test that shows the finding, where reviews run none any more


class JudgedFix(BaseModel):
    """A change with what is wrong with it; in journals."""

    edits: tuple[LineEdit, ...]
    mistakes: tuple[str, ...]


class FixTrial(BaseModel):
    """How the test that shows the finding ended with a change; in journals.

    :param mistake: what is wrong with the change by that; empty if nothing is known to be.
    """

    passes: bool = False
    mistake: str = ""


@dataclass(frozen=True)
class FixAnswer:
    """The answer to one command."""

    context: RunContext
    request: AnswerRequest
    guid: str
    asked: AboutFinding

    async def find_answer(self) -> str:
        """The answer; a suggestion or a pull request may have been posted with it."""
        services, run = self.context.services, self.context.run
        known = await self.context.journal.step("what is known", load_finding, services, run, self.request, self.asked)
        if isinstance(known, NotFixed):
            return known.text
        proposal = await self.context.journal.step("is it proposed", find_proposal, self.context, known)
        if proposal is not None and (proposal.is_current or proposal.is_touched):
            return texts.point_to_proposal(known.finding, proposal.number, is_touched=proposal.is_touched)
        written = await self._take_own_fix(known.finding) if known.finding.fix else await self._write(known)
        if isinstance(written, NotFixed):
            return written.text
        return await FixOffer(self.context, self.request, self.guid, known, written, proposal).make()

    async def _take_own_fix(self, finding: Finding) -> ValidFix | NotFixed:
        """The fix that the finding has already."""
        content, fix = await run_outside_journal(self._read, finding.path), finding.fix
        lines = read_lines(content) or []
        if fix is None or not fix.start_line <= fix.end_line <= len(lines):
            return NotFixed(text=texts.report_unfit(finding, ["The file is not as it was reviewed."]))
        before = "\n".join(lines[fix.start_line - 1 : fix.end_line])
        edit = LineEdit(start_line=fix.start_line, end_line=fix.end_line, before=before, after=fix.replacement)
        judged = await self.context.journal.step("judge its own fix", self._judge, finding.path, [edit])
        if judged.mistakes:
            return NotFixed(text=texts.report_unfit(finding, judged.mistakes))
        return ValidFix(edits=judged.edits, is_known=True)

    async def _write(self, known: FixableFinding) -> ValidFix | NotFixed:
        """What a model writes; it is told once what is wrong with its change."""
        model = self.context.services.models.choose(ModelTier.strong)
        if isinstance(model, Unusable):
            return NotFixed(text=texts.report_no_model(known.finding, f"{model.reason} {model.advice}"))
        mistakes: Sequence[str] = ()
        for attempt in range(1, _ATTEMPTS + 1):
            written = await self._ask(known, model, mistakes)
            if isinstance(written, NotFixed):
                return written
            if written.refusal and not written.edits:
                return NotFixed(text=texts.report_refusal(known.finding, written.refusal))
            judged = await self.context.journal.step(
                f"judge answer {attempt}", self._judge, known.finding.path, written.edits
            )
            tried = await self._try(known, written.edits, attempt) if not judged.mistakes else FixTrial()
            mistakes = [*judged.mistakes, *filter(None, [tried.mistake])]
            if not mistakes:
                return ValidFix(edits=judged.edits, summary=written.summary, is_tried=tried.passes)
        return NotFixed(text=texts.report_unfit(known.finding, mistakes))

    async def _ask(self, known: FixableFinding, model: LanguageModel, mistakes: Sequence[str]) -> WrittenFix | NotFixed:
        content = await run_outside_journal(self._read, known.finding.path)
        lines = read_lines(content)
        if not lines:
            return NotFixed(text=texts.report_unfit(known.finding, ["The file is no text that Forge can read."]))
        may_hold = bool(known.configuration.review.never_send)  # a test may print what no model may see
        question = fixer.build_question(known.finding, lines, mistakes, redact_outgoing, shows_output=not may_hold)
        calls = BudgetedCalls(self.context, Phase.implementation, known.configuration)
        name = digest("fix", question.model_dump_json(), model.name)
        answer = await calls.ask_outside_run(name, question, WrittenFix, model)
        if answer.value is None:
            return NotFixed(text=texts.report_no_model(known.finding, answer.problem or ""))
        return WrittenFix.model_validate(answer.value).clean()

    async def _try(self, known: FixableFinding, edits: Sequence[LineEdit], attempt: int) -> FixTrial:
        """Run the test that shows the finding with the change, if there is one."""
        test = proof_texts.find_shown_test(known.finding)
        if test is None:
            return FixTrial()
        return await self.context.journal.step(f"run its test {attempt}", self._run_test, known, [*edits], test)

    async def _run_test(self, known: FixableFinding, edits: Sequence[LineEdit], test: Reproduction) -> FixTrial:
        services, run, configuration = self.context.services, self.context.run, known.configuration
        if configuration.testing.runner == "actions":
            return FixTrial()
        path, seconds = known.finding.path, float(configuration.review.proof_seconds or _TEST_SECONDS)
        changed = {path: apply_edits(await self._read(path), edits)}
        tester = Tester(await self.context.fetch_mirror(), services.toolbox, configuration.commands)
        ending = await try_with(tester, run.head_sha, changed, test, seconds)
        if ending.kind is EndingKind.failed:
            printed = "" if configuration.review.never_send else ending.output
            return FixTrial(mistake=proof_texts.explain_still_failing(printed))
        return FixTrial(passes=ending.kind is EndingKind.passed)

    async def _read(self, path: str) -> bytes:
        mirror = await self.context.fetch_mirror()
        return (await mirror.read(self.context.run.head_sha, [path])).get(path, b"")

    async def _judge(self, path: str, edits: Sequence[LineEdit]) -> JudgedFix:
        """What is wrong with a change; it may not break a file that can be parsed."""
        content = await self._read(path)
        mistakes = find_mistakes(content, edits)
        if not mistakes and await self._breaks_syntax(path, content, apply_edits(content, edits)):
            mistakes = ["The file could be parsed before and cannot be parsed with the change."]
        plain = [edit.model_copy(update={"before": edit.before.removesuffix("\n")}) for edit in edits]
        return JudgedFix(edits=tuple(plain), mistakes=tuple(mistakes))

    async def _breaks_syntax(self, path: str, before: bytes, after: bytes) -> bool:
        return await self._is_parsed(path, before) is True and await self._is_parsed(path, after) is False

    async def _is_parsed(self, path: str, content: bytes) -> object:
        request: JsonValue = {"path": path, "content": base64.b64encode(content).decode()}
        return await self.context.services.toolbox.pool.call("parses", request, _SYNTAX_SECONDS)
