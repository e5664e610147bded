"""Plans the questions to the model about a change, and holds it against the conventions of the repository."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

from pydantic import BaseModel

from agents.llm.ask import ModelAnswer, Question
from agents.prompts.conventions import NOTHING_WRITTEN, WrittenConventions, read_conventions
from agents.review.effort import EFFORTS, ReadingEffort
from agents.review.layers import CheckedChange
from agents.review.model.conventions import MOST_ASKED, CodeRules, ConventionReport, build_rules_question, keep_rules
from agents.review.model.questions import EarlierFinding, Intent, QuestionPlan, build_questions
from domain.config.configuration import Configuration
from domain.config.sections import ReviewSettings
from domain.errors import CodeAccessError
from domain.review.changes import Change, FileVersions
from domain.review.findings import Finding
from domain.review.reading import Effort
from domain.runs.run import Run
from domain.value import Value
from pipeline.checkout import fetch_mirror
from pipeline.context import Services
from pipeline.review.surroundings import Surroundings
from pipeline.verdicts.settings import RunSettings
from safety.impact import list_riskiest
from workspace.objects import Objects
from workspace.snapshot import Snapshot


class PreparedQuestions(Value):
    """The questions, and the earlier findings that need none.

    :param carried: findings of earlier heads in files that did not change since: they count again.
    :param changed: findings of earlier heads in the others: the model judges them again.
    :param looks_up_because: the model may look things up before it answers, as a clause; empty if it may not.
    :param summary: what the last review said that the change does, where that holds unless an answer says otherwise.
    :param known: paths that the model read in full at earlier heads, and in which nothing is new.
    :param reached: path → the lines that count as new in a file that it read in full before.
    """

    plan: QuestionPlan
    summary: tuple[str, ...] = ()
    known: tuple[str, ...] = ()
    reached: dict[str, tuple[tuple[int, int], ...]] = {}
    carried: tuple[Finding, ...] = ()
    changed: tuple[Finding, ...] = ()
    looks_up_because: str = ""


Ask = Callable[[Question, type[BaseModel]], Awaitable[ModelAnswer]]
"""Asks a model a question beside the review, which goes on without an answer."""


@dataclass(frozen=True)
class ConventionAnswers:
    """What a model answered about conventions.

    :param about_rules: which lines code can be held against, an answer for each file.
    :param about_change: whether the change breaks one; None where it was not asked.
    """

    about_rules: tuple[ModelAnswer, ...] = ()
    about_change: ModelAnswer | None = None

    @property
    def all_answers(self) -> tuple[ModelAnswer, ...]:
        """All that was asked, in order."""
        return self.about_rules if self.about_change is None else (*self.about_rules, self.about_change)


NOT_ASKED = ConventionAnswers()


async def load_conventions(services: Services, run: Run, settings: RunSettings, change: Change) -> WrittenConventions:
    """What the default branch holds, whatever the pull request is for: what it changes there counts once merged.

    :param change: what a model is asked about.
    """
    review, pull_request = settings.configuration.review, settings.pull_request
    if not EFFORTS[review.effort].holds_conventions or not review.instructions:
        return NOTHING_WRITTEN
    mirror = await fetch_mirror(services, run)
    is_default = pull_request.base_ref == pull_request.default_branch
    try:
        commit = run.base_sha if is_default else await mirror.fetch_default()
    except CodeAccessError as error:
        return _explain(error)
    return await read_at(mirror, commit, change, review)


def _explain(error: CodeAccessError) -> WrittenConventions:
    return WrittenConventions(problem=f"The repository's conventions could not be read: {error}")


async def read_at(code: Objects, commit: str | None, change: Change, review: ReviewSettings) -> WrittenConventions:
    """What a commit holds; where it cannot be read, why: no review fails for that.

    :param commit: None if there is none.
    :param change: what a model is asked about.
    """
    if commit is None or not EFFORTS[review.effort].holds_conventions:
        return NOTHING_WRITTEN
    try:
        return await read_conventions(code, commit, [file.path for file in change.files], review)
    except CodeAccessError as error:
        return _explain(error)


async def hold_against_conventions(
    prepared: PreparedQuestions, ask_for_rules: Ask, ask: Ask
) -> tuple[PreparedQuestions, ConventionAnswers]:
    """Ask whether the change keeps the conventions that are about its files.

    :param ask_for_rules: asks what has the same answer for every change.
    :returns: the questions, of which the one about conventions shows only those; and the answers.
    """
    plan = prepared.plan
    if plan.conventions is None:
        return prepared, NOT_ASKED
    asked = plan.conventions.conventions[:MOST_ASKED]
    rules = {file.path: await ask_for_rules(build_rules_question(file), CodeRules) for file in asked}
    left = keep_rules(plan.conventions, rules)
    about_change = None if left is None else await ask(left, ConventionReport)
    held = plan.held.model_copy(update={"says_nothing": left is None})
    narrowed = plan.model_copy(update={"conventions": left, "held": held})
    return prepared.model_copy(update={"plan": narrowed}), ConventionAnswers(tuple(rules.values()), about_change)


@dataclass(frozen=True)
class Shown:
    """What the model is shown of a change.

    :param change: after a push only what is new.
    :param versions: path at head → both versions of the changed files.
    :param written: the conventions of the repository.
    :param intent: what the change is to do.
    :param carried: what earlier reviews found, and is not asked about again.
    :param earlier: what is asked about again.
    """

    change: Change
    versions: Mapping[str, FileVersions]
    around: Surroundings
    written: WrittenConventions
    intent: Intent
    carried: Sequence[Finding] = ()
    earlier: Sequence[EarlierFinding] = ()


def plan_questions(checked: CheckedChange, shown: Shown, configuration: Configuration) -> QuestionPlan:
    """The questions, as thorough as the configuration says."""
    effort = EFFORTS[configuration.review.effort]
    return build_questions(
        shown.change,
        shown.versions,
        (*checked.findings, *shown.carried),
        intent=shown.intent,
        earlier=shown.earlier,
        never_send=configuration.review.never_send,
        size=effort.limits,
        outlines=shown.around.outlines,
        related=shown.around.related,
        riskiest=list_riskiest(shown.change.files, checked.findings, configuration.paths.sensitive),
        written=shown.written,
        texts=checked.is_low or configuration.review.effort is Effort.deep,
        says=effort.says,
    )


async def explain_look_ups(effort: ReadingEffort, plan: QuestionPlan, checked: CheckedChange, code: Objects) -> str:
    """Why the model may look things up in the code of the head, as a clause; empty if it may not, or cannot."""
    why = effort.explain_look_ups(plan, checked.risk)
    try:
        return why if why and await Snapshot.of(code, checked.head_sha) else ""
    except CodeAccessError:  # such as a repository with too many files to be listed
        return ""
