"""The check ``Forge / config``: annotations for mistakes, what changes otherwise."""

import re

import pytest
from inline_snapshot import snapshot
from markdown_it import MarkdownIt

from domain.config.configuration import Configuration
from domain.config.presets import build
from domain.review.review import Conclusion
from pipeline.config.check import check_configuration, check_misplaced, merge_checks
from pipeline.config.parsing import PATH


def test_mistakes_are_annotated_on_their_lines() -> None:
    check = check_configuration(b"review:\n  draft: true\npreset: bold\n", Configuration())
    assert check.conclusion is Conclusion.failure
    assert [(one.path, one.start_line, one.end_line, one.level) for one in check.annotations] == [
        (PATH, 2, 2, "failure"),
        (PATH, 3, 3, "failure"),
    ]
    assert (check.annotations[0].title, check.annotations[1].message) == snapshot(
        (
            "Forge: review.draft",
            "`preset` is the text `bold`. Allowed: `conservative`, `standard`, `aggressive` or `production`.",
        )
    )
    assert check.text.title == snapshot("2 mistakes in .github/forge.yml")
    assert "would ignore the file and keep using the last valid version" in check.text.summary


def test_a_valid_version_says_what_it_changes() -> None:
    content = b"review: {drafts: true, linters: [{name: a, run: x}]}\nbudgets: {day: 10}\n"
    check = check_configuration(content, build({"review": {"bots": ["a"]}}))
    assert (check.conclusion, check.annotations) == (Conclusion.success, ())
    assert check.text.summary == snapshot("""\
`.github/forge.yml` is valid.

| changes | now | then |
| --- | --- | --- |
| `review.drafts` | `false` | `true` |
| `review.linters` | – | `[{"name": "a", "run": "x", "paths": ["**"], "files": []}]` |
| `review.bots` | `["a"]` | `["dependabot"]` |
| `budgets.day` | `200.0` | `10.0` |

Your own linters run only where Forge has a sandbox of level 2 or better; the check says if they did not run.

The version of this pull request takes effect only once it is on the default branch.\
""")


def test_what_has_no_effect_is_said_on_its_line() -> None:
    content = b"execution:\n  mode: interactive\n  checkpoint_seconds: 60\nbudgets: {phase: {deployment: 1}}\n"
    check = check_configuration(content, Configuration())
    assert check.conclusion is Conclusion.success
    assert [(one.start_line, one.level) for one in check.annotations] == [(line, "warning") for line in (2, 3, 4)]
    assert [one.message for one in check.annotations] == snapshot(
        [
            "`execution.mode` needs `execution.commands`; without them Forge's agent works as with `deterministic`.",
            (
                "`execution.checkpoint_seconds` has no effect without `agents.implementer.command`: "
                "edits of Forge's agent are kept anyway."
            ),
            "`budgets.phase.deployment` has no effect in this version of Forge: a deployment asks no model.",
        ]
    )
    assert "- line 2: `execution.mode` needs `execution.commands`" in check.text.summary


def test_what_a_preset_or_a_default_says_is_not_the_files() -> None:
    for content in (b"preset: conservative\n", b"execution: {mode: deterministic}\n", b"execution:\n"):
        assert check_configuration(content, Configuration()).annotations == ()


@pytest.mark.parametrize(
    ("phase", "when", "wrong"),
    [
        ("planning", "plan.tasks > 5", None),
        ("implementation", 'plan.risk_level == "high" or run.cost > 3', None),
        ("testing", "testing.failed > 0 and plan.tasks > 1", None),
        ("review", '"security" in review.categories and "ruff/F821" in review.rules', None),
        ("any", "run.cost > 3", None),
        ("any", "plan.tasks > 5", None),
        ("deployment", 'deployment.environment == "production"', None),
        ("planning", "testing.failed > 0", "names `testing.failed`, which the phase planning does not know"),
        ("review", "plan.tasks > 5", "names `plan.tasks`, which the phase review does not know"),
        ("testing", "review.errors > 0 or testing.failed > 0", "names `review.errors`, which the phase testing does"),
        ("testing", "testing.coverage_delta < -2", None),
        (
            "review",
            "testing.coverage_delta < -2",
            "names `testing.coverage_delta`, which the phase review does not know",
        ),
        ("any", "review.errors > 0 and plan.tasks > 5", "uses names that no single phase knows"),
        ("any", 'deployment.environment == "production"', None),
        ("any", "deployment.production and plan.tasks > 5", "uses names that no single phase knows"),
        ("review", "deployment.production", "names `deployment.production`, which the phase review does not know"),
    ],
)
def test_a_condition_names_what_its_phase_knows(phase: str, when: str, wrong: str | None) -> None:
    content = f"gates:\n  own:\n    phase: {phase}\n    when: '{when}'\n    prompt: Fine?\n".encode()
    found = [one for one in check_configuration(content, Configuration()).annotations if one.level == "failure"]
    assert [(one.start_line, one.title) for one in found] == ([] if wrong is None else [(4, "Forge: gates.own.when")])
    assert all(wrong in one.message for one in found if wrong is not None)


def test_a_pattern_that_can_match_nothing_is_a_mistake_on_its_line() -> None:
    content = b"paths:\n  protected:\n    - infra/*.{tf,hcl}\n    - infra/{tf\n    - secrets/\n"
    check = check_configuration(content, Configuration())
    assert [(one.start_line, one.title) for one in check.annotations] == [
        (4, "Forge: paths.protected[1]"),
        (5, "Forge: paths.protected[2]"),
    ]


def test_no_change_is_said() -> None:
    assert "It changes nothing." in check_configuration(b"# new comment\n", Configuration()).text.summary


def test_a_removed_file_is_said() -> None:
    check = check_configuration(None, build({"preset": "production"}))
    assert (check.conclusion, check.text.title) == (Conclusion.success, "Removed")
    assert "| `ladder.max_level` | `2` | `4` |" in check.text.summary


def test_ceilings_and_the_organisation_are_counted_in() -> None:
    check = check_configuration(b"budgets: {day: 500}\n", build(), {"review": {"drafts": True}}, {"budgets.day": 150})
    assert "| `budgets.day` | `200.0` | `150.0` |" in check.text.summary
    assert "| `review.drafts` | `false` | `true` |" in check.text.summary


@pytest.mark.parametrize("said", ["preset: '{}'", "'{}': 1", "review: {{'{}': 1}}", "gates: {{'{}': {{}}}}"])
def test_what_a_file_says_is_inert(said: str) -> None:
    hostile = "`` ` @org/team fixes #1 <img src=x> [a](http://x) | ``"
    check = check_configuration(said.format(hostile).encode(), Configuration())
    assert check.conclusion is Conclusion.failure
    shown = _outside_code(check.text.summary)
    assert "what is wrong" in shown
    for sign in ("@org", "#1", "<img", "<a "):
        assert sign not in shown


def _outside_code(markdown: str) -> str:
    """The page that GitHub makes of it, without what is shown as code."""
    page = MarkdownIt("gfm-like", {"linkify": False}).render(markdown)
    return re.sub(r"<code>.*?</code>", "", page, flags=re.DOTALL)


@pytest.mark.parametrize("path", [".github/Forge.yml", ".github/.forge.yml", ".GitHub/forge.yml", "FORGE.YAML"])
@pytest.mark.parametrize(
    "content",
    [
        b"'review': {drafts: true}",
        b"  review:\n    drafts: true\n",
        b"{review: {}}",
        b"\xef\xbb\xbfreview: {}\n",
        b"review: [\n",
    ],
)
def test_a_file_whose_name_is_nearly_right_gets_a_word_however_it_is_written(path: str, content: bytes) -> None:
    [check] = check_misplaced({path: content})
    assert check.text.title == f"{path} is not read"


@pytest.mark.parametrize(
    ("path", "content"),
    [
        (PATH, b"review: {}\n"),
        ("docs/forge.yml", b"review: {}\n"),
        ("forge.yml", b"kiln: {review: {}}\n"),
        ("forge.yml", b"text: |\n  review:\n"),
        ("forge.yml", b"- review: {}\n"),
        ("forge.yml", b"\xff\xfe"),
    ],
)
def test_a_file_of_something_else_gets_no_word(path: str, content: bytes) -> None:
    assert check_misplaced({path: content}) == []


@pytest.mark.parametrize(("own", "conclusion"), [(b"review: {}\n", "neutral"), (b"review: 1\n", "failure")])
def test_several_files_are_in_one_check(own: bytes, conclusion: str) -> None:
    one = check_configuration(own, Configuration())
    [other] = check_misplaced({"forge.yml": b"review: {}\n"})
    check = merge_checks([one, other])
    assert (check.conclusion, check.text.title) == (conclusion, f"{one.text.title}; forge.yml is not read")
    assert check.annotations == (*one.annotations, *other.annotations)
    assert check.text.summary == f"{one.text.summary}\n\n{other.text.summary}"
