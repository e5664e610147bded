"""Layer 3 of a run: a model reads what is new, each call journaled and paid for once."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence

from pydantic import BaseModel, JsonValue

from agents.llm.ask import ModelAnswer, Question
from agents.llm.context import PromptContext
from agents.llm.models import LanguageModel, ModelTier, Unusable
from agents.review.checks.fingerprints import add_fingerprints
from agents.review.model import (
    EarlierFinding,
    Intent,
    QuestionPlan,
    Report,
    ReviewQuestion,
    Verdicts,
    build_questions,
    build_second_look,
    extract_findings,
    find_current_line,
    keep_confirmed,
    narrow_change,
    read_earlier_verdicts,
)
from agents.review.reviewer import CheckedChange, ModelPart, apply_path_filters, skip_model
from domain.config.configuration import Configuration, ReadMode
from domain.errors import CodeAccessError
from domain.gates import digest
from domain.github.pull_requests import PullRequest
from domain.memories.memory import Memory
from domain.review.changes import Change, FileChange, FileVersions, SkippedFile
from domain.review.findings import Finding, Layer, place_on_diff
from domain.review.review import LayerReport, Review, ToolRun
from domain.runs.run import Phase, Run
from domain.text.redaction import redact_finding, redact_outgoing
from memory.learned import recall
from memory.repositories import permits
from memory.runs import checkpoints
from pipeline.context import Services
from pipeline.durable.journal import WorkflowJournal
from pipeline.model_calls.budgeted import BudgetedCalls
from pipeline.model_calls.recall import RecallTopic
from pipeline.run_context import RunContext
from safety.eligibility import needs_ok
from safety.unread_files import list_read_before
from workspace.mirror import Mirror


class PreparedQuestions(BaseModel):
    """What is asked.

    :param carried: findings of earlier heads on lines that are as they were: they stand.
    :param changed: findings of earlier heads whose lines were changed: they are judged again.
    :param known: paths of which everything was read at earlier heads, and nothing is new now.
    """

    plan: QuestionPlan
    known: tuple[str, ...] = ()
    carried: tuple[Finding, ...] = ()
    changed: tuple[Finding, ...] = ()


class _EarlierFindings(BaseModel):
    findings: tuple[Finding, ...]


class AssessedAnswers(BaseModel):
    """What the answers come to before the second look."""

    candidates: tuple[Finding, ...]
    second: Question | None
    gone: tuple[str, ...]


class ModelLayer:
    """Asks the model about one head.

    :param mirror: opens the mirror with this head in it.

    The code is read anew from the mirror wherever it is needed; the journal keeps questions and answers.
    """

    def __init__(
        self,
        services: Services,
        journal: WorkflowJournal,
        run: Run,
        mirror: Callable[[], Awaitable[Mirror]],
        configuration: Configuration,
        pull_request: PullRequest,
    ) -> None:
        self._services = services
        self._journal = journal
        self._run = run
        self._mirror = mirror
        self._configuration = configuration
        self._pull_request = pull_request

    async def read(self, checked: CheckedChange) -> ModelPart:
        """What layer 3 has to say; never an error: what could not be asked is named, and asks for a person.

        It is also asked, whatever was changed, where it has to say whether what it found earlier is gone.
        """
        standing = _EarlierFindings.model_validate(
            await self._journal.step("earlier findings", self._load_earlier)
        ).findings
        may_read = self._configuration.review.model is not ReadMode.never
        if not checked.wants_a_model(self._configuration) and not (standing and may_read):
            return skip_model(checked, self._configuration, None)
        model = self._services.models.choose(ModelTier.fast)
        missing = model.reason if isinstance(model, Unusable) else None
        if missing is None and await self._journal.step("is it a stranger's", self._waits_for_ok):
            missing = _NEEDS_OK
        if missing is not None or isinstance(model, Unusable):
            part = skip_model(checked, self._configuration, missing)
            return part.model_copy(update={"findings": tuple(map(_remove_place, standing))})
        return await self._ask_model(checked, model)

    async def _ask_model(self, checked: CheckedChange, model: LanguageModel) -> ModelPart:
        plan = await self._journal.step("prepare questions", lambda: self._prepare(checked))
        prepared = PreparedQuestions.model_validate(plan)
        paying = self._build_calls(checked)
        told = [await self._ask(paying, question, Report, model) for question in prepared.plan.questions]
        weighed = AssessedAnswers.model_validate(
            await self._journal.step("weigh answers", lambda: self._assess(checked, prepared, told))
        )
        kept = weighed.candidates
        if weighed.second is not None:
            told.append(await self._ask(paying, weighed.second, Verdicts, model))
            kept = keep_confirmed(weighed.candidates, told[-1])
        return self._build_part(prepared, told, kept, weighed.gone, model)

    async def _load_earlier(self) -> JsonValue:
        previous = await self._find_previous()
        return _EarlierFindings(
            findings=() if previous is None else tuple(_filter_model_findings(previous))
        ).model_dump(mode="json")

    async def _waits_for_ok(self) -> JsonValue:
        if not needs_ok(self._pull_request, self._configuration.review, self._run.repository.id):
            return False
        return not await permits.has_ok(
            self._services.database, self._run.repository, self._run.number, self._run.head_sha
        )

    async def _prepare(self, checked: CheckedChange) -> JsonValue:
        """What to ask: on a push only about what is new, and whether what is gone from its line is gone."""
        change, versions = await self._load_code(checked)
        previous = await self._find_previous()
        since = None if previous is None else await self._load_changes_since(previous, checked)
        standing = [] if previous is None or since is None else _filter_model_findings(previous)
        carried = [] if since is None else [kept for f in standing if (kept := _carry_over(f, since)) is not None]
        ids = {finding.id for finding in carried}
        changed = [f for f in standing if f.id not in ids and f.path in versions]
        read = frozenset[str]()
        if previous is not None and since is not None:
            compared = await (await self._mirror()).change(previous.merge_base, previous.head_sha)
            read = list_read_before(previous.read_by_model, compared, change, since)
        earlier = await self._load_earlier_code(changed, previous, since)
        plan = await asyncio.to_thread(
            lambda: build_questions(
                change if since is None else narrow_change(change, since, read),
                versions,
                (*checked.findings, *carried),
                intent=Intent(title=self._pull_request.title),
                earlier=earlier,
                never_send=self._configuration.review.never_send,
                redact=redact_outgoing,
            )
        )
        asked = {path for question in plan.questions for path in question.lines}
        unasked = asked | {entry.path for entry in plan.not_read}
        prepared = PreparedQuestions(
            plan=plan,
            carried=tuple(place_on_diff(f, change) for f in carried),
            changed=tuple(changed),
            known=tuple(sorted(read - unasked)),
        )
        return prepared.model_dump(mode="json")

    async def _load_earlier_code(
        self, changed: Sequence[Finding], previous: Review | None, since: Change | None
    ) -> list[EarlierFinding]:
        """The changed findings with the code they were about, and where that stands now."""
        if previous is None or since is None or not changed:
            return []
        paths = sorted({finding.path for finding in changed})
        contents = await (await self._mirror()).read(previous.head_sha, paths)
        return [
            _build_earlier(finding, contents.get(finding.path, b""), since.file(finding.path)) for finding in changed
        ]

    async def _assess(
        self, checked: CheckedChange, prepared: PreparedQuestions, answers: Sequence[ModelAnswer]
    ) -> JsonValue:
        change, versions = await self._load_code(checked)
        lessons = await recall.list_recalled(self._services.database, self._run.id, Phase.review.value)
        weighed = await asyncio.to_thread(_assess_answers, checked, prepared, answers, change, versions, lessons)
        return weighed.model_dump(mode="json")

    def _build_calls(self, checked: CheckedChange) -> BudgetedCalls:
        rules = tuple(dict.fromkeys(finding.rule for finding in checked.findings))
        about = RecallTopic(self._pull_request.title, (*rules, *checked.paths))
        return BudgetedCalls(
            RunContext(self._services, self._run, self._journal), Phase.review, self._configuration, about
        )

    async def _ask(
        self, paying: BudgetedCalls, question: Question, schema: type[BaseModel], model: LanguageModel
    ) -> ModelAnswer:
        return await paying.ask(_compute_digest(question, schema, model), question, schema, model)

    async def _load_code(self, checked: CheckedChange) -> tuple[Change, dict[str, FileVersions]]:
        mirror = await self._mirror()
        change = apply_path_filters(await mirror.change(checked.merge_base, self._run.head_sha), self._configuration)
        return change, await mirror.versions(change.files)

    async def _find_previous(self) -> Review | None:
        """The last review of another head of this pull request, unless everything is to be read from scratch."""
        if self._run.attempt > 1:
            return None
        found = await checkpoints.load_latest_review(
            self._services.database, self._run.repository.id, self._run.number, before=self._run.id
        )
        return None if found is None or found.head_sha == self._run.head_sha else found

    async def _load_changes_since(self, previous: Review, checked: CheckedChange) -> Change | None:
        """What changed since the last reviewed head; None if that head is not to be had any more.

        Nor where it was compared with something else, as before a change of the base: then more than that is new.
        """
        mirror = await self._mirror()
        try:
            if await mirror.merge_base(previous.merge_base, checked.merge_base) != previous.merge_base:
                return None
            return await mirror.change(previous.head_sha, self._run.head_sha)
        except CodeAccessError:
            return None

    def _build_part(
        self,
        prepared: PreparedQuestions,
        answers: Sequence[ModelAnswer],
        kept: Sequence[Finding],
        gone: Sequence[str],
        model: LanguageModel,
    ) -> ModelPart:
        problems = [answer.problem for answer in answers if answer.problem is not None]
        not_read = [*prepared.plan.not_read, *_list_unread(prepared, answers)]
        asked = ToolRun(
            tool=model.name,
            seconds=sum(answer.seconds for answer in answers),
            files=len({path for question in prepared.plan.questions for path in question.lines}),
            problem=" ".join(dict.fromkeys(problems)) or None,
            tokens=sum(answer.usage.tokens for answer in answers),
            cost=sum(answer.cost for answer in answers),
        )
        report = LayerReport(layer=Layer.model, tools=(asked,), note=model.notice)
        if not answers:
            report = LayerReport(layer=Layer.model, note="There is nothing new for a model to read.")
        there = [_remove_place(finding) for finding in prepared.changed if finding.id not in gone]
        return ModelPart(
            report=report,
            findings=(*prepared.carried, *there, *kept),
            not_read=tuple(each.model_copy(update={"by_model": True}) for each in not_read),
            read=_list_read_paths(prepared, answers),
            gone=tuple(gone),
        )


_NEEDS_OK = (
    "this is a stranger's head. A person with write access looks at it and writes `/forge review`; "
    "that is the ok for this head alone."
)


_LOST = "the model was asked about it and gave no answer that can be used"
_CUT = (
    "the model was not shown all that changed in it: a line is longer than 1,000 characters, holds what looks like a "
    "credential, or was removed together with more lines than there was room for"
)


def _list_read_paths(prepared: PreparedQuestions, answers: Sequence[ModelAnswer]) -> tuple[str, ...]:
    """The paths of which the model read everything that is new: all their parts, to the end of each line."""
    asked = {path for question, _ in _pair_answers(prepared, answers) for path in question.lines}
    missed = {each.path for each in _list_unread(prepared, answers)}
    return tuple(sorted({*prepared.known, *(asked - missed)}))


def _list_unread(prepared: PreparedQuestions, answers: Sequence[ModelAnswer]) -> list[SkippedFile]:
    """What it was asked about and did not read, or not all of it."""
    pairs = _pair_answers(prepared, answers)
    lost = {path for question, answer in pairs if answer.problem is not None for path in question.lines}
    cut = {path for question, _ in pairs for path in question.cut} - lost
    return [SkippedFile(path=path, reason=why) for paths, why in ((lost, _LOST), (cut, _CUT)) for path in sorted(paths)]


def _pair_answers(
    prepared: PreparedQuestions, answers: Sequence[ModelAnswer]
) -> list[tuple[ReviewQuestion, ModelAnswer]]:
    """The questions with their answers. The second look reads nothing new."""
    return list(zip(prepared.plan.questions, answers, strict=False))


def _assess_answers(
    checked: CheckedChange,
    prepared: PreparedQuestions,
    answers: Sequence[ModelAnswer],
    change: Change,
    versions: Mapping[str, FileVersions],
    lessons: Sequence[Memory],
) -> AssessedAnswers:
    found = [*checked.findings, *prepared.carried]
    pairs = list(zip(prepared.plan.questions, answers, strict=True))
    raw = [
        finding
        for question, answer in pairs
        for finding in extract_findings(answer, question, change, versions, found, redact=redact_outgoing)
    ]
    lines = {path: (version.head or b"").decode(errors="replace").split("\n") for path, version in versions.items()}
    candidates = tuple(
        _attach_memories(place_on_diff(redact_finding(each), change), lessons) for each in add_fingerprints(raw, lines)
    )
    second = build_second_look(candidates, change, versions, checked.findings, redact=redact_outgoing)
    gone = [
        name
        for question, answer in pairs
        for name, is_gone in read_earlier_verdicts(answer, question).items()
        if is_gone
    ]
    return AssessedAnswers(candidates=candidates, second=second, gone=tuple(gone))


def _attach_memories(finding: Finding, lessons: Sequence[Memory]) -> Finding:
    """The finding with the memories that it names as what led to it."""
    named = PromptContext(lessons=tuple(lessons)).find_named(finding.message)
    return finding.model_copy(update={"memories": tuple(each.id for each in named)}) if named else finding


def _compute_digest(question: Question, schema: type[BaseModel], model: LanguageModel) -> str:
    return digest(model.name, question.instructions, question.content, schema.__name__)


def _filter_model_findings(previous: Review) -> list[Finding]:
    """The model's findings of the last review, also those that people do not want to hear."""
    return [finding for finding in previous.all_findings if finding.layer is Layer.model]


def _carry_over(finding: Finding, since: Change) -> Finding | None:
    """A finding on lines that are as they were, where they stand now; None if its line was changed."""
    touched = since.file(finding.path)
    if touched is None or finding.line is None:
        return None if touched is None and finding.path in _list_old_paths(since) else finding
    line = touched.head_line(finding.line)
    if line is None:
        return None
    by = line - finding.line
    if by == 0:
        return finding
    return finding.model_copy(
        update={
            "line": line,
            "end_line": None if finding.end_line is None else finding.end_line + by,
            "fix": None if finding.fix is None else finding.fix.move(by),
        }
    )


def _list_old_paths(since: Change) -> set[str]:
    return {file.old_path for file in since.files if file.old_path is not None}


def _build_earlier(finding: Finding, content: bytes, since: FileChange | None) -> EarlierFinding:
    """A finding whose line was changed, with the code it was about."""
    lines = content.decode(errors="replace").split("\n")
    start = finding.line or 1
    before = lines[max(0, start - 3) : (finding.end_line or start) + 2]
    return EarlierFinding(
        id=finding.id,
        rule=finding.rule,
        path=finding.path,
        line=None if since is None or finding.line is None else find_current_line(since, finding.line),
        message=finding.message,
        before="\n".join(before),
    )


def _remove_place(finding: Finding) -> Finding:
    """A finding that is still there although its line is gone: it counts, and stands on no line."""
    return finding.model_copy(update={"line": None, "end_line": None, "fix": None, "on_diff": False})
