"""All that the set knows of the product: an entry as a git repository, its questions, and what answers amount to.

A change of ``agents.review.model`` is followed here and nowhere else.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from agents.llm.ask import ModelAnswer, Question
from agents.llm.messages import build_parameters
from agents.review.checks.inputs import list_checked_files
from agents.review.model.answers import Report, extract_findings
from agents.review.model.questions import Intent, QuestionPlan, build_questions
from agents.review.model.second_look import Verdicts, build_second_look, keep_confirmed
from agents.review.syntax import build_outline, has_functions
from domain.review.changes import Change, FileVersions
from domain.review.findings import RawFinding
from domain.review.reading import Outline
from tests.bench.reading.entry import Entry
from tests.bench.reading.related import find_by_symbols
from tests.unit.workspace.remotes import Author
from workspace.diff import DiffLimits
from workspace.git import Git
from workspace.objects import Objects

FIRST_LOOK = build_parameters(Report).output_tools[0].parameters_json_schema
"""The schema of a report about a change."""

SECOND_LOOK = build_parameters(Verdicts).output_tools[0].parameters_json_schema
"""The schema of a report about the candidates of the first look."""


@dataclass(frozen=True)
class Asked:
    """What Forge asks about an entry.

    :param diff: the change as git prints it.
    """

    entry: Entry
    change: Change
    versions: dict[str, FileVersions]
    plan: QuestionPlan
    diff: str

    def find(self, answers: Sequence[tuple[str, Any]]) -> tuple[RawFinding, ...]:
        """The findings in answers to the first look.

        :param answers: the key of a question, and the report.
        :raises KeyError: there is no such question.
        :raises ValidationError: a report does not fit its schema.
        """
        questions = {question.key: question for question in self.plan.questions}
        found: list[RawFinding] = []
        for key, report in answers:
            answer = _wrap(key, Report, report)
            found += extract_findings(answer, questions[key], self.change, self.versions, found)
        return tuple(found)

    def build_second(self, candidates: Sequence[RawFinding]) -> Question | None:
        """The second look at candidates; None if there are none."""
        outlines = self.plan.outlines
        return build_second_look(candidates, self.change, self.versions, outlines=outlines, related=self.plan.related)

    def confirm(self, candidates: Sequence[RawFinding], key: str, report: Any) -> tuple[RawFinding, ...]:
        """The candidates that the second look confirms.

        :raises ValidationError: the report does not fit its schema.
        """
        second = self.build_second(candidates)
        return keep_confirmed(candidates, _wrap(key, Verdicts, report), second)


async def prepare(entry: Entry, folder: Path) -> Asked:
    """Commit base and head to a repository, and build the questions that a first review would ask.

    Layers 1 and 2 are left out: they find nothing in these changes that would keep a model from being asked.

    :param folder: an empty one, for the repository.
    """
    author = Author(folder / "entry.git")
    base = author.commit(entry.base)
    head = author.commit(entry.head)
    objects = Objects(Git(author.tree / ".git"))
    change = await objects.change(base, head, DiffLimits())
    versions = await objects.versions(change.files)
    plan = await plan_questions(objects, head, change, versions, Intent(title=entry.title))
    return Asked(entry, change, versions, plan, author.git("diff", "--no-ext-diff", base, head))


async def plan_questions(
    objects: Objects, head: str, change: Change, versions: dict[str, FileVersions], intent: Intent
) -> QuestionPlan:
    """The questions of a first review, with all that surrounds the change."""
    outlines = _outline(change, versions)
    related = await find_by_symbols(objects, head, change, versions)
    return build_questions(change, versions, intent=intent, outlines=outlines, related=related)


def _outline(change: Change, versions: dict[str, FileVersions]) -> dict[str, Outline]:
    """The outlines of all files, made here instead of in a worker."""
    files = [file for file in list_checked_files(change, versions) if has_functions(file)]
    return {file.path: build_outline(file)() for file in files}


def _wrap(key: str, schema: type[BaseModel], report: Any) -> ModelAnswer:
    return ModelAnswer(key=key, value=schema.model_validate(report).model_dump(mode="json"))
