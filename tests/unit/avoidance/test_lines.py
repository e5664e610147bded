"""Single lines that silence a tool, hide a failure or ask for a test, and others that look like them and do not."""

import pytest

from agents.review.avoidance.lines import find_thresholds
from domain.review.avoidance import AvoidanceKind
from tests.unit.avoidance.samples import compare, list_kinds

CI = ".github/workflows/ci.yml"
SILENCED, IGNORED = AvoidanceKind.suppression_added, AvoidanceKind.failure_ignored
MADE = AvoidanceKind.answer_hard_coded


@pytest.mark.parametrize(
    ("path", "line", "kind"),
    [
        (CI, "    continue-on-error: true", IGNORED),
        (CI, "    continue-on-error: ${{ matrix.experimental }}", IGNORED),
        (CI, "      - run: npm test --if-present", IGNORED),
        (CI, "      - run: npm run --if-present lint", IGNORED),
        (CI, "      - run: make test || exit 0", IGNORED),
        (CI, "      - run: make test || true", IGNORED),
        (".eslintrc.json", '    "eqeqeq": 0,', SILENCED),
        (".eslintrc.json", '    "no-console": ["off", {}],', SILENCED),
        ("config/eslint.json", '    "no-console": [0],', SILENCED),
        ("package.json", '    "no-console": "off",', SILENCED),
        (".rubocop.yml", "  Enabled: false", SILENCED),
        ("tsconfig.json", '    "strict": false,', SILENCED),
        ("biome.json", '    "noExplicitAny": "off",', SILENCED),
        ("src/a.py", "x: int = f()  # pyre-ignore[7]", SILENCED),
        ("src/a.py", "import b  # isort: skip", SILENCED),
        ("src/a.js", "if (process.env.VITEST) f();", MADE),
    ],
)
def test_a_line_says_what_it_hides(path: str, line: str, kind: AvoidanceKind) -> None:
    assert list_kinds(compare({path: "\n"}, {path: f"\n{line}\n"})) == {kind}


@pytest.mark.parametrize(
    ("path", "line"),
    [
        (CI, "    continue-on-error: false"),
        (CI, '    continue-on-error: "false"'),
        (CI, "      - run: npm run build --if-present"),
        (CI, "      - run: cargo test --no-fail-fast"),
        (CI, "      - run: make --keep-going all"),
        (CI, "      fail-fast: false # each system tells something"),
        ("phpunit.xml", '<phpunit stopOnFailure="false">'),
        ("data/limits.json", '  "retries": 0,'),
        ("deploy/template.yaml", "      Enabled: false"),
        ("schemas/api.json", '  "strict": false,'),
        ("src/countries.js", 'const COUNTRIES = { "CI": "Côte d\'Ivoire" };'),
        ("src/spinner.js", "const quiet = Boolean(process.env.CI);"),
        ("src/spinner.py", 'quiet = bool(os.environ.get("CI"))'),
    ],
)
def test_a_line_that_hides_nothing_is_left_alone(path: str, line: str) -> None:
    assert list_kinds(compare({path: "\n"}, {path: f"\n{line}\n"})) == set()


def test_code_that_asks_for_ci_is_told_to_agents_only() -> None:
    found = compare({"a.py": "\n"}, {"a.py": 'if os.environ.get("CI"):\n    f()\n'})
    assert [(each.kind, each.confidence) for each in found] == [(MADE, 0.6)]


@pytest.mark.parametrize(
    ("path", "text", "thresholds"),
    [
        ("pyproject.toml", "fail_under = 90\n", {"fail_under": 90}),
        (".nycrc.json", '{"lines": 80}', {"lines": 80}),
        ("jest.config.js", "coverageThreshold: { global: { branches: 75 } }", {"branches": 75}),
        ("codecov.yml", "coverage:\n  target: 85%\n", {"target": 85}),
        ("pom.xml", "<!-- jacoco --><minimum>0.8</minimum>", {"minimum": 0.8}),
        ("deploy/scaling.yaml", "minimum: 3\nthreshold: 80\n", {}),
        (CI, "name: coverage\non:\n  push:\n    branches: [3.x]\n", {}),
        ("tsconfig.json", '{"coverage": 1, "target": 2015}', {}),
    ],
)
def test_only_what_is_demanded_of_coverage_is_a_threshold(path: str, text: str, thresholds: dict[str, float]) -> None:
    assert find_thresholds(path, text) == thresholds
