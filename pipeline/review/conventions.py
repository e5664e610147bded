"""Loads the conventions of the repository, and holds a head against those that are about its files."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from pydantic import BaseModel

from agents.llm.ask import ModelAnswer, Question
from agents.prompts.conventions import NOTHING_WRITTEN, WrittenConventions, read_conventions
from agents.review.effort import EFFORTS
from agents.review.model.conventions import MOST_ASKED
from agents.review.model.layer import CodeRules, ConventionReport, build_rules_question, keep_rules
from domain.config.sections import ReviewSettings
from domain.errors import CodeAccessError
from domain.review.changes import Change
from domain.runs.run import Run
from domain.text.redaction import redact_outgoing
from pipeline.checkout import fetch_mirror
from pipeline.context import Services
from pipeline.review.question_plan import PreparedQuestions
from pipeline.verdicts.settings import RunSettings
from workspace.objects import Objects

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


async def read_at(code: Objects, commit: str | None, change: Change, review: ReviewSettings) -> WrittenConventions:
    """What a commit holds; where it cannot be read, why: no review fails for that.

    :param commit: None if there is none.
    :param change: what a model is asked about.
    """
    if commit is None or not EFFORTS[review.effort].holds_conventions:
        return NOTHING_WRITTEN
    try:
        return await read_conventions(code, commit, [file.path for file in change.files], review, redact_outgoing)
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


def _explain(error: CodeAccessError) -> WrittenConventions:
    return WrittenConventions(problem=f"The repository's conventions could not be read: {error}")
