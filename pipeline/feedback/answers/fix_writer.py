"""Finds the change that fixes a finding: the finding's own, or one that a model writes; both are validated."""

from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import BaseModel, JsonValue

from agents.answers import fixer
from agents.answers.fixer import WrittenFix
from agents.llm.models import LanguageModel, ModelTier, Unusable
from agents.prompts.conventions.choice import choose
from agents.prompts.conventions.reading import read_conventions
from agents.testing.reproduction.endings import EndingKind
from agents.testing.reproduction.run import try_with
from agents.testing.tester import Tester
from domain.config.configuration import Configuration
from domain.gates import digest
from domain.review.conventions import Conventions
from domain.review.findings import Finding
from domain.review.line_edits import LineEdit
from domain.review.proof import Reproduction
from domain.runs.run import Phase
from domain.text.redaction import redact_outgoing
from messages import fixes as texts
from messages import proofs as proof_texts
from pipeline.durable.steps import run_outside_journal
from pipeline.feedback.answers.finding import Unfixed
from pipeline.model_calls.budgeted import BudgetedCalls
from pipeline.run_context import RunContext
from safety.line_edits import apply_edits, find_mistakes, read_lines

_SYNTAX_SECONDS = 10.0
_ATTEMPTS = 2
_TEST_SECONDS = 120  # for the test that shows the finding, where reviews run none any more


class ValidFix(BaseModel):
    """A change of the finding's file in which nothing is wrong; in journals.

    :param is_known: it is the finding's own fix and not a model's.
    :param is_tried: the test that shows the finding passes with it.
    """

    edits: tuple[LineEdit, ...]
    summary: str = ""
    is_known: bool = False
    is_tried: bool = False


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
class FixWriter:
    """The changes that fix findings of the head of a run."""

    context: RunContext
    configuration: Configuration

    async def find_fix(self, finding: Finding) -> ValidFix | Unfixed:
        """The change that fixes a finding, or why there is none."""
        return await (self._write(finding) if finding.fix is None else self._take_own_fix(finding))

    async def keeps_syntax(self, path: str, edits: Sequence[LineEdit]) -> bool:
        """Whether a file that can be parsed still can be with these changes, in which nothing else is wrong."""
        content = await self._read(path)
        return not await self._breaks_syntax(path, content, apply_edits(content, edits))

    async def _take_own_fix(self, finding: Finding) -> ValidFix | Unfixed:
        """The fix that the finding has already."""
        content, fix = await run_outside_journal(self._read, finding.path), finding.fix
        lines = read_lines(content) or []
        if fix is None or not fix.start_line <= fix.end_line <= len(lines):
            return _report_unfit(["The file is not as it was reviewed."])
        before = "\n".join(lines[fix.start_line - 1 : fix.end_line])
        edit = LineEdit(start_line=fix.start_line, end_line=fix.end_line, before=before, after=fix.replacement)
        judged = await self.context.journal.step("judge its own fix", self._judge, finding.path, [edit])
        if judged.mistakes:
            return _report_unfit(judged.mistakes)
        return ValidFix(edits=judged.edits, is_known=True)

    async def _write(self, finding: Finding) -> ValidFix | Unfixed:
        """What a model writes; it is told once what is wrong with its change."""
        model = self.context.services.models.choose(ModelTier.strong)
        if isinstance(model, Unusable):
            return _report_no_model(model.reason, model.advice)
        mistakes: Sequence[str] = ()
        for attempt in range(1, _ATTEMPTS + 1):
            written = await self._ask(finding, model, mistakes)
            if isinstance(written, Unfixed):
                return written
            if written.refusal and not written.edits:
                return Unfixed(why=texts.explain_refusal(written.refusal), advice=texts.advise_to_disagree(finding))
            judged = await self.context.journal.step(
                f"judge answer {attempt}", self._judge, finding.path, written.edits
            )
            tried = FixTrial() if judged.mistakes else await self._try(finding, written.edits, attempt)
            mistakes = [*judged.mistakes, *filter(None, [tried.mistake])]
            if not mistakes:
                return ValidFix(edits=judged.edits, summary=written.summary, is_tried=tried.passes)
        return _report_unfit(mistakes)

    async def _ask(self, finding: Finding, model: LanguageModel, mistakes: Sequence[str]) -> WrittenFix | Unfixed:
        content = await run_outside_journal(self._read, finding.path)
        lines = read_lines(content)
        if not lines:
            return _report_unfit(["The file is no text that Forge can read."])
        may_hold = bool(self.configuration.review.never_send)  # a test may print what no model may see
        written = await run_outside_journal(self._load_conventions, finding.path)
        question = fixer.build_question(
            finding, lines, mistakes, redact_outgoing, shows_output=not may_hold, conventions=written
        )
        calls = BudgetedCalls(self.context, Phase.implementation, self.configuration)
        name = digest("fix", question.model_dump_json(), model.name)
        answer = await calls.ask_outside_run(name, question, WrittenFix, model)
        if answer.value is None:
            return _report_no_model(answer.problem or "")
        return WrittenFix.model_validate(answer.value).clean()

    async def _load_conventions(self, path: str) -> Conventions:
        """Those of the default branch, never of the pull request."""
        mirror, review = await self.context.fetch_mirror(), self.configuration.review
        at = await mirror.fetch_default() or self.context.run.base_sha
        return choose(await read_conventions(mirror, at, [path], review, redact_outgoing), [path])

    async def _try(self, finding: Finding, edits: Sequence[LineEdit], attempt: int) -> FixTrial:
        """Run the test that shows the finding with the change, if there is one."""
        test = proof_texts.find_shown_test(finding)
        if test is None:
            return FixTrial()
        return await self.context.journal.step(f"run its test {attempt}", self._run_test, finding.path, [*edits], test)

    async def _run_test(self, path: str, edits: Sequence[LineEdit], test: Reproduction) -> FixTrial:
        services, run, configuration = self.context.services, self.context.run, self.configuration
        if configuration.testing.runner == "actions":
            return FixTrial()
        seconds = float(configuration.review.proof_seconds or _TEST_SECONDS)
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
        """Whether a file that could be parsed cannot be parsed any more; false for a language that is not known."""
        request: JsonValue = {"path": path, "before": before.decode(), "after": [after.decode()]}
        return bool(await self.context.services.toolbox.pool.call("broken by", request, _SYNTAX_SECONDS))


def _report_unfit(mistakes: Sequence[str]) -> Unfixed:
    return Unfixed(why=texts.explain_unfit(mistakes), advice=texts.advise_by_hand())


def _report_no_model(why: str, then: str = "") -> Unfixed:
    return Unfixed(why=texts.explain_no_model(why), advice=texts.advise_by_hand(then))
