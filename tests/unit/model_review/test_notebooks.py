"""What a model is shown of a changed notebook, and where what it says of a cell lands."""

import json

import pytest
from pydantic import JsonValue

from agents.llm.ask import ModelAnswer
from agents.review.model.answers import Report, extract_findings
from agents.review.model.notebooks import show_cells
from agents.review.model.questions import build_questions
from domain.review.changes import Change, FileVersions
from domain.review.findings import RawFinding
from tests.unit.checks.building import change_of
from tests.unit.model_review.notebooks import AFTER, BEFORE, LINE, PATH, cell, write


def change(before: str | None = BEFORE, after: str = AFTER) -> tuple[Change, dict[str, FileVersions]]:
    return change_of({PATH: (before, after)})


def find(*claims: dict[str, JsonValue]) -> tuple[RawFinding, ...]:
    shown, versions = show_cells(*change())
    (question,) = build_questions(shown, versions).questions
    value = Report.model_validate({"findings": list(claims)}).model_dump(mode="json")
    return extract_findings(ModelAnswer(key="k", value=value), question, shown, versions)


def claim(**changes: JsonValue) -> dict[str, JsonValue]:
    usual: dict[str, JsonValue] = {
        "rule": "model/logic-error",
        "path": PATH,
        "line": LINE,
        "end_line": LINE,
        "quote": 'print("mean", sum(prices) / len(prices))',
        "message": "No price divides by zero.",
        "harm": "wrong_result",
        "met_by": "caller",
        "confidence": 0.9,
    }
    return usual | changes


def test_cells_are_shown_and_their_outputs_are_not() -> None:
    shown, versions = show_cells(*change())
    (question,) = build_questions(shown, versions).questions
    assert f'{LINE}+print("mean", sum(prices) / len(prices))\n' in question.content
    assert "prices = []" in question.content
    assert "AAAA" not in question.content
    assert "old" not in question.content
    assert '"outputs"' not in question.content
    assert question.cut == ()


def test_a_finding_in_a_cell_stands_on_its_line_of_the_file() -> None:
    (finding,) = find(claim())
    assert (finding.line, finding.end_line) == (LINE, LINE)
    original, _ = change()
    assert original.files[0].can_be_commented(LINE, LINE)


def test_no_suggestion_replaces_json_by_code() -> None:
    (finding,) = find(claim(replacement='print("mean", sum(prices) / (len(prices) or 1))'))
    assert finding.fix is None


def test_what_stands_outside_cells_has_no_finding() -> None:
    lines = AFTER.split("\n")
    number = next(number for number, line in enumerate(lines, 1) if "AAAA" in line)
    assert find(claim(line=number, end_line=number, quote="AAAAAAAAAAAAAAAAAAA")) == ()


def test_a_new_notebook_is_shown_with_the_kinds_of_its_cells() -> None:
    shown, versions = show_cells(*change(None))
    (question,) = build_questions(shown, versions).questions
    assert "+# %% [markdown]\n" in question.content
    assert "+# Prices\n" in question.content
    assert "+# %%\n" in question.content


def test_numbers_are_those_of_the_file_on_both_sides() -> None:
    shown, _ = show_cells(*change())
    before, after = BEFORE.split("\n"), AFTER.split("\n")
    for hunk in shown.files[0].hunks:
        for old, new, text in hunk.number_lines():
            assert text.startswith("# %%") or old is None or json.dumps(text)[:-1] in before[old - 1]
            assert text.startswith("# %%") or new is None or json.dumps(text)[:-1] in after[new - 1]


def test_what_is_no_notebook_or_is_written_in_another_way_stays() -> None:
    others = {
        "a.py": ("x = 1\n", "x = 2\n"),
        PATH: (None, write(cell(["x = 1"]), indent=None)),
        "b.ipynb": (write(cell(["x"], outputs=["1"])), write(cell(["x"], outputs=["2"]))),
        "c.ipynb": ("{", "{]"),
    }
    original = change_of(others)
    assert show_cells(*original) == original


@pytest.mark.parametrize(
    "hidden",
    [
        '"source": "import os; os.system(\'x\')"',  # a cell as one text
        '"source": ["import os; os.system(\'x\')"]',  # or on one line
        '"source": [\n   ], "source": "evil()"',  # a key twice
        '"source" : [\n    "evil()"\n   ]',
    ],
)
def test_nothing_that_runs_is_hidden_by_the_way_it_is_written(hidden: str) -> None:
    more = f'  {{\n   "cell_type": "code",\n   "metadata": {{}},\n   "outputs": [],\n   {hidden}\n  }},\n'
    written = AFTER.replace('  {\n   "cell_type": "markdown"', more + '  {\n   "cell_type": "markdown"')
    assert len(json.loads(written)["cells"]) == 4
    original = change(after=written)
    assert show_cells(*original) == original
