"""The questions of layer 3: the diff with line numbers, framed as data, and the findings of earlier reviews."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from pydantic import Field

from agents.llm.ask import Question
from agents.prompts import flatten_markdown, frame_data, load_prompt, strip_hidden
from agents.prompts.conventions import NOTHING_WRITTEN, WrittenConventions, choose, render_conventions
from agents.review.model.file_selection import FileSelection, ReadingLimits, render_whole, select_files
from agents.review.model.related import RelatedCode, render_related
from agents.review.model.rendering import RenderedFile, excerpt, render_safely
from domain.globs import matches
from domain.paths import clean_name
from domain.review.changes import Change, ChangeStatus, ContentKind, FileChange, FileVersions, SkippedFile
from domain.review.findings import Layer, RawFinding, Severity
from domain.review.reading import NOTHING_HELD, ConventionFile, Conventions, HeldConventions, Outline, ShownFile
from domain.text.escaping import strip_invisible
from domain.text.redaction import redact_outgoing
from domain.value import Value

CONVENTIONS_KEY = "conventions of the repository"
"""The key of the question about them, which no guard of the phase counts."""

_MOST_BARE = 40  # files without changed lines that are named
_LONGEST_REPORTED = 160  # characters of what a model reported
_MOST_REPORTED = 20  # findings of layers 1 and 2 that are listed, so that the model does not repeat them
_LONGEST_ISSUE = 1_500  # characters of an issue, or of a description
_TOO_MUCH = "The change is too large for one question: {} more files were not held against them."
_AROUND = 5  # lines around an earlier finding
_CREDENTIAL = re.compile(r"secret/.*|docker/secret-in-image|(ruff|bandit)/[SB]10[567]")


class Intent(Value):
    """What is to be done: the title and the description of the pull request, and the issue that it closes.

    :param said: the description; empty if only a part of the change is read.
    :param issue: the number of that issue; None if it closes none, or only a part of the change is read.
    :param asked: what that issue asks, in its author's words.
    :param so_far: what the last review said that the whole change does; empty unless only a part of it is read.
    """

    title: str = ""
    said: str = ""
    issue: int | None = None
    asked: str = ""
    so_far: tuple[str, ...] = ()


NO_INTENT = Intent()
USUAL = ReadingLimits()


class EarlierFinding(Value):
    """A finding of layer 3 that an earlier review posted and that may be gone.

    :param line: its line at this head; None if that is gone.
    :param before: the code it was about, as it was.
    """

    id: str
    rule: str
    path: str
    line: int | None
    message: str
    before: str


class ReviewQuestion(Question):
    """A question about a part of the change.

    :param lines: path → head lines that a finding may name.
    :param cut: paths with an added or removed line that is not fully shown.
    :param earlier: findings that the model must judge again.
    """

    lines: dict[str, tuple[int, ...]]
    cut: tuple[str, ...] = ()
    earlier: tuple[EarlierFinding, ...] = ()


class ConventionQuestion(Question):
    """Asks whether a change keeps the conventions of the repository.

    It is a question of its own. The one about defects holds no convention, so none can talk the model out of a defect.

    :param lines: path → head lines that a finding may name.
    :param conventions: what it shows; a finding quotes a sentence of it.
    :param files: path → the changed file, as it shows it.
    :param reported: the lines that list what was said of these files already, whatever people made of it.
    """

    lines: dict[str, tuple[int, ...]]
    conventions: tuple[ConventionFile, ...]
    files: dict[str, str] = Field(default_factory=dict[str, str])
    reported: tuple[str, ...] = ()


class QuestionPlan(Value):
    """All questions about a change, and the files that none covers. Can be stored as JSON.

    The same change gives the same plan.

    :param issue: the number of the issue that a question asks about; None if none does.
    :param moved: path → other files that show removed lines of it, because these moved there.
    :param related: code of other files that the questions show.
    :param conventions: the question about them; None if there are none for this change.
    :param held: what that question shows.
    """

    questions: tuple[ReviewQuestion, ...]
    not_read: tuple[SkippedFile, ...]
    issue: int | None = None
    outlines: dict[str, Outline] = {}
    moved: dict[str, tuple[str, ...]] = {}
    related: tuple[RelatedCode, ...] = ()
    conventions: ConventionQuestion | None = None
    held: HeldConventions = NOTHING_HELD


def build_questions(
    change: Change,
    versions: Mapping[str, FileVersions],
    found: Sequence[RawFinding] = (),
    *,
    intent: Intent = NO_INTENT,
    earlier: Sequence[EarlierFinding] = (),
    never_send: Sequence[str] = (),
    size: ReadingLimits = USUAL,
    outlines: Mapping[str, Outline] | None = None,
    related: Sequence[RelatedCode] = (),
    riskiest: Collection[str] = (),
    written: WrittenConventions = NOTHING_WRITTEN,
    texts: bool = False,
    says: Severity = Severity.warning,
) -> QuestionPlan:
    """The questions about a change: one if it is small.

    :param change: what to review; after a push only what is new (see :func:`narrow_change`).
    :param versions: path at head → both versions of the changed files.
    :param found: findings of layers 1 and 2. The model is told not to repeat them, and lines with credentials are
        withheld.
    :param earlier: findings of layer 3 on lines that changed since.
    :param never_send: glob patterns of files whose content must not be sent to a model.
    :param outlines: path → what surrounds the changed lines of this file.
    :param related: code of other files that the change touches by name, the most telling first.
    :param riskiest: paths to ask about before all others.
    :param written: the conventions of the repository. What is shown first is held against them.
    :param texts: show documents and data, too.
    :param says: the least severity of what is said at all.
    """
    withheld = find_withheld_lines(found)
    reading = select_files(
        change,
        versions,
        withheld=withheld,
        never_send=never_send,
        size=size,
        outlines=outlines,
        riskiest=riskiest,
        texts=texts,
    )
    again = _assign_earlier(reading, [item for item in earlier if not matches(item.path, never_send)])
    groups = [*reading.groups, *([()] if len(again) > len(reading.groups) else [])]
    if len(groups) > 1:  # no part of a change can tell whether all of it does what an issue asks
        intent = Intent(title=intent.title, so_far=intent.so_far)
    shown = _Shown(change, versions, found, withheld, related, says)
    asked = tuple(
        shown.build_question(
            f"model review {number} of {len(groups)}",
            group,
            earlier,
            intent if number == 1 else intent.model_copy(update={"so_far": ()}),
            [
                *render_whole(number, groups, change, outlines or {}),
                *(_list_bare(change, never_send) if number == 1 else ()),
            ],
        )
        for number, (group, earlier) in enumerate(zip(groups, again, strict=True), 1)
    )
    conventions, held = _build_convention_question(reading.groups, written, found, earlier)
    moved = {path: tuple(sorted(others)) for path, others in sorted(reading.moved.items())}
    return QuestionPlan(
        questions=asked,
        not_read=reading.not_read,
        issue=intent.issue,
        outlines=dict(outlines or {}),
        moved=moved,
        related=tuple(replace(each, lines=tuple(map(redact_outgoing, each.lines))) for each in related),
        conventions=conventions,
        held=held,
    )


def _build_convention_question(
    groups: Sequence[Sequence[RenderedFile]],
    written: WrittenConventions,
    found: Sequence[RawFinding],
    earlier: Sequence[EarlierFinding],
) -> tuple[ConventionQuestion | None, HeldConventions]:
    """The question about the files that are shown first, which are the riskiest, and what it shows."""
    group = groups[0] if groups else ()
    chosen = choose(written, [shown.path for shown in group])
    shown = tuple(ShownFile(path=each.path, shown=len(each.lines), cut=each.cut) for each in chosen.files)
    held = HeldConventions(files=shown, left_out=chosen.left_out, problem=written.problem)
    if not group or not chosen.files:
        return None, held
    others = {shown.path for more in groups[1:] for shown in more}
    files: dict[str, str] = {}
    for each in group:
        files[each.path] = "\n".join(filter(None, (files.get(each.path), each.text)))
    again = [
        f"{clean_name(each.path)} {each.rule}: {strip_hidden(each.message)}" for each in earlier if each.path in files
    ]
    reported = _list_reported([each for each in found if each.path in files], again)
    question = ConventionQuestion(
        key=CONVENTIONS_KEY,
        instructions=load_prompt("conventions"),
        content=show_conventions(chosen.files, [*files.values(), *reported]),
        max_output_tokens=2_000,
        lines=_list_lines(group),
        conventions=chosen.files,
        files=files,
        reported=tuple(reported),
    )
    return question, held.model_copy(update={"problem": _TOO_MUCH.format(len(others)) if others else ""})


def show_conventions(files: Sequence[ConventionFile], change: Sequence[str]) -> str:
    """What the question about conventions shows of them, and of the change."""
    return frame_data("\n".join([*render_conventions(Conventions(files=tuple(files))), *change]))


def _list_lines(group: Sequence[RenderedFile]) -> dict[str, tuple[int, ...]]:
    """Path → head lines that a finding may name."""
    lines: dict[str, tuple[int, ...]] = {}
    for shown in group:
        lines[shown.path] = (*lines.get(shown.path, ()), *shown.lines)
    return lines


@dataclass(frozen=True)
class _Shown:
    """What the questions about a change are made of; for its parts see :func:`build_questions`.

    :param withheld: path → lines with credentials.
    """

    change: Change
    versions: Mapping[str, FileVersions]
    found: Sequence[RawFinding]
    withheld: Mapping[str, Collection[int]]
    related: Sequence[RelatedCode]
    says: Severity

    def build_question(
        self,
        key: str,
        group: Sequence[RenderedFile],
        earlier: Sequence[EarlierFinding],
        intent: Intent,
        whole: Sequence[str],
    ) -> ReviewQuestion:
        """The question about a part of the change.

        :param group: the files it shows.
        :param earlier: the findings that it asks to judge again.
        :param whole: the outline of the whole change, and its files that have no lines to show; empty if there are
            none, and this is all of it.
        """
        paths = {shown.path for shown in group}
        parts = [
            *_render_intent(intent),
            *whole,
            *(shown.text for shown in group),
            *render_related([each for each in self.related if each.of in paths]),
            *_list_reported([finding for finding in self.found if finding.path in paths]),
            *map(self._render_earlier, earlier),
        ]
        return ReviewQuestion(
            key=key,
            instructions=self._load_instructions(),
            content=frame_data("\n".join(parts)),
            lines=_list_lines(group),
            cut=tuple(sorted({shown.path for shown in group if not shown.is_whole})),
            earlier=tuple(earlier),
        )

    def _load_instructions(self) -> str:
        is_deep = self.says is Severity.info
        return f"{load_prompt('review')}\n\n{load_prompt('review_deep')}" if is_deep else load_prompt("review")

    def _render_earlier(self, item: EarlierFinding) -> str:
        now = "(the lines are gone)"
        version, file = self.versions.get(item.path), self.change.file(item.path)
        if item.line is not None and version is not None and version.head is not None:
            head = version.head.decode(errors="replace").split("\n")
            around = range(item.line - _AROUND, item.line + _AROUND + 1)
            lines = excerpt(head, around, file)
            now = "\n".join(render_safely(lines, self.withheld.get(item.path, ())))
        before = "\n".join(redact_outgoing(strip_invisible(line)) for line in item.before.split("\n")[:20])
        return "\n".join(
            [
                f"== earlier finding {item.id}",
                redact_outgoing(item.message),
                "Code then:",
                before,
                f"Now {clean_name(item.path)}:",
                now,
            ]
        )


def _render_intent(intent: Intent) -> list[str]:
    title = redact_outgoing(flatten_markdown(intent.title, 200))
    asked = redact_outgoing(flatten_markdown(intent.asked, _LONGEST_ISSUE))
    described = redact_outgoing(flatten_markdown(intent.said, _LONGEST_ISSUE))
    said = [f"The author says: {title}"] if title else []
    said += ["== how the author describes it", described] if described else []
    before = [f"- {redact_outgoing(flatten_markdown(line, 300))}" for line in intent.so_far]
    said += ["== what the change did before the last push", *before] if before else []
    return (
        said if intent.issue is None else [*said, f"== what issue #{intent.issue} asks, which this is to close", asked]
    )


def _list_bare(change: Change, never_send: Sequence[str]) -> list[str]:
    """The files that are there now without a line that changed: what other files refer to may be one of them."""
    named = [
        f"{clean_name(file.path)}: {said}"
        for file in change.files
        if file.kind is ContentKind.text
        and not file.hunks
        and not matches(file.path, never_send)
        and not (file.old_path and matches(file.old_path, never_send))
        and (said := _describe_bare(file))
    ]
    rows = [*named[:_MOST_BARE], *([f"and {len(named) - _MOST_BARE} more"] if len(named) > _MOST_BARE else [])]
    return ["== files without changed lines", *map(redact_outgoing, rows)] if rows else []


def _describe_bare(file: FileChange) -> str:
    match file.status:
        case ChangeStatus.added:
            return "added, empty"
        case ChangeStatus.renamed | ChangeStatus.copied:
            return f"{file.status.value} from {clean_name(file.old_path or '')}, unchanged"
        case _:
            return ""


def _list_reported(found: Sequence[RawFinding], again: Sequence[str] = ()) -> list[str]:
    """:param again: more of it, on lines that changed since."""
    listed = [_name_reported(finding) for finding in found[:_MOST_REPORTED]]
    listed += again[:_MOST_REPORTED]
    return ["== already reported", *map(redact_outgoing, listed)] if listed else []


def _name_reported(finding: RawFinding) -> str:
    """What a model said has to be told in words: its rules are few."""
    said = f": {flatten_markdown(finding.message, _LONGEST_REPORTED)}" if finding.layer is Layer.model else ""
    return f"{clean_name(finding.where)} {finding.rule} {finding.severity.value}{said}"


def _assign_earlier(reading: FileSelection, earlier: Sequence[EarlierFinding]) -> list[list[EarlierFinding]]:
    """The earlier findings of each group: the group that shows their file, else the first, else a new one."""
    assigned: list[list[EarlierFinding]] = [[] for _ in reading.groups]
    for item in earlier:
        index = next(
            (index for index, group in enumerate(reading.groups) if any(shown.path == item.path for shown in group)), 0
        )
        if not assigned:
            assigned.append([])
        assigned[index].append(item)
    return assigned


def find_withheld_lines(found: Sequence[RawFinding]) -> dict[str, set[int]]:
    """Path → lines with credentials."""
    lines: dict[str, set[int]] = {}
    for finding in found:
        if finding.line is not None and is_credential(finding):
            lines.setdefault(finding.path, set()).update(range(finding.line, (finding.end_line or finding.line) + 1))
    return lines


def is_credential(finding: RawFinding) -> bool:
    """Whether a finding says that a line holds a credential."""
    return _CREDENTIAL.fullmatch(finding.rule) is not None
