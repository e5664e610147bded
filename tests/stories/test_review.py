"""What the author of a pull request sees of a review."""

import pytest
from inline_snapshot import snapshot

from simulator import Blob
from simulator.branches import commit_files
from simulator.gitstore import Commit
from simulator.webhooks import Actor
from tests.stories.driver import UNTHOUGHT, Story
from tests.world.automation import APP, BROKEN
from tests.world.replies import first_lines

UNUSED = APP.replace("import os\n", "import os\nimport sys\n")
LOCK = '{"lockfileVersion": 3, "packages": {"": {"name": "web"}, "node_modules/left": {"version": "1.0.0"}}}\n'


async def test_opened(story: Story) -> None:
    repository, alice = story.repository({"app.py": APP})
    pull, head = await story.propose(repository, alice, {"app.py": BROKEN})

    check = story.check(repository, head)
    assert (check.conclusion, check.title) == snapshot(("failure", "Changes requested: 1 finding to fix"))
    assert [action["label"] for action in check.actions] == ["Review again"]
    [comment] = story.comments(pull)
    assert (comment.path, comment.line) == ("app.py", 5)
    assert check.annotations == []  # which nobody could take back when it is fixed or dismissed
    assert comment.body == snapshot(
        """\
🔴 **Error** · correctness

Undefined name `missing`. Running this line raises a NameError; define or import the name, or correct its spelling.

<sub>F-AEGTUI · [`ruff/F821`](https://docs.astral.sh/ruff/rules/undefined-name) · Not a problem? Someone else with the role write (you, if nobody else has it) replies `/forge dismiss` and why</sub>\
"""
    )
    [run] = await story.runs()
    assert (run.state, run.attempt, run.head_sha) == ("completed", 1, head)


async def test_suggestion_applies_cleanly(story: Story) -> None:
    repository, alice = story.repository({"app.py": APP})
    pull, _ = await story.propose(repository, alice, {"app.py": UNUSED})
    [comment] = story.comments(pull)

    head = await story.after(alice.apply_suggestion(comment))

    assert repository.git.read(head, "app.py") == APP.encode()
    check = story.check(repository, head)
    assert (check.conclusion, check.title) == ("success", "No findings")
    assert len(story.reviews(pull)) == 1


async def test_nothing_to_say(story: Story) -> None:
    repository, alice = story.repository({"app.py": APP})
    pull, head = await story.propose(repository, alice, {"README.md": "# Shop\n"})

    check = story.check(repository, head)
    assert (check.conclusion, check.title) == ("success", "No findings")
    assert "Merge once the other checks are green." in (check.summary or "")
    assert story.reviews(pull) == []
    assert story.github.comments(pull) == []


async def test_only_what_the_pull_request_introduced(story: Story) -> None:
    repository, alice = story.repository({"app.py": BROKEN})
    pull, head = await story.propose(repository, alice, {"app.py": "# The main module.\n" + BROKEN})
    assert story.check(repository, head).conclusion == "success"
    assert story.comments(pull) == []


async def test_push_says_nothing_twice(story: Story) -> None:
    repository, alice = story.repository({"app.py": APP})
    pull, _ = await story.propose(repository, alice, {"app.py": BROKEN})
    [first] = story.comments(pull)

    head = await story.after(alice.push(repository, "feature", {"new.py": "import json\n"}))

    [_, second] = story.comments(pull)
    assert (first.path, second.path) == ("app.py", "new.py")
    check = story.check(repository, head)
    assert check.conclusion == "failure"
    assert "1 finding already commented by an earlier review." in (check.summary or "")
    assert check.annotations == []


async def test_finding_outside_the_diff_is_in_the_check(story: Story) -> None:
    long = APP + "\n" * 20 + "print(main())\n"
    repository, alice = story.repository({"app.py": long})
    pull, head = await story.propose(repository, alice, {"app.py": long.replace("return os.name", "return 1")})
    check = story.check(repository, head)
    assert [(each["path"], each["start_line"]) for each in check.annotations] == [("app.py", 1)]
    assert "`os` imported but unused" in (check.summary or "")
    assert [comment.line for comment in story.comments(pull)] in ([], [1])


@pytest.mark.parametrize("how", ["GitHub's re-run", "our button"])
async def test_review_again(story: Story, how: str) -> None:
    repository, alice = story.repository({"app.py": APP})
    pull, head = await story.propose(repository, alice, {"app.py": BROKEN})
    first = story.check(repository, head)

    await (alice.rerequest(first) if how == "GitHub's re-run" else alice.press(first, "review"))
    await story.settle()

    second = story.check(repository, head)
    assert (second.id > first.id, second.conclusion) == (True, "failure")
    assert len(story.reviews(pull)) == 1
    assert [run.attempt for run in await story.runs()] == [2, 1]


async def test_drafts_where_the_repository_wants_them(story: Story) -> None:
    repository, alice = story.repository({"app.py": APP, ".github/forge.yml": "review: {drafts: true}\n"})
    pull, head = await story.propose(repository, alice, {"app.py": BROKEN}, draft=True)
    assert story.check(repository, head).conclusion == "failure"

    await story.after(alice.mark_ready(pull))
    assert len(await story.runs()) == 1
    assert len(story.comments(pull)) == 1


async def test_broken_configuration_is_said(story: Story) -> None:
    repository, alice = story.repository({"app.py": APP, ".github/forge.yml": "review: {drafts: perhaps}\n"})
    _, head = await story.propose(repository, alice, {"app.py": APP + "\n"})
    summary = story.check(repository, head).summary or ""
    assert "is not used" in summary
    assert "review.drafts" in summary


async def test_binary_rename_and_other_kinds(story: Story) -> None:
    repository, alice = story.repository({"old.py": APP, "logo.png": bytes(range(256))})
    files = {
        "old.py": None,
        "new.py": APP.replace("os.name", "os.name + missing"),
        "logo.png": bytes(range(255, -1, -1)),
        "passwd": Blob(b"/etc/passwd", "120000"),
        "package-lock.json": "{}\n",
        "web/package-lock.json": LOCK,
    }
    pull, head = await story.propose(repository, alice, files)

    [comment] = story.comments(pull)
    assert (comment.path, comment.line) == ("new.py", 5)
    summary = story.check(repository, head).summary or ""
    assert "### Not checked" in summary
    left_out = summary.partition("### Not checked")[2]
    for path in ("logo.png", "passwd", "package-lock.json"):
        assert f"`{path}`" in left_out
    assert "| security | `lock files` | 1 |" in summary
    assert "web/package-lock.json" not in left_out
    assert "**`web/package-lock.json`:** new, with 1 package." in summary


async def test_a_new_lock_file_that_hides_another_is_compared_with_that(story: Story) -> None:
    """npm reads ``npm-shrinkwrap.json`` first, so what the other one says counts no more."""
    known = LOCK.replace('"1.0.0"', '"1.0.0", "integrity": "sha512-a="')
    moved = known.replace("sha512-a", "sha512-x")
    repository, alice = story.repository({"web/package-lock.json": known})
    pull, _ = await story.propose(repository, alice, {"web/npm-shrinkwrap.json": moved})
    summary = story.check(repository, pull.head_sha).summary or ""
    assert "left 1.0.0 has another hash than before" in summary
    assert "no longer what package-lock.json beside it says" in summary


FETCHED = LOCK.replace(
    '"1.0.0"', '"1.0.0", "resolved": "https://registry.example/left-1.0.0.tgz", "integrity": "sha512-a="'
)
HERE = LOCK.replace('"1.0.0"', '"1.0.0", "resolved": "file:test/left.tgz", "hasInstallScript": true')
FROM_GIT = LOCK.replace('"1.0.0"', f'"1.0.0", "resolved": "git+ssh://git@github.com/evil/left.git#{"c" * 40}"')
ASKS = {"package.json": '{"name": "web", "dependencies": {"left": "file:test/left.tgz"}}\n'}


@pytest.mark.parametrize(
    ("lock", "manifest", "conclusion", "says"),
    [
        (HERE, {}, "failure", "now comes from the repository itself"),
        (HERE, {}, "failure", "would run a program as it is installed"),
        (FROM_GIT, {}, "failure", "now comes from a git repository"),
        (HERE, ASKS, "neutral", ""),  # the manifest waits for a reader
    ],
)
async def test_a_lock_file_takes_from_elsewhere_only_what_the_manifest_asks_for(
    story: Story, lock: str, manifest: dict[str, str], conclusion: str, says: str
) -> None:
    """The archive lies in the repository already, and only the lock file changes."""
    files = {"package.json": '{"name": "web", "dependencies": {"left": "^1.0.0"}}\n', "package-lock.json": FETCHED}
    repository, alice = story.repository({**files, "test/left.tgz": Blob(bytes(range(256)))})
    pull, head = await story.propose(repository, alice, {"package-lock.json": lock, **manifest})
    check = story.check(repository, head)
    assert check.conclusion == conclusion
    told = "".join([check.summary or "", *(each.body for each in story.comments(pull))])
    assert says in told
    assert says or "now comes from" not in told


async def test_huge_pull_request_is_never_approved_unseen(story: Story) -> None:
    repository, alice = story.repository({"app.py": APP})
    files = {f"pkg/module_{number:03}.py": f"VALUE = {number}\n" for number in range(330)}
    pull, head = await story.propose(repository, alice, files)
    check = story.check(repository, head)
    assert (check.conclusion, check.title) == ("action_required", "Needs a human review")
    assert story.gates(pull) == ["human_review"]
    assert "Forge did not look at parts of the change" in (check.summary or "")


async def test_base_changed(story: Story) -> None:
    repository, alice = story.repository({"app.py": APP})
    await alice.push(repository, "next", {"app.py": BROKEN}, base="main")
    head = await alice.push(repository, "feature", {"other.py": "VALUE = 1\n"}, base="next")
    pull = await story.after(alice.open_pull_request(repository, "feature", base="main"))
    assert story.check(repository, head).conclusion == "failure"
    assert first_lines(story.comments(pull)) == snapshot(["🔴 **Error** · correctness"])

    await story.after(alice.edit_base(pull, "next"))
    assert story.check(repository, head, "next").conclusion == "neutral"
    closed = story.check(repository, head)
    assert (closed.conclusion, closed.title) == ("cancelled", "The base changed")

    await story.after(alice.edit_base(pull, "main"))
    assert story.check(repository, head).conclusion == "failure"
    assert story.check(repository, head, "next").conclusion == "cancelled"


async def test_risk_above_low_needs_more_than_these_layers(story: Story) -> None:
    repository, alice = story.repository({"app.py": APP})
    large = {f"auth/session_{number}.py": "VALUE = 1\n" * 200 for number in range(8)}
    files = {**large, ".github/workflows/x.yml": "on: push\npermissions: {}\njobs: {}\n"}
    pull, head = await story.propose(repository, alice, files)
    assert first_lines(story.comments(pull)) == snapshot([])
    check = story.check(repository, head)
    assert check.conclusion == "action_required"
    assert "ANTHROPIC_API_KEY is not set" in (check.summary or "")
    assert story.gates(pull) == ["human_review", "protected_paths"]


@pytest.mark.parametrize("tests", [{}, {"tests/test_app.py": "assert True\n"}])
async def test_a_missing_test_is_said_only_where_there_are_tests(story: Story, tests: dict[str, str]) -> None:
    repository, alice = story.repository({"app.py": APP, **tests})
    _, head = await story.propose(repository, alice, {"values.py": "VALUE = 1\n" * 40})
    summary = story.check(repository, head).summary or ""
    assert ("Source is 40 lines longer, and no test changed" in summary) is bool(tests)


async def test_layers_one_and_two_can_be_made_enough(story: Story) -> None:
    repository, alice = story.repository(
        {"app.py": APP, ".github/forge.yml": "review: {model: false, unread: approve}\n"}
    )
    files = {"auth/session.py": "VALUE = 1\n" * 20, "deploy/run.py": "# nothing\n" * 20}
    _, head = await story.propose(repository, alice, files)
    check = story.check(repository, head)
    assert (check.conclusion, check.title) == ("success", UNTHOUGHT)
    assert "ANTHROPIC_API_KEY" not in (check.summary or "")


async def test_the_configuration_is_deleted(story: Story) -> None:
    """The check says what that means; once it is merged, the standard holds again."""
    repository, alice = story.repository({"app.py": APP, ".github/forge.yml": "review: {drafts: true}\n"})
    pull, head = await story.propose(repository, alice, {".github/forge.yml": None})
    [check] = story.github.check_runs(repository, head, "Forge / config")
    assert check.conclusion == "success"
    assert "review.drafts" in (check.summary or "")
    assert story.gates(pull) == ["protected_paths"]

    await story.after(alice.merge(pull))
    assert story.gate_outcomes(pull) == ["protected_paths: Void: there is nothing left to decide"]
    _, head = await story.propose(repository, alice, {"app.py": BROKEN}, "draft", draft=True)
    assert story.check(repository, head).title == "Not reviewed"


async def test_a_head_that_forge_pushed_itself_is_reviewed_like_any_other(story: Story) -> None:
    """It gets its check, once; nothing that Forge does makes it work again."""
    repository, alice = story.repository({"app.py": APP})
    pull, _ = await story.propose(repository, alice, {"app.py": APP + "\n"})
    github = story.github
    forge = Actor(github.app.bot, github.app)
    head = commit_files(github.world, repository, forge, "feature", [Commit("Fix it", {"app.py": BROKEN})])
    await story.settle()
    assert story.check(repository, head).conclusion == "failure"
    assert len(story.comments(pull)) == 1
    assert len(await story.runs()) == 2


async def test_dry_run_posts_no_comments(story: Story) -> None:
    repository, alice = story.repository({"app.py": APP, ".github/forge.yml": "review: {dry_run: true}\n"})
    pull, head = await story.propose(repository, alice, {"app.py": BROKEN})
    check = story.check(repository, head)
    assert check.conclusion == "failure"
    assert [(each["path"], each["start_line"], each["annotation_level"]) for each in check.annotations] == [
        ("app.py", 5, "failure")
    ]
    assert "💬" not in (check.summary or "")
    assert story.reviews(pull) == []


async def test_only_left_out_files_are_changed(story: Story) -> None:
    filters = "review: {paths: {exclude: ['docs/**']}}\n"
    repository, alice = story.repository({"app.py": APP, ".github/forge.yml": filters})
    pull, head = await story.propose(repository, alice, {"docs/example.py": BROKEN})
    check = story.check(repository, head)
    assert (check.conclusion, check.title) == ("neutral", "Not reviewed")
    assert "excludes every file" in (check.summary or "")

    more = await story.after(alice.push(repository, "feature", {"app.py": BROKEN}))
    check = story.check(repository, more)
    assert check.conclusion == "failure"
    assert "docs/example.py" in (check.summary or "")
    assert "Tools ran in sandbox level" in (check.summary or "")
    assert [comment.path for comment in story.comments(pull)] == ["app.py"]


async def test_order_of_imports_knows_the_projects_own_packages(story: Story) -> None:
    files = {"pyproject.toml": "[tool.ruff.lint]\nselect = ['I']\n", "shop/__init__.py": "", "app.py": APP}
    repository, alice = story.repository(files)
    good = "import os\n\nimport pytest\n\nimport shop\n\nprint(os, pytest, shop)\n"
    pull, head = await story.propose(repository, alice, {"good.py": good})
    assert story.check(repository, head).title == UNTHOUGHT

    head = await alice.push(repository, "feature", {"bad.py": good.replace("pytest\n\nimport", "pytest\nimport")})
    await story.settle()
    assert "ruff/I001" in (story.check(repository, head).summary or "")
    assert first_lines(story.comments(pull)) == snapshot(["🔵 **Info** · style"])


async def test_a_configuration_under_another_name_gets_a_word(story: Story) -> None:
    """In the pull request that brings it, and as long as it lies there instead of the one that is read."""
    repository, alice = story.repository({"app.py": APP})
    written = "review: {on_pull_request: false}\n"
    pull, head = await story.propose(repository, alice, {".github/forge.yaml": written})
    story.pass_over(pull)
    [check] = story.github.check_runs(repository, head, "Forge / config")
    assert (check.conclusion, check.title) == ("neutral", ".github/forge.yaml is not read")
    assert "only `.github/forge.yml`" in (check.summary or "")
    await alice.merge(pull)
    pull, head = await story.propose(repository, alice, {"app.py": APP + "\n"}, "other")
    story.pass_over(pull)
    assert "does not read `.github/forge.yaml`" in (story.check(repository, head).summary or "")
    assert not story.github.check_runs(repository, head, "Forge / config")


@pytest.mark.parametrize("path", ["forge.yml", ".forge.yml"])
async def test_a_file_of_another_tool_gets_no_word(story: Story, path: str) -> None:
    repository, alice = story.repository({"app.py": APP})
    pull, head = await story.propose(repository, alice, {path: "kiln: {heat: 1200}\n"})
    story.pass_over(pull)
    assert not story.github.check_runs(repository, head, "Forge / config")
