"""The second look: a sceptical question about the candidates alone, so that people see only confirmed findings."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar

from agents.llm.ask import ModelAnswer, Question
from agents.prompts import frame_data, load_prompt
from agents.review.model.answers import CONVENTION, RULES, SURE, UNSURE, cap_by_confidence, squash
from agents.review.model.questions import find_withheld_lines
from agents.review.model.related import RelatedCode, render_related
from agents.review.model.rendering import LONGEST_FUNCTION, excerpt, find_enclosing, render_safely
from domain.paths import clean_name
from domain.review.changes import Change, FileVersions
from domain.review.findings import RawFinding
from domain.review.reading import NO_OUTLINE, Outline
from domain.value import Value

CANDIDATES = "== candidates"
"""The heading below which a question lists what is to be judged; nothing there is evidence."""
_SHOWN = re.compile(r"(?P<sign>-|\d+[+> ])(?P<code>.*)")
_SIGNS = re.compile(r"^(\d+[+> ]|[-+>])\s*")
_IDENTIFIER = re.compile(r"[A-Za-z_]\w{2,}")
_LEAST_PART = 12  # characters of a part of a line that count as the line
_KEYWORD_LIST = """
    and break case class const continue def default else end false final for from func function if import int let
    new nil none not null private protected public return self static string this true type var void while
"""
_KEYWORDS = frozenset(_KEYWORD_LIST.split())


@dataclass(frozen=True)
class ShownCode:
    """The code in a question of the second look, line by line without numbers and signs.

    :param changed: lines that the change adds, moves or removes.
    :param unchanged: all others.
    """

    changed: tuple[str, ...]
    unchanged: tuple[str, ...]

    @classmethod
    def of(cls, content: str, heading: str = CANDIDATES) -> "ShownCode":
        """:param content: of the question.
        :param heading: of the part that is no evidence.
        """
        lines = content.rpartition(f"\n{heading}\n")[0].split("\n")  # the last: a file may have this name
        found = [match for line in lines if (match := _SHOWN.match(line)) is not None]
        is_unchanged = [match["sign"].endswith(" ") for match in found]
        code = [squash(match["code"]) for match in found]
        pairs = list(zip(code, is_unchanged, strict=True))
        return cls(tuple(line for line, same in pairs if not same), tuple(line for line, same in pairs if same))

    def holds(self, quote: str) -> bool:
        """Whether the quoted line is shown."""
        return _is_among(quote, (*self.changed, *self.unchanged))

    def holds_outside(self, quote: str) -> bool:
        """Whether the quoted line is one that the change leaves alone, and names something that a changed line does.

        That is what a caller's line looks like.
        """
        names = {name for line in self.changed for name in _IDENTIFIER.findall(line)}
        named = {name for name in _IDENTIFIER.findall(quote) if name.lower() not in _KEYWORDS}
        return bool(names & named) and _is_among(quote, self.unchanged)


_PROVEN = SURE  # confidence that a proof gives at least: what is proven may request changes
SURE_ENOUGH = 0.85
"""The least confidence at which a candidate is kept if there is no second look."""
F = TypeVar("F", bound=RawFinding)

_AROUND = 12  # lines around a candidate that are shown
_NEAR = 3  # around a name that it uses
_FEW = 6  # places of such a name in a file; of what stands in more of them none is shown
_SHORT = 120  # lines of a file's change that is shown as a whole
_NAME = re.compile(r"(?<![\w.])(?:\w+\.)?(\w*(?:_\w|[a-z][A-Z])\w*|\w{3,}(?=\())")
"""What can only be code: with an underscore or a capital within, or called."""


class CandidateVerdict(Value):
    """The verdict of the second look on one candidate.

    :param why: written first, because a model that writes it judges better.
    :param quote: the shown line that proves or refutes it.
    """

    number: int
    why: str = ""
    verdict: Literal["proven", "unsure", "refuted"]
    quote: str | None = None


class Verdicts(Value):
    """The report of the second look."""

    verdicts: list[CandidateVerdict]


def build_second_look(
    candidates: Sequence[RawFinding],
    change: Change,
    versions: Mapping[str, FileVersions],
    found: Sequence[RawFinding] = (),
    *,
    outlines: Mapping[str, Outline] | None = None,
    related: Sequence[RelatedCode] = (),
) -> Question | None:
    """Asks whether the candidates are right; None if there are none.

    :param found: findings of layers 1 and 2: lines with credentials stay withheld.
    :param outlines: path → what surrounds the changed lines of this file.
    :param related: what the first look saw beside the change, too: a proof often stands there.
    """
    if not candidates:
        return None
    concerned = [each for each in related if each.of in _list_paths(candidates)]
    within: dict[str, set[int]] = {path: set() for path in _list_paths(candidates)}
    for each in concerned:
        if each.path in versions:
            within.setdefault(each.path, set()).update(range(each.start, each.start + len(each.lines)))
    shown = [
        _render_code(path, lines, candidates, change, versions, found, (outlines or {}).get(path, NO_OUTLINE))
        for path, lines in within.items()
    ]
    elsewhere = render_related([each for each in concerned if each.path not in versions])
    asked = [
        "\n".join(
            filter(None, (f"#{number} {clean_name(finding.where)} {finding.rule}: {finding.message}", finding.grounds))
        )
        for number, finding in enumerate(candidates, 1)
    ]
    content = "\n".join([*shown, *elsewhere, CANDIDATES, *asked])
    return Question(
        key="model second look",
        instructions="\n\n".join(_list_instructions(candidates)),
        content=frame_data(content),
        max_output_tokens=500 + 200 * len(candidates),
    )


def keep_confirmed(candidates: Sequence[F], answer: ModelAnswer, question: Question | None) -> tuple[F, ...]:
    """The proven candidates, and errors that the first look was sure of and the second could not refute, as warnings.

    Without an answer, only candidates with a high confidence are kept.

    :param question: what was asked: the line that proves or refutes a candidate stands in its code.
    """
    if answer.value is None or question is None:
        return keep_sure(candidates)
    shown = ShownCode.of(question.content)
    said = {verdict.number: verdict for verdict in Verdicts.model_validate(answer.value).verdicts}
    pairs = [(finding, said.get(number)) for number, finding in enumerate(candidates, 1)]
    kept = [_weigh(*pair, shown) for pair in pairs]
    return tuple(finding for finding in kept if finding is not None)


def keep_sure(candidates: Sequence[F]) -> tuple[F, ...]:
    """Those of the candidates that count although nothing looked at them a second time."""
    return tuple(_leave_unproven(each) for each in candidates if each.confidence >= SURE_ENOUGH)


def _list_instructions(candidates: Sequence[RawFinding]) -> Iterator[str]:
    yield load_prompt("second_look")
    if any(finding.rule == CONVENTION for finding in candidates):
        yield load_prompt("second_look_conventions")


def _weigh(finding: F, verdict: CandidateVerdict | None, shown: ShownCode) -> F | None:
    """The finding as far as the second look leaves it; None if it is refuted, not judged or stays a guess.

    Who proves or refutes quotes the line that does: without one the verdict counts as unsure.
    """
    if verdict is None:
        return None
    is_proven, is_refuted = verdict.verdict == "proven", verdict.verdict == "refuted"
    is_outside = is_proven and RULES[finding.rule].is_proven_outside
    has_evidence = (shown.holds_outside if is_outside else shown.holds)(verdict.quote or "")
    if is_proven and has_evidence:
        return _grade(finding, max(finding.confidence, _PROVEN))
    limit = UNSURE if finding.blocks else RULES[finding.rule].unproven
    if (is_refuted and has_evidence) or finding.confidence < UNSURE or limit is None:
        return None
    return _grade(finding, min(finding.confidence, limit))


def _leave_unproven(finding: F) -> F:
    """A finding that nothing looked at a second time: as it is, unless only a proof may make it certain."""
    limit = RULES[finding.rule].unproven
    return finding if limit is None else _grade(finding, min(finding.confidence, limit))


def _grade(finding: F, confidence: float) -> F:
    graded = cap_by_confidence(finding.severity, confidence)
    return finding.model_copy(update={"confidence": confidence, "severity": graded})


def _list_paths(candidates: Sequence[RawFinding]) -> list[str]:
    return list(dict.fromkeys(finding.path for finding in candidates))


def _render_code(
    path: str,
    shown: Collection[int],
    candidates: Sequence[RawFinding],
    change: Change,
    versions: Mapping[str, FileVersions],
    found: Sequence[RawFinding],
    outline: Outline,
) -> str:
    """The lines of a file around its candidates, once each, with what they name, the change if it is short, and uses.

    :param shown: lines that are wanted in any case.
    """
    version, file = versions.get(path), change.file(path)
    head = [] if version is None or version.head is None else version.head.decode(errors="replace").split("\n")
    wanted = {*shown, *outline.uses}
    for finding in candidates:
        if finding.path == path and finding.line is not None:
            wanted.update(find_enclosing(head, finding.line))
            wanted.update(range(finding.line - _AROUND, (finding.end_line or finding.line) + _AROUND + 1))
            wanted.update(_list_function(outline, finding.line))
            wanted.update(_list_named(head, finding.message))
    hunks = () if file is None else file.hunks
    if sum(len(hunk.lines) for hunk in hunks) <= _SHORT:
        wanted.update(line for hunk in hunks for line in range(hunk.new_start, hunk.new_start + hunk.new_length + 1))
    lines = render_safely(excerpt(head, wanted, file), find_withheld_lines(found).get(path, ()))
    return "\n".join([f"== {clean_name(path)}", *lines])


def _list_named(head: Sequence[str], message: str) -> Iterator[int]:
    """The lines, with those around them, in which names of code stand that a message uses."""
    for name in dict.fromkeys(_NAME.findall(message)):
        word = re.compile(rf"(?<!\w){re.escape(name)}(?!\w)")
        places = [number for number, line in enumerate(head, 1) if word.search(line)]
        for place in places if len(places) <= _FEW else ():
            yield from range(place - _NEAR, place + _NEAR + 1)


def _list_function(outline: Outline, line: int) -> range:
    """The lines of the innermost function around a line, if it is short enough to be shown whole."""
    spans = [span for span in outline.spans if span.start <= line <= span.end]
    is_shown = bool(spans) and spans[-1].end - spans[-1].start < LONGEST_FUNCTION
    return range(spans[-1].start, spans[-1].end + 1) if is_shown else range(0)


def _is_among(quote: str, lines: Iterable[str]) -> bool:
    first = squash(next((line for line in quote.split("\n") if line.strip()), ""))
    wanted = {text for text in (first, _SIGNS.sub("", first)) if re.search(r"\w", text)}
    parts = {text for text in wanted if len(text) >= _LEAST_PART}
    return any(line in wanted or any(part in line for part in parts) for line in lines)
