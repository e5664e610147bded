"""Plans the questions to the model about a change, for a run and for a review without a server alike."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from agents.prompts.conventions import WrittenConventions
from agents.review.effort import EFFORTS, ReadingEffort
from agents.review.layers import CheckedChange
from agents.review.model.layer import EarlierFinding, Intent, QuestionPlan, build_questions
from domain.config.configuration import Configuration
from domain.errors import CodeAccessError
from domain.review.changes import Change, FileVersions
from domain.review.findings import Finding
from domain.review.reading import Effort
from domain.text.redaction import redact_outgoing
from domain.value import Value
from pipeline.review.surroundings import Surroundings
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
        redact=redact_outgoing,
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
