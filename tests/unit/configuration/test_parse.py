"""What a file means, and where each of its mistakes is told."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.reference import render_sample
from domain.config.configuration import Configuration, Preset
from domain.config.presets import Values
from domain.config.sections import Forks
from domain.config.values import MAX_MISTAKES
from pipeline.config.parsing import parse
from tests.unit.configuration.files import paths_of


def _list_mistakes(text: str) -> list[tuple[int, int, str, str, str]]:
    parsed = parse(text.encode())
    assert (parsed.configuration is None) == bool(parsed.mistakes)
    return [(one.line, one.column, one.path, one.what, one.nearest) for one in parsed.mistakes]


def test_the_sample_of_the_contract_says_the_defaults_and_names_every_key() -> None:
    parsed = parse(render_sample().encode())
    assert parsed.mistakes == ()
    assert parsed.configuration == Configuration()
    every = paths_of(Configuration().model_dump())
    left_out = {path for path in every - paths_of(parsed.values) if not path.startswith("breakers.")}
    assert left_out == set()


@pytest.mark.parametrize("text", ["", "\n", "# nothing\n", "---\n", "review:\n", "review: {}\ngates:\n", "~\n"])
def test_nothing_said_means_the_defaults(text: str) -> None:
    assert parse(text.encode()).configuration == Configuration()


def test_values_arrive() -> None:
    text = """
review:
  drafts: true
  forks: needs_ok
  never_send: ["secrets/**"]
  bots: ["renovate[bot]"]
  linters:
    - name: eslint
      run: [npx, eslint, --format, "my format"]
    - {name: own, run: tools/own --sarif, paths: ["**/*.js"]}
preset: production
gates:
  large_change: {timeout: 2d, escalate: ["@acme/architects", octocat]}
  human_review: {role: maintain, timeout: 90m}
  migration: {phase: review, when: 'matches(review.paths, "db/**")', prompt: Look., role: admin}
paths: {rules: [{paths: ["db/**"], roles: [implementer], severity: critical}]}
"""
    parsed = parse(text.encode())
    assert parsed.mistakes == ()
    configuration = parsed.configuration
    assert configuration is not None
    assert configuration.review.forks is Forks.needs_ok
    assert [linter.run for linter in configuration.review.linters] == [
        "npx eslint --format 'my format'",
        "tools/own --sarif",
    ]
    assert configuration.preset is Preset.production
    assert configuration.gates["large_change"].timeout == "2d"
    assert configuration.gates["large_change"].when == "review.lines_changed > 500"
    assert configuration.paths.rules[0].roles == ("implementer",)
    # as a workflow's journal keeps it
    assert Configuration.model_validate(configuration.model_dump(mode="json")) == configuration


def test_every_mistake_is_told_at_its_place() -> None:
    text = """\
review:
  draft: true
  forks: first_time_need_ok
  max_comments: 101
  linters:
    - name: ESLint
      run: x
    - name: other
bugdets: {day: 1}
budgets: {day: -1, phase: {plan: 3}}
"""
    assert _list_mistakes(text) == [
        (2, 3, "review.draft", "is not a key here", "drafts"),
        (3, 10, "review.forks", "is the text `first_time_need_ok`", "first_time_needs_ok"),
        (4, 17, "review.max_comments", "is `101`", ""),
        (6, 13, "review.linters[0].name", "is the text `ESLint`, which does not match `^[a-z][a-z0-9-]{0,29}$`", ""),
        (8, 7, "review.linters[1]", "lacks `run`", ""),
        (9, 1, "bugdets", "is not a key here", "budgets"),
        (10, 16, "budgets.day", "is `-1`", ""),
        (10, 28, "budgets.phase.plan", "is not a key here", "planning"),
    ]


@pytest.mark.parametrize(
    ("text", "mistakes"),
    [
        ("review: {linters: [{nam: a, run: x}]}", [("review.linters[0].nam", "name")]),
        ("paths: {rules: [{path: a}]}", [("paths.rules[0].path", "paths")]),
        ("review: {linters: [{nam: a}]}", [("review.linters[0]", ""), ("review.linters[0].nam", "name")]),
    ],
)
def test_a_misspelt_key_is_one_mistake(text: str, mistakes: list[tuple[str, str]]) -> None:
    assert [(path, nearest) for _, _, path, _, nearest in _list_mistakes(text)] == mistakes


@pytest.mark.parametrize(
    ("text", "path", "allowed"),
    [
        ("review: {drafts: 1}", "review.drafts", "`true` or `false`"),
        ("review: {max_comments: 2.5}", "review.max_comments", "a whole number from 0 to 100"),
        ("review: {drafts: }", "review.drafts", "`true` or `false`"),
        ("preset: bold", "preset", "`conservative`, `standard`, `aggressive` or `production`"),
        ("preset: {a: 1}", "preset", "`conservative`, `standard`, `aggressive` or `production`"),
        ("breakers: {time: {warn: 0}}", "breakers.time.warn", "a number above 0 and up to 1"),
        ("ladder: {pinned: 5}", "ladder.pinned", "a whole number from 0 to 4"),
        ("ladder: 4", "ladder", "a section"),
        ("labels: {run: ''}", "labels.run", "text of up to 50 characters"),
        ("deploy: {production: {}}", "deploy.production", "`build`, `feedback`, `environments`"),
        ("guards: {max_iterations: 51}", "guards.max_iterations", "a whole number from 1 to 50"),
        ("guards: {loop_threshold: 5}", "guards.loop_threshold", "`max_iterations`, `max_runtime_minutes`"),
        ("gates: {Big: {}}", "gates.Big", "text such as `large_change`"),
        (
            "gates: {deadbeef: {phase: review, when: review.lines_changed > 5, prompt: Look.}}",
            "gates.deadbeef",
            "a name with other letters",
        ),
        ("gates: {big: {phase: review}}", "gates.big", "a gate with `phase`, `when`, `prompt`"),
        ("gates: {big: {phase: review, when: size > 5, prompt: Look.}}", "gates.big.when", "`review.lines_changed`, "),
        ("gates: {big: {phase: review, when: true, prompt: Look.}}", "gates.big.when", "text of up to 300 characters"),
        ("gates: {human_review: {when: x}}", "gates.human_review.when", "`timeout`, `role` and `escalate`"),
        ("gates: {protected_paths: {role: write}}", "gates.protected_paths.role", "`maintain` or higher"),
        ("gates: {guard: {timeout: 31d}}", "gates.guard.timeout", "text such as `30m` or `24h`"),
        ("gates: {guard: {timeout: 24}}", "gates.guard.timeout", "text such as `30m` or `24h`"),
        ("review: {paths: {include: ['!x']}}", "review.paths.include[0]", "text"),
        ("review: {paths: {include: [/x]}}", "review.paths.include[0]", "text"),
        ("review: {never_send: ['../x']}", "review.never_send[0]", "text"),
        ("review: {bots: ['a b']}", "review.bots[0]", "text such as `dependabot`"),
        ('review: {linters: [{name: a, run: "x \'y"}]}', "review.linters[0].run", "text of up to 500 characters"),
        ("review: {linters: [{name: a, run: []}]}", "review.linters[0].run", "text of up to 500 characters"),
        ("review: {linters: [{name: a, run: x}, {name: a, run: y}]}", "review.linters[1].name", "a name once"),
        ('commands: {setup: "a\\nb"}', "commands.setup", "text of up to 500 characters"),
        ("commands: {test: ['npm test']}", "commands.test", "text of up to 500 characters"),
        ("breakers: {error_rate: {warn: 0.3}}", "breakers.error_rate.warn", "a share up to `trip`"),
    ],
)
def test_a_mistake_says_what_is_allowed(text: str, path: str, allowed: str) -> None:
    [mistake] = parse(text.encode()).mistakes
    assert mistake.path == path
    assert mistake.allowed.startswith(allowed)


def test_a_condition_is_told_on_its_line_with_what_was_probably_meant() -> None:
    text = """\
gates:
  large:
    phase: review
    when: review.lines_change > 500
    prompt: Look.
  odd:
    phase: review
    when: review.lines_changed > "500"
    prompt: Look.
"""
    assert _list_mistakes(text) == [
        (
            4,
            11,
            "gates.large.when",
            "names `review.lines_change`, which Forge does not know",
            "review.lines_changed",
        ),
        (8, 11, "gates.odd.when", 'compares `review.lines_changed`, a number, with `"500"`, text', ""),
    ]


def test_twenty_mistakes_are_enough() -> None:
    text = "".join(f"unknown{number}: 1\n" for number in range(50))
    assert [mistake.line for mistake in parse(text.encode()).mistakes] == list(range(1, MAX_MISTAKES + 1))


def test_a_file_is_judged_over_what_lies_below_it() -> None:
    below: Values = {
        "gates": {"big": {"phase": "review", "when": "true", "prompt": "Look."}},
        "review": {"drafts": True},
    }
    parsed = parse(b"gates: {big: {timeout: 1h}}\n", below)
    assert parsed.configuration is not None
    assert parsed.configuration.review.drafts
    assert parsed.configuration.gates["big"].prompt == "Look."
    assert parsed.values == {"gates": {"big": {"timeout": "1h"}}}


_scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20)
_anything = st.recursive(_scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner))


@given(st.dictionaries(st.sampled_from(sorted(Configuration.model_fields)), _anything))
def test_no_value_breaks_the_reading(values: dict[str, object]) -> None:
    text = "\n".join(f"{key}: {value!r}" for key, value in values.items())
    parsed = parse(text.encode(errors="surrogatepass"))
    assert (parsed.configuration is None) == bool(parsed.mistakes)


@given(st.text(alphabet="ab:{}[]-? \n\t'\"&*!|>%@`#,~<.1\r\\", max_size=60))
def test_no_text_breaks_the_reading(text: str) -> None:
    parsed = parse(text.encode())
    assert (parsed.configuration is None) == bool(parsed.mistakes)
    assert all(1 <= mistake.line <= text.count("\n") + 1 for mistake in parsed.mistakes)


def test_a_wrong_key_hides_no_contradiction_elsewhere() -> None:
    text = "review:\n  drafst: true\n  linters:\n    - {name: a, run: x}\n    - {name: a, run: y}\nbudgets: {run: x}\n"
    assert [mistake.path for mistake in parse(text.encode()).mistakes] == [
        "review.drafst",
        "review.linters[1].name",
        "budgets.run",
    ]
