"""What a whole first review sends to a model, against the diff's own tokens, on ten real releases.

The releases are taken from the package index while it runs, as wheels, which execute nothing; none of them is kept.
"""

import json
import statistics
import zipfile
from dataclasses import dataclass
from pathlib import Path

from pydantic import JsonValue

from agents.llm import messages
from agents.llm.ask import Question, ask
from agents.llm.prices import estimate
from agents.llm.scripted import ScriptedModel
from agents.review.model.answers import Report, extract_findings
from agents.review.model.questions import Intent, QuestionPlan, ReviewQuestion
from agents.review.model.second_look import Verdicts, build_second_look, keep_confirmed
from domain.review.changes import Change, FileVersions
from domain.review.findings import RawFinding
from tests.bench.measured_runs import FRAME
from tests.bench.reading.product import plan_questions
from tests.bench.wheels import download_wheel
from tests.purses import OpenPurse
from tests.unit.workspace.remotes import Author
from workspace.diff import DiffLimits
from workspace.git import Git
from workspace.objects import Objects

RELEASES = [
    ("click", "8.1.7", "8.1.8"),
    ("flask", "3.0.2", "3.0.3"),
    ("h11", "0.14.0", "0.16.0"),
    ("httpx", "0.27.0", "0.27.2"),
    ("itsdangerous", "2.1.2", "2.2.0"),
    ("jinja2", "3.1.4", "3.1.5"),
    ("packaging", "24.0", "24.1"),
    ("pluggy", "1.4.0", "1.5.0"),
    ("starlette", "0.37.1", "0.37.2"),
    ("werkzeug", "3.0.1", "3.0.2"),
]


@dataclass(frozen=True)
class Sent:
    """Tokens of a review: the diff's own, and what its calls sent."""

    diff: int
    reading: int
    second: int
    calls: int
    fixed: int

    @property
    def ratio(self) -> float:
        return (self.reading + self.second) / self.diff


async def test_input_tokens_of_a_first_review(tmp_path: Path) -> None:
    print(f"\n\n{'release':34}{'diff':>8}{'questions':>11}{'second':>8}{'calls':>7}{'ratio':>8}{'uncached':>10}")
    found: list[Sent] = []
    for name, old, new in RELEASES:
        sent = await _review(tmp_path, name, old, new)
        found.append(sent)
        uncached = (sent.reading + sent.second - sent.fixed) / sent.diff
        row = f"{sent.diff:8}{sent.reading:11}{sent.second:8}{sent.calls:7}{sent.ratio:8.2f}{uncached:10.2f}"
        print(f"{f'{name} {old} → {new}':34}{row}")
    median = statistics.median(sent.ratio for sent in found)
    total = sum(sent.reading + sent.second for sent in found) / sum(sent.diff for sent in found)
    print(f"{'median':34}{statistics.median(sent.diff for sent in found):8.0f}{median:34.2f}")
    print(f"{'all tokens together':34}{sum(sent.diff for sent in found):8}{total:34.2f}")
    print("baseline: the same diffs as git prints them; each question finds one candidate, so each has a second look")
    assert median <= 1.5


async def _review(folder: Path, name: str, old: str, new: str) -> Sent:
    author = Author(folder / f"{name}.git")
    base = author.commit(_files(folder, name, old))
    author.git("rm", "-rq", ".")
    head = author.commit(_files(folder, name, new))
    objects = Objects(Git(author.tree / ".git"))
    change = await objects.change(base, head, DiffLimits())
    versions = await objects.versions(change.files)
    plan = await plan_questions(objects, head, change, versions, Intent())
    paths = sorted({path for question in plan.questions for path in question.lines})
    diff = author.git("diff", "--no-ext-diff", base, head, "--", *paths)
    return await _count(plan, change, versions, estimate(diff))


async def _count(plan: QuestionPlan, change: Change, versions: dict[str, FileVersions], diff: int) -> Sent:
    """Play the review with a model that finds one thing in each question."""
    purse, model = OpenPurse(), ScriptedModel()
    asked, outlines = plan.questions, plan.outlines
    found: list[RawFinding] = []
    for question in asked:
        model.when(question.content, {"findings": [_claim(question, versions)]})
        answer = await ask(question, Report, model.language_model, purse)
        found += extract_findings(answer, question, change, versions)
    again = build_second_look(found, change, versions, outlines=outlines)
    assert again is not None
    assert len(found) == len(asked)
    keep_confirmed(found, await ask(again, Verdicts, model.language_model, purse), again)
    return Sent(
        diff=diff,
        reading=sum(_tokens(question, Report) for question in asked),
        second=_tokens(again, Verdicts),
        calls=len(model.calls),
        fixed=sum(_count_fixed(question, Report) for question in asked) + _count_fixed(again, Verdicts),
    )


def _tokens(question: Question, schema: type[Report] | type[Verdicts]) -> int:
    return _count_fixed(question, schema) + estimate(question.content)


def _count_fixed(question: Question, schema: type[Report] | type[Verdicts]) -> int:
    """The stable prefix: the same for every question of its kind, so that providers can cache it."""
    tool = messages.build_parameters(schema).output_tools[0]
    return FRAME + estimate(question.instructions) + estimate(json.dumps(tool.parameters_json_schema))


def _claim(question: ReviewQuestion, versions: dict[str, FileVersions]) -> dict[str, JsonValue]:
    for path, lines in question.lines.items():
        head = (versions[path].head or b"").decode(errors="replace").split("\n")
        for line in lines:
            quote = head[line - 1] if line <= len(head) else ""
            if len(quote.strip()) > 20:
                return {
                    "rule": "model/logic-error",
                    "path": path,
                    "line": line,
                    "end_line": line,
                    "quote": quote,
                    "message": "With an empty list this divides by zero; return early when there is nothing to count.",
                    "trigger": "an empty list divides by zero",
                    "harm": "crash",
                    "met_by": "caller",
                    "confidence": 0.8,
                }
    raise AssertionError("no line to speak of")


def _files(folder: Path, name: str, version: str) -> dict[str, str | bytes | None]:
    """The text of a release, without what the build adds."""
    with zipfile.ZipFile(download_wheel(folder / f"{name}-{version}", name, version)) as wheel:
        return {
            entry: wheel.read(entry) for entry in wheel.namelist() if ".dist-info/" not in entry and entry[-1] != "/"
        }
