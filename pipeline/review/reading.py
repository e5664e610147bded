"""Reads a change with a model, question by question, with a run and without, and builds what that adds to a review."""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial, reduce
from operator import add

from pydantic import BaseModel

from agents.llm.ask import ModelAnswer, Question, choose_after
from agents.llm.models import LanguageModel
from agents.loop.loop import LookUpLimits
from agents.review.effort import EFFORTS
from agents.review.layers import ModelPart
from agents.review.looking_up import ReviewAnswer, allot
from agents.review.model.answers import CONVENTION, Report, judge_issue, summarise_change
from agents.review.model.conventions import count_calls
from agents.review.model.proof import MOST_PROVED, soften_unshown
from agents.review.model.questions import QuestionPlan, ReviewQuestion
from agents.review.model.second_look import Verdicts, keep_confirmed
from domain.config.configuration import Configuration
from domain.config.sections import ReviewSettings
from domain.review.changes import SkippedFile
from domain.review.findings import Finding, Layer
from domain.review.reading import Effort, HeldConventions, LookUps
from domain.review.review import LayerReport, ToolRun
from domain.value import Value
from domain.verbs import Verb, find_role
from pipeline.review.model_answers import AssessedAnswers, weigh_claims
from pipeline.review.question_plan import NOT_ASKED, ConventionAnswers, PreparedQuestions, hold_against_conventions
from safety.impact import is_late

NEEDS_OK = (
    f"this is a stranger's head. A person with the role {find_role(Verb.review, on_fork=True)} looks at it and writes "
    "`/forge review`; that is the ok for this head alone."
)
"""Why no model reads it."""
_LOST = "the model was asked about it and gave no answer that can be used"
_SILENT = "no answer about it came from the model"
_SPARED = "no budget was left for it after riskier files; `/forge review full` reads it"
_UNCHECKED = "no second look could check what the model remarked on it ({} in all); `/forge review full` reads it"
_CUT = (
    "the model was not shown all that changed in it: a line is longer than 1,000 characters, holds what looks like a "
    "credential, or was removed together with more lines than there was room for"
)


class ProvedFindings(Value):
    """The findings with what running showed of them.

    :param answers: of the model, to be counted.
    :param told: for the check's details; may be empty.
    """

    findings: tuple[Finding, ...]
    answers: tuple[ModelAnswer, ...] = ()
    told: str = ""


@dataclass
class ModelReading(ABC):
    """What one model says of one change.

    :ivar answers: to the questions so far.
    """

    configuration: Configuration
    model: LanguageModel
    answers: list[ModelAnswer] = field(default_factory=list[ModelAnswer], init=False)

    async def read(self, prepared: PreparedQuestions) -> ModelPart:
        """The findings of layer 3."""
        for question in prepared.plan.questions:
            self.answers.append(await self._read(prepared, question))
        ask_for_rules = partial(self.ask_beside, is_shared=True)
        prepared, on_conventions = await hold_against_conventions(prepared, ask_for_rules, self.ask_beside)
        assessed = await self.assess(prepared, on_conventions.about_change)
        kept, unchecked = assessed.candidates, list[Finding]()
        if assessed.second is not None:
            second = await self.ask(assessed.second, Verdicts)
            self.answers.append(second)
            kept = keep_confirmed(assessed.candidates, second, assessed.second)
            unchecked = [each for each in assessed.candidates if second.value is None and each not in kept]
        kept = weigh_claims((*assessed.settled, *kept))
        plan = prepared.plan.model_copy(update={"related": (*prepared.plan.related, *assessed.evidence)})
        proved = await self.prove(plan, assessed.candidates, kept)
        found, model, review = proved.findings, self.model, self.configuration.review
        part = build_model_part(prepared, self.answers, found, assessed.gone, model, review, unchecked, on_conventions)
        return _add_proofs(part, proved, model)

    @property
    def next_model(self) -> LanguageModel:
        """The model for the next question."""
        return choose_after(self.model, self.answers)

    @abstractmethod
    async def ask(self, question: Question, schema: type[BaseModel]) -> ModelAnswer:
        """What the next model answers from the question alone; without a value it says why."""

    async def ask_beside(self, question: Question, schema: type[BaseModel], *, is_shared: bool = False) -> ModelAnswer:
        """The same for what the review can do without.

        :param is_shared: the answer is the same for every change.
        """
        return await self.ask(question, schema)

    @abstractmethod
    async def look_up(self, question: ReviewQuestion, limits: LookUpLimits, why: str) -> ReviewAnswer:
        """What the model answers after it looked things up in the code of the head."""

    @abstractmethod
    async def assess(self, prepared: PreparedQuestions, on_conventions: ModelAnswer | None) -> AssessedAnswers:
        """The findings in the answers, and the question of the second look at them."""

    @abstractmethod
    async def prove(
        self, plan: QuestionPlan, candidates: tuple[Finding, ...], kept: tuple[Finding, ...]
    ) -> ProvedFindings:
        """What running shows of the gravest findings.

        :param candidates: as the first look graded them; :param kept: what the second look left of them.
        """

    async def _read(self, prepared: PreparedQuestions, question: ReviewQuestion) -> ModelAnswer:
        """What the model answers to a question about the change; after look-ups, where it may make some."""
        limits = self._choose_limits(prepared)
        if limits is None:
            return await self.ask(question, Report)
        answer = await self.look_up(question, limits, prepared.looks_up_because)
        return answer.replace_by(await self.ask(question, Report)) if answer.asks_plainly else answer

    def _choose_limits(self, prepared: PreparedQuestions) -> LookUpLimits | None:
        """What may be looked up for the next question; None if nothing.

        Look-ups get the calls of the phase that nothing else may need: further questions, one repair, the second look,
        what is held against conventions, and tests for what would block.
        """
        configuration, plan = self.configuration, prepared.plan
        usual = EFFORTS[configuration.review.effort].looks_up
        if usual is None or not prepared.looks_up_because:
            return None
        proofs = MOST_PROVED if configuration.review.proof_seconds else 0
        due = len(plan.questions) - len(self.answers) + 2 + count_calls(plan.conventions) + proofs
        most = min(configuration.breakers.iteration.review, configuration.guards.max_iterations)
        return allot(usual, most, sum(len(each.calls) for each in self.answers), due)


def _add_proofs(part: ModelPart, proved: ProvedFindings, model: LanguageModel) -> ModelPart:
    """The contribution with what proving its findings cost. That there was no answer is no failure of the review."""
    tools = {tool.tool: tool for tool in part.report.tools}
    for answer in proved.answers:
        name = answer.last_model or model.name
        known = tools.get(name, ToolRun(tool=name, seconds=0, files=0))
        spent = {"seconds": known.seconds + answer.seconds, "tokens": known.tokens + answer.usage.tokens}
        tools[name] = known.model_copy(update={**spent, "cost": known.cost + answer.cost})
    report = part.report.model_copy(update={"tools": tuple(tools.values())})
    return add_note(part.model_copy(update={"report": report}), proved.told)


def build_model_part(
    prepared: PreparedQuestions,
    answers: Sequence[ModelAnswer],
    kept: Sequence[Finding],
    gone: Sequence[str],
    model: LanguageModel,
    review: ReviewSettings,
    unchecked: Sequence[Finding] = (),
    on_conventions: ConventionAnswers = NOT_ASKED,
) -> ModelPart:
    """The contribution of layer 3 (pure).

    :param kept: findings that the second look confirmed.
    :param gone: names of earlier findings that the model calls gone.
    :param unchecked: remarks that no second look could check; the files of claimed defects count as unread, so that it
        is made up for.
    :param on_conventions: the answers about the conventions of the repository; that there is none is no failure.
    """
    remarks = Counter(each.path for each in unchecked if each.rule != CONVENTION)
    doubtful = [
        SkippedFile(path=path, reason=_UNCHECKED.format(count), matters=True) for path, count in sorted(remarks.items())
    ]
    not_read = [*prepared.plan.not_read, *_list_unread(prepared, answers), *doubtful]
    read = _list_read_paths(prepared, answers)
    told = "" if review.effort is Effort.standard else f"Read with effort {review.effort.value}."
    notices = dict.fromkeys(filter(None, (told, model.notice, *(answer.notice for answer in answers))))
    asked = [*answers, *(each.model_copy(update={"problem": None}) for each in on_conventions.all_answers)]
    report = LayerReport(
        layer=Layer.model,
        tools=_describe_models(prepared, asked, model),
        note=" ".join(notices) or None,
        look_ups=_sum_look_ups(answers),
    )
    if not answers:
        report = LayerReport(layer=Layer.model, note="There is nothing new for a model to read.")
    there = [*prepared.carried, *(finding for finding in prepared.changed if finding.id not in gone)]
    new = [finding for finding in kept if not any(finding.means_same(each) for each in there)]
    said = [finding for finding in new if not is_late(finding, prepared.reached)]  # as grave as it was found
    return ModelPart(
        report=report,
        findings=(*there, *soften_unshown(said, review.unshown)),
        late=len(new) - len(said),
        not_read=tuple(each.model_copy(update={"by_model": True}) for each in not_read),
        read=tuple(path for path in read if path not in remarks),
        gone=tuple(gone),
        conventions=_describe_conventions(prepared.plan, on_conventions.about_change),
        issue=judge_issue(answers, prepared.plan.issue),
        summary=summarise_change(answers[: len(prepared.plan.questions)]) or prepared.summary,
    )


def _list_unread(prepared: PreparedQuestions, answers: Sequence[ModelAnswer]) -> list[SkippedFile]:
    """What it was asked about and did not read, or not all of it: removed code may be shown where it moved to."""
    pairs = _pair_answers(prepared, answers)
    failed: dict[str, set[str]] = {_SPARED: set(), _LOST: set(), _SILENT: set()}
    for question, answer in pairs:
        if answer.problem:
            failed[_explain_unread(answer, answers)].update(question.lines)
    told: dict[str, str] = {}  # the first reason of a file counts
    for why, paths in (*failed.items(), (_CUT, {path for question, _ in pairs for path in question.cut})):
        followed = paths if why is _CUT else _follow_moves(prepared, paths)
        told.update(dict.fromkeys(sorted(followed - told.keys()), why))
    return [SkippedFile(path=path, reason=why, matters=why is _SPARED) for path, why in told.items()]


def _pair_answers(
    prepared: PreparedQuestions, answers: Sequence[ModelAnswer]
) -> list[tuple[ReviewQuestion, ModelAnswer]]:
    """The questions with their answers. The second look reads nothing new."""
    return list(zip(prepared.plan.questions, answers, strict=False))


def _explain_unread(answer: ModelAnswer, answers: Sequence[ModelAnswer]) -> str:
    if _was_spared(answer, answers):
        return _SPARED
    return _SILENT if answer.last_model is None else _LOST


def _was_spared(answer: ModelAnswer, answers: Sequence[ModelAnswer]) -> bool:
    """Whether the money went to other questions."""
    is_any_answered = any(each.value is not None for each in answers)
    return is_any_answered and answer.refusal is not None and answer.refusal.is_about_money


def _follow_moves(prepared: PreparedQuestions, paths: set[str]) -> set[str]:
    """The paths, and the files whose code is shown there because it moved."""
    return paths | {path for path, others in prepared.plan.moved.items() if paths.intersection(others)}


def _list_read_paths(prepared: PreparedQuestions, answers: Sequence[ModelAnswer]) -> tuple[str, ...]:
    """The paths of which the model read everything that is new: all their parts, to the end of each line."""
    asked = {path for question, _ in _pair_answers(prepared, answers) for path in question.lines}
    missed = {each.path for each in _list_unread(prepared, answers)}
    return tuple(sorted({*prepared.known, *(asked - missed)}))


def _describe_models(
    prepared: PreparedQuestions, answers: Sequence[ModelAnswer], model: LanguageModel
) -> tuple[ToolRun, ...]:
    """What each model did that was asked, with what it cost; what the money was spared for is no failure of it."""
    spared = {answer.key for _, answer in _pair_answers(prepared, answers) if _was_spared(answer, answers)}
    shown = {question.key: tuple(question.lines) for question in prepared.plan.questions}
    by_model: dict[str, list[ModelAnswer]] = {}
    for answer in answers:
        if answer.key not in spared:
            by_model.setdefault(answer.last_model or model.name, []).append(answer)
    return tuple(_describe_model(name, theirs, shown) for name, theirs in by_model.items())


def _describe_model(name: str, answers: Sequence[ModelAnswer], shown: Mapping[str, Sequence[str]]) -> ToolRun:
    """What one model did.

    :param shown: key of a question → the paths it was about.
    """
    problems = dict.fromkeys(answer.problem for answer in answers if answer.problem is not None)
    return ToolRun(
        tool=name,
        seconds=sum(answer.seconds for answer in answers),
        files=len({path for answer in answers for path in shown.get(answer.key, ())}),
        problem=" ".join(problems) or None,
        tokens=sum(answer.usage.tokens for answer in answers),
        cost=sum(answer.cost for answer in answers),
    )


def _sum_look_ups(answers: Sequence[ModelAnswer]) -> LookUps | None:
    """What was looked up for all questions together; None if nothing could be."""
    made = [answer.looked_up for answer in answers if isinstance(answer, ReviewAnswer)]
    return reduce(add, made) if made else None


def _describe_conventions(plan: QuestionPlan, answer: ModelAnswer | None) -> HeldConventions:
    """What the change was held against."""
    if answer is None or answer.problem is None:
        return plan.held
    return plan.held.model_copy(update={"problem": f"The change was not held against them: {answer.problem}"})


def add_note(part: ModelPart, told: str) -> ModelPart:
    """The contribution with one more note, which may be empty."""
    note = " ".join(filter(None, (part.report.note, told))) or None
    return part.model_copy(update={"report": part.report.model_copy(update={"note": note})})
