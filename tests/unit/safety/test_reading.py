"""What of a change nobody read, and what follows from that."""

from collections.abc import Sequence

import pytest

from domain.paths import may_configure_linter, may_run
from domain.review.changes import Change, ChangeStatus, FileChange, SkippedFile, TouchedFile
from domain.review.findings import Layer, RawFinding, Severity
from domain.review.review import Decision, IfUnread, LayerReport, Risk, RiskLevel, ToolRun, Unread
from messages.review import render_reasons
from safety.gates import apply_answers
from safety.impact import is_all_read, list_read_before, list_unread, touch_by_name
from safety.review_decision import CONCLUSIONS, ReviewDecision, decide
from tests.unit.checks.findings import build_raw_finding
from tests.unit.safety.reviews import build_review

LOW = Risk(score=0, level=RiskLevel.low, parts=())
SEARCHED = LayerReport(layer=Layer.security, tools=(ToolRun(tool="detect-secrets", seconds=0.1, files=3),))
WARNING = build_raw_finding(rule="model/logic-error", severity=Severity.warning, path="a.js", layer=Layer.model)


@pytest.mark.parametrize(
    "path",
    [
        *("web/cart.js", "b.yml", "m.go", "lib.jar", "lib.so", "x.wasm", "x.pyc", "a.zip", "model.pkl", "Dockerfile"),
        *("bin/run", "requirements.txt", "CMakeLists.txt", "package.json", "main.tf", "schema.sql", "page.mdx"),
        *("note.ipynb", "x.unheard-of", ".env", "vendor/x.js", "app.min.js", "a.snap", "logo.svg"),
        *(
            "notes.txt",
            "meson_options.txt",
            "conanfile.txt",
            "runtime.txt",
            "reqs.txt",
            "deps.txt",
            "docs/deps.txt",
            "docs/runtime.txt",
        ),
        *(
            "docs/CMakeLists.txt",
            "constraints.txt",
            "llms.txt",
            "CLAUDE.md",
            "sub/AGENTS.md",
            "GEMINI.md",
            ".cursorrules",
        ),
        *(".cursor/rules/a.md", ".claude/commands/go.md", "SKILL.md", ".github/copilot-instructions.md"),
        *(
            ".github/instructions/a.instructions.md",
            "src/prompts/review.md",
            ".github/forge-memory.md",
            "CLAUDE.local.md",
        ),
        *("tests/expected.golden", "app.js.map", "docs/notes.txt", ".gitignore", "robots.txt"),
    ],
)
def test_what_may_run(path: str) -> None:
    assert may_run(path)


@pytest.mark.parametrize(
    "path",
    [
        *("README.md", "docs/how.rst", "docs/todo.txt", "LICENSE", "CHANGELOG", "po/de.po"),
        *("README.txt", "LICENSE-MIT.txt", "third_party_notices.txt", ".github/PULL_REQUEST_TEMPLATE.md"),
        *("logo.png", "data.csv", "uv.lock", "package-lock.json", "go.sum", "font.woff2"),
    ],
)
def test_what_may_not(path: str) -> None:
    assert not may_run(path)


@pytest.mark.parametrize(
    "path",
    [
        *(".eslintignore", "web/.eslintrc.js", ".rubocop.yml", ".github/linters/.golangci.yml", ".config/x.js"),
        *("eslint.config.mjs", "stylelint.config.js", "pylintrc", "tsconfig.base.json", "biome.json", "deno.jsonc"),
        *("package.json", "setup.cfg", "tox.ini", "phpstan.neon", "psalm.xml", "conftest.py"),
        *("pyrightconfig.json", "golangci.yml", "analysis_options.yaml", "Directory.Build.props"),
        "node_modules/@eslint/js/index.js",
    ],
)
def test_what_may_steer_a_linter(path: str) -> None:
    assert may_configure_linter(path)


@pytest.mark.parametrize(
    "path", ["src/config.js", "main.go", ".github/workflows/ci.yml", "arc.js", "src.rb", "a/b.json"]
)
def test_what_steers_none(path: str) -> None:
    assert not may_configure_linter(path)


def test_source_is_read_by_a_linter_of_its_language_or_by_a_model() -> None:
    touched = touch_by_name(["a.py", "a.js", "README.md", "logo.png"])
    assert list_unread(touched, {"a.py"}) == ("a.js",)
    assert list_unread(touched, {"a.py", "a.js"}) == ()
    assert list_unread(touch_by_name(["CHANGES", "LICENSE-MIT", "bin/changes", "CHANGELOGGER"]), ()) == (
        "bin/changes",
        "CHANGELOGGER",
    )
    twin = "a\\u202e.js"
    assert list_unread(touch_by_name([twin]), {twin}) == (twin,)


def test_all_is_read_where_every_file_was_that_is_no_document() -> None:
    assert is_all_read(touch_by_name(["a.py", "README.md"]), {"a.py"})
    assert not is_all_read(touch_by_name(["a.py", "logo.png"]), {"a.py"})
    assert not is_all_read([TouchedFile(path="a.py", is_gone=True)], ())
    assert not is_all_read([TouchedFile(path="a.md", old_path="a.js")], ())
    assert not is_all_read([TouchedFile(path="run.txt", may_run=True)], ())
    assert not is_all_read((), {"a.py"})


def file(path: str, base: str | None, old_path: str | None = None) -> FileChange:
    return FileChange(path=path, old_path=old_path, status=ChangeStatus.modified, old_blob=base, new_blob="now")


def change(*files: FileChange, touched: Sequence[TouchedFile] = ()) -> Change:
    return Change(
        merge_base="a" * 40,
        head_sha="b" * 40,
        files=files,
        touched=tuple(touched),
        total_files=len(files),
        additions=0,
        deletions=0,
    )


@pytest.mark.parametrize(
    ("then", "now", "since", "expected"),
    [
        (file("a.js", "1"), file("a.js", "1"), change(), {"a.js"}),
        (file("a.js", "1"), file("a.js", "2"), change(), set[str]()),  # the base has moved on in it
        (file("a.js", None), file("a.js", "2"), change(), set[str]()),
        (file("a.js", None), file("b.js", None), change(file("b.js", "now", "a.js")), {"b.js"}),
        (file("a.js", "1"), file("b.js", "1", "a.js"), change(file("b.js", "now", "a.js")), {"b.js"}),
        (file("a.js", "1", "c.js"), file("a.js", "1"), change(), set[str]()),  # compared with another file
        (file("a.js", "1"), file("a.js", "1"), change(touched=[TouchedFile(path="a.js")]), set[str]()),  # uncounted
        (file("c.js", "1"), file("c.js", "1"), change(), set[str]()),  # never read
    ],
)
def test_what_counts_as_read_before(then: FileChange, now: FileChange, since: Change, expected: set[str]) -> None:
    assert list_read_before(["a.js"], change(then), change(now), since) == expected


LACKING = Unread(paths=("a.js",), logic=("a.py", "test_a.py"), gone=("test_a.py",), lacks_model=True)


def verdict(then: IfUnread, *findings: RawFinding, risk: Risk = LOW, number: int = 2) -> ReviewDecision:
    paths = tuple(f"web/{number}.js" for number in range(number))
    return decide(findings, risk, [SEARCHED], (), unread=Unread(paths=paths, then=then))


@pytest.mark.parametrize(
    ("then", "decision", "conclusion"),
    [
        (IfUnread.neutral, Decision.unread, "neutral"),
        (IfUnread.ask, Decision.require_human, "action_required"),
        (IfUnread.approve, Decision.approve, "success"),
    ],
)
def test_what_becomes_of_source_that_nobody_read(then: IfUnread, decision: Decision, conclusion: str) -> None:
    found = verdict(then)
    assert (found.decision, CONCLUSIONS[found.decision].value) == (decision, conclusion)
    [reason] = [each for each in found.reasons if each.code == "source.unread"]
    assert reason.text == "Nothing was found by 1 tool; neither a linter nor a model read 2 files of source"
    assert [child.text for child in reason.children] == ["web/0.js", "web/1.js"]


@pytest.mark.parametrize(
    ("paths", "told"),
    [
        (("pyproject.toml",), "1 list of dependencies"),
        (("a/go.mod", "package.json"), "2 lists of dependencies"),
        (("a.lua", "package.json"), "1 file of source and 1 list of dependencies"),
        ((".gitignore", "tox.ini", "tests/data/case", "fixture.json"), "4 files beside the source"),
        (("Makefile", "go.sum", "go.mod", "a.go"), "2 files of source, 1 list of dependencies and 1 lock file"),
        ((".cursor/rules/x.mdc", "LICENSE.BSD"), "1 file that agents obey and 1 file beside the source"),
        ((".circleci/config.yml",), "1 file beside the source"),
        (("composer.json", "app/build.gradle.kts", "Shop.csproj"), "3 lists of dependencies"),
    ],
)
def test_only_source_is_called_source(paths: tuple[str, ...], told: str) -> None:
    [reason] = decide((), LOW, [SEARCHED], (), unread=Unread(paths=paths)).reasons
    assert reason.text == f"Nothing was found by 1 tool; neither a linter nor a model read {told}"
    assert reason.value == len(paths)


def test_a_script_without_suffix_is_source() -> None:
    [reason] = decide((), LOW, [SEARCHED], (), unread=Unread(paths=("dev", "case"), scripts=("dev",))).reasons
    assert reason.text.endswith("read 1 file of source and 1 file beside the source")


def test_source_is_named_first() -> None:
    [reason] = decide((), LOW, [SEARCHED], (), unread=Unread(paths=(".gitignore", "a.go", "go.mod"))).reasons
    assert [child.text for child in reason.children] == ["a.go", "go.mod", ".gitignore"]


def test_why_it_was_not_read_is_said_where_it_is_known() -> None:
    unread, why = Unread(paths=("a.js", "b.js")), [SkippedFile(path="b.js", reason="vendored")]
    [reason] = decide((), LOW, [SEARCHED], why, unread=unread).reasons
    assert [child.text for child in reason.children] == ["a.js", "b.js: vendored"]


def test_nobody_is_said_to_have_read_nothing_of_what_a_model_read_in_part() -> None:
    """It may have found something there."""
    unread, cut = Unread(logic=("a.py",)), SkippedFile(path="a.py", reason="a line is too long", by_model=True)
    [reason] = decide((), LOW, [SEARCHED], [cut], unread=unread).reasons
    assert reason.text == "Linters found nothing. No model read all of the logic of a.py"
    [reason] = decide((), LOW, [SEARCHED], [], unread=unread).reasons
    assert reason.text == "Linters found nothing. No model read the logic of a.py"


def test_that_no_model_is_set_up_is_said_as_the_reason() -> None:
    unread, logic = (each.text for each in decide((), LOW, [SEARCHED], [], unread=LACKING).reasons)
    assert unread == "Nothing was found by 1 tool; no linter read 1 file of source, and no model is set up"
    assert logic == (
        "Linters found nothing. No model is set up that would read the logic of a.py, "
        "nor why files of tests were deleted: test_a.py"
    )


def test_where_no_tool_looked_at_anything_nothing_is_said_to_be_found() -> None:
    page = SkippedFile(path="doc/a.md", reason="vendored (.gitattributes)")
    [reason] = decide((), LOW, [LayerReport(layer=Layer.security)], [page]).reasons
    assert reason.text == "No tool looks at such files"
    [reason] = decide((), LOW, [SEARCHED], [page]).reasons
    assert reason.text == "Nothing was found"


def test_a_critical_change_is_for_one_reader_who_may_answer_for_it() -> None:
    risk = Risk(score=90, level=RiskLevel.critical, parts=())
    [reason] = decide((), risk, [SEARCHED], []).reasons
    assert reason.text == "Risk is critical (90 of 100), so a maintainer should review it"


def test_many_are_named_as_far_as_one_can_read() -> None:
    [reason] = verdict(IfUnread.neutral, number=50).reasons
    assert [child.text for child in reason.children][18:] == ["web/18.js", "and 31 more"]
    assert render_reasons([reason]).endswith("\n  - web/18.js\n  - and 31 more")


def test_what_was_found_weighs_more_than_what_was_not_read() -> None:
    assert verdict(IfUnread.neutral, WARNING).decision is Decision.unread
    error = WARNING.model_copy(update={"severity": Severity.error})
    assert verdict(IfUnread.approve, error).decision is Decision.request_changes
    high = Risk(score=60, level=RiskLevel.high, parts=())
    assert verdict(IfUnread.neutral, risk=high).decision is Decision.require_human
    assert verdict(IfUnread.approve, number=0).decision is Decision.approve


def test_a_verdict_that_is_drawn_anew_still_knows_it() -> None:
    drawn = build_review().model_copy(update={"unread": Unread(paths=("a.js",))})
    assert apply_answers(drawn, ()).decision is Decision.unread
