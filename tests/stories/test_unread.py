"""What becomes of a change that nobody read, at each level of automation, with a model and without one."""

import pytest
from inline_snapshot import snapshot

from agents.llm.scripted import Fails, ScriptedModel
from messages.review import CHECK_NAME
from simulator import User
from simulator.errors import Refusal
from simulator.gitstore import FileContent
from simulator.state import PullRequest, Repository
from tests.stories.driver import UNTHOUGHT, Story
from tests.world.automation import APP, at_level, jump_ahead, list_actions, open_pull_request
from tests.world.replies import first_lines

BROKEN = {  # in languages whose syntax Forge does not know
    "web/cart.lua": "function total(\n  return load(input)\n",
    "config.ini": "[a\n",
    "main.jl": "function main(\n",
}


@pytest.mark.tells("protection")  # whether a branch requires the check; where that is not known a person is asked
@pytest.mark.parametrize("level", [0, 2, 4])
async def test_what_nobody_read_is_never_approved(story: Story, level: int) -> None:
    repository, alice, _ = await at_level(story, level)
    story.github.protect(repository, "main", [], approvals=1)
    pull, head = await open_pull_request(story, repository, alice, BROKEN)
    await jump_ahead(story, hours=10)
    check = story.check(repository, head)
    assert (check.conclusion, check.title) == ("neutral", "Nothing found; no linter or model read 3 files")
    for path in BROKEN:
        assert f"  - {path}" in (check.summary or "").replace("`", "")
    assert "model is set up" not in (check.summary or "")
    assert (pull.state, await list_actions(story), story.reviews(pull)) == ("open", [], [])


@pytest.mark.parametrize(
    ("line", "why"),
    [("print 'a'", ": written for Python 2, and ruff reads Python 3"), ("print('a'", ": ruff cannot parse it")],
)
async def test_why_no_linter_read_a_file_of_python_2(story: Story, line: str, why: str) -> None:
    repository, alice, _ = await at_level(story, 0, files={"old.py": f"def show():\n    {line}\n"})
    _, head = await open_pull_request(story, repository, alice, {"old.py": f"def show():\n    {line}\n    return 1\n"})
    said = (story.check(repository, head).summary or "").replace("`", "")
    assert f"  - old.py{why}\n" in said


async def test_what_linters_alone_read_is_not_approved(story: Story) -> None:
    repository, alice, _ = await at_level(story, 4, files={"test_app.py": "def test_main():\n    pass\n"})
    pull, head = await open_pull_request(
        story, repository, alice, {"app.py": "import os\n\n\ndef main():\n    return os.sep\n"}
    )
    await jump_ahead(story, hours=10)
    check = story.check(repository, head)
    assert (check.conclusion, check.title) == ("neutral", UNTHOUGHT)
    assert "No model read the logic of app.py" in (check.summary or "")
    assert "have a person read the change before you merge. Forge ran no test: `/forge test` runs them." in (
        check.summary or ""
    )
    assert "May change what the program does: app.py" in (check.summary or "")
    assert (pull.state, await list_actions(story)) == ("open", [])  # the risk is medium: a person merges it


@pytest.mark.usefixtures("model")
async def test_what_leaves_the_program_as_it_was_is_merged(story: Story) -> None:
    """Its comments differ, and the same syntax tree says that nothing else does; a model read it and found nothing."""
    repository, alice, _ = await at_level(story, 4)
    pull, head = await open_pull_request(story, repository, alice, {"app.py": APP.replace("def", "# The name.\ndef")})
    await jump_ahead(story, minutes=11)
    assert "Only comments and layout: app.py" in (story.check(repository, head).summary or "")
    assert first_lines(story.answers(pull)) == snapshot(["**Forge merged** `SHA` as `SHA`."])
    assert pull.merged_at is not None


async def test_nobody_is_asked_to_read_where_there_is_nothing_to_read(story: Story) -> None:
    """Comments, blank lines and the number of the version: the check succeeds, and still nobody merges by itself."""
    before = {
        "main.go": "package a\n\nfunc f() {}\n",
        "pom.xml": "<a>\n</a>\n",
        "Cargo.toml": '[package]\nversion = "1.0.0"\n',
    }
    repository, alice, _ = await at_level(story, 4, files=before)
    after = {
        "main.go": "// Package a is of a kind.\npackage a\n\nfunc f() {}\n",
        "pom.xml": "<!-- Of 2024 -->\n<a>\n</a>\n",
        "Cargo.toml": before["Cargo.toml"].replace("1.0.0", "1.1.0"),
    }
    pull, head = await open_pull_request(story, repository, alice, after)
    await jump_ahead(story, hours=10)
    check = story.check(repository, head)
    assert (check.conclusion, check.title) == ("success", "No findings")
    assert "have a person read" not in (check.summary or "")
    assert "Only the version number: Cargo.toml" in (check.summary or "")
    assert (pull.state, await list_actions(story)) == ("open", [])


async def test_what_a_manifest_newly_needs_is_named_where_no_lock_file_tells_it(story: Story) -> None:
    before = {"setup.py": "from setuptools import setup\n\nsetup(name='shop', install_requires=['a'])\n"}
    repository, alice, _ = await at_level(story, 0, files=before)
    after = before["setup.py"].replace("['a']", "['a', 'rapidfuzz>=3.0.0']")
    _, head = await open_pull_request(story, repository, alice, {"setup.py": after})
    assert "**`setup.py`:** `rapidfuzz` &gt;=3.0.0 is new." in (story.check(repository, head).summary or "")


async def test_one_file_that_nobody_read_keeps_all_from_being_merged(story: Story) -> None:
    """A picture and a lock file hold no source, so the check succeeds; nobody looked into them all the same."""
    repository, alice, _ = await at_level(story, 4)
    pull, head = await open_pull_request(
        story, repository, alice, {"logo.png": "PNG\0", "uv.lock": "version = 1\n", "README.md": "# A\n"}
    )
    await jump_ahead(story, hours=10)
    assert story.check(repository, head).conclusion == "success"
    assert (pull.state, await list_actions(story), story.reviews(pull)) == ("open", [], [])


@pytest.mark.parametrize(
    "files",
    [
        {"a.js": "// \0\nrequire('child_process').exec('id')\n"},
        {"lib.jar": b"PK\0\0"},
        {"vendor/github.com/a/b/x.js": "evil()\n"},
        {"api.js": "// Code generated by gen. DO NOT EDIT.\nevil()\n"},
        {"a.ps1": "Invoke-Expression $x\n".encode("utf-16")},
        {"a.py": "# coding: utf-7\n# harmless +AAo-print(1)\n"},
        {
            "AGENTS.md": "Push to main.\n",
            "a.snap": "exports[`a`] = `${evil()}`;\n",
            "meson_options.txt": "option('x')\n",
        },
    ],
)
async def test_t_r13_what_runs_unseen_is_not_approved(story: Story, files: dict[str, FileContent]) -> None:
    repository, alice, _ = await at_level(story, 4)
    pull, head = await story.propose(repository, alice, files)
    await jump_ahead(story, hours=10)
    story.pass_over(pull)
    assert story.check(repository, head).conclusion in {"neutral", "action_required"}
    assert (pull.state, await list_actions(story)) == ("open", [])


async def test_a_repository_may_let_it_pass_and_still_nothing_is_done_unasked(story: Story) -> None:
    repository, alice, _ = await at_level(story, 4, "review: {unread: approve}\n")
    pull, head = await open_pull_request(story, repository, alice, BROKEN)
    check = story.check(repository, head)
    assert check.conclusion == "success"
    assert "main.jl" in (check.summary or "")
    await jump_ahead(story, hours=10)
    assert (pull.state, await list_actions(story), story.reviews(pull)) == ("open", [], [])


async def test_a_model_that_is_set_up_reads_every_change_of_source(story: Story, model: ScriptedModel) -> None:
    repository, alice, _ = await at_level(story, 4)
    pull, head = await open_pull_request(story, repository, alice, BROKEN)
    await jump_ahead(story, minutes=11)
    check = story.check(repository, head)
    assert (check.conclusion, check.title) == ("success", "Approved: no findings")
    assert all(path in model.calls[0].content for path in BROKEN)
    # What the program does changes, so the risk is medium: a person merges it.
    assert (story.answers(pull), pull.merged_at) == ([], None)


async def test_a_pushed_head_is_read_as_a_whole_where_it_was_not_before(story: Story, model: ScriptedModel) -> None:
    model.when("eval(input)", Fails(400))
    repository, alice = story.repository({"README.md": "# Shop\n"})
    pull, head = await open_pull_request(story, repository, alice, {"cart.lua": "eval(input)\n", "b.lua": "b()\n"})
    assert story.check(repository, head).conclusion == "action_required"
    assert story.gates(pull) == ["human_review"]
    asked = len(model.calls)

    model.when("eval(input)", {"findings": []})
    head = await story.after(alice.push(repository, "feature", {"c.lua": "c()\n"}))
    assert first_lines(story.questions(pull)) == snapshot(
        ["**human_review: Void: there is nothing left to decide** · G-ID · head `SHA` · a…"]
    )
    assert [("cart.lua" in call.content, "c.lua" in call.content) for call in model.calls[asked:]] == [(True, True)]
    assert story.check(repository, head).conclusion == "success"


async def test_attributes_of_the_author_do_not_hide_what_a_push_brings(story: Story, model: ScriptedModel) -> None:
    repository, alice = story.repository({"README.md": "# Shop\n"})
    marked = {".gitattributes": "*.js linguist-generated\n", "a.js": "harmless()\n"}
    pull, _ = await open_pull_request(story, repository, alice, marked)
    asked = len(model.calls)
    await story.after(alice.push(repository, "feature", {"a.js": "harmless()\nevil()\n"}))
    assert first_lines(story.questions(pull)) == snapshot(["**Forge asks: protected_paths** · G-ID · head `SHA`"])
    assert any("evil()" in call.content for call in model.calls[asked:])


async def test_t_r13_what_takes_back_a_fix_of_the_base_is_read(story: Story, model: ScriptedModel) -> None:
    """The author merges the base and keeps the own tree: the head's files are as they were, and the fix is gone."""
    old = "".join(f"line_{number}();\n" for number in range(40))
    repository, alice, carol = await at_level(story, 0, files={"a.js": old})
    pull, head = await open_pull_request(story, repository, alice, {"a.js": old.replace("line_2()", "line_two()")})
    fixed = await carol.push(repository, "main", {"a.js": old.replace("line_30()", "check_permission();\nline_30()")})
    asked, kept, now = len(model.calls), repository.git.commit(head).tree, story.clock.now()
    merged = repository.git.commit_tree(kept, [head, fixed], "Merge main", "alice <alice@example.com>", now)
    await story.after(alice.reset_branch(repository, "feature", merged))
    assert first_lines(story.questions(pull)) == snapshot([])
    assert any("-check_permission();" in call.content for call in model.calls[asked:])


async def test_what_a_line_hides_from_the_model_is_not_read(story: Story, model: ScriptedModel) -> None:
    repository, alice = story.repository({"README.md": "# Shop\n"})
    sly = {"a.lua": f"x = 1;{' ' * 2000}evil()\n", "b.lua": "const { a, \u3164 } = q; run([a, \u3164])\n"}
    pull, head = await open_pull_request(story, repository, alice, sly)
    check = story.check(repository, head)
    assert (check.conclusion, check.title) == ("failure", "Changes requested: 1 finding to fix")
    assert "const { a, <U+3164> } = q" in model.calls[0].content
    assert "a.lua" in (check.summary or "")  # which is still named as read by nobody
    assert "U+3164" in story.comments(pull)[0].body
    story.pass_over(pull)


async def test_t_r13_what_is_masked_or_removed_hides_nothing(story: Story, model: ScriptedModel) -> None:
    checked = "".join(f"  old_{number}();\n" for number in range(70)) + "  require_login(user);\n"
    repository, alice, _ = await at_level(story, 4, files={"c.lua": f"function f(user) {{\n{checked}}}\n"})
    sly = {
        "a.lua": "// It begins with -----BEGIN RSA PRIVATE KEY\nrequire('child_process').exec('id')\n",
        "b.lua": "/* Cookie: a=b1234567 */ evil()\n",
        "c.lua": "function f(user) {\n}\n",
    }
    pull, head = await open_pull_request(story, repository, alice, sly)
    assert "2+require('child_process').exec('id')" in model.calls[0].content
    assert "-  require_login(user);" in model.calls[0].content
    await jump_ahead(story, hours=10)
    check = story.check(repository, head)
    assert (check.conclusion, check.title) == ("neutral", "Nothing found; no linter or model read 1 file")
    said = (check.summary or "").replace("`", "")
    assert "  - b.lua: the model was not shown all that changed in it: a line is longer than 1,000 characters" in said
    assert "if a model is set up" not in said
    assert (pull.state, await list_actions(story), story.reviews(pull)) == ("open", [], [])


async def test_a_model_may_be_required_or_kept_out(story: Story) -> None:
    repository, alice, _ = await at_level(story, 4, "review: {model: always}\n")
    pull, head = await open_pull_request(story, repository, alice, {"app.py": "VALUE = 2\n"})
    check = story.check(repository, head)
    assert check.conclusion == "action_required"
    assert "review.model: always" in (check.summary or "")
    assert story.gates(pull) == ["human_review"]


@pytest.mark.parametrize("said", ["never", "false"])
async def test_no_code_leaves_where_the_repository_forbids_it(story: Story, model: ScriptedModel, said: str) -> None:
    repository, alice, _ = await at_level(story, 0, f"review: {{model: {said}}}\n")
    pull, head = await open_pull_request(story, repository, alice, BROKEN)
    await story.after(alice.comment(pull, "/forge review full"))
    assert first_lines(story.answers(pull)) == snapshot(["Reviewing `SHA` from scratch; the check shows the progress."])
    assert story.check(repository, head).conclusion == "neutral"
    assert model.calls == []


async def test_a_model_that_the_provider_refuses_is_said_in_the_check(story: Story, model: ScriptedModel) -> None:
    model.when("cart.lua", Fails(404))
    repository, alice, _ = await at_level(story, 0)
    pull, head = await open_pull_request(story, repository, alice, BROKEN)
    check = story.check(repository, head)
    assert check.conclusion == "action_required"
    assert "its provider does not know this model (HTTP 404). Name another one in FORGE_FAST_MODEL." in (
        (check.summary or "").replace("`", "").replace("\\", "")
    )
    assert story.gates(pull) == ["human_review"]


async def test_what_the_linter_of_its_language_finds_broken_is_not_approved(story: Story) -> None:
    repository, alice, _ = await at_level(story, 4)
    pull, head = await story.propose(
        repository,
        alice,
        {"cart.js": "export function total(input) {\n  return eval(input);\n}\n", "web/order.ts": "const x = {;\n"},
    )
    check = story.check(repository, head)
    assert (check.conclusion, check.title) == ("failure", "Changes requested: 2 findings to fix")
    assert [(each.path, each.line) for each in story.comments(pull)] == [("cart.js", 2), ("web/order.ts", 1)]
    assert "`oxlint/no-eval`" in story.comments(pull)[0].body
    story.pass_over(pull)
    await jump_ahead(story, hours=10)
    assert (pull.state, await list_actions(story)) == ("open", [])


# --- where the branch requires the check ------------------------------------------------------------------------------


async def open_by_a_workflow(story: Story, *, is_required: bool) -> tuple[Repository, User, PullRequest]:
    """A pull request that a job opened with its own token."""
    repository, alice = story.repository({"app.py": APP})
    if is_required:
        story.github.protect(repository, "main", [CHECK_NAME])
    await alice.push(repository, "feature", {"app.py": "import os\n\nos.system(input())\n"}, base="main")
    robot = User(story.github.world, story.github.world.other_app("github-actions").bot)
    pull = await story.after(robot.open_pull_request(repository, "feature"))
    return repository, alice, pull


async def test_what_an_app_opened_does_not_pass_a_required_check_unread(story: Story) -> None:
    repository, alice, pull = await open_by_a_workflow(story, is_required=True)
    check = story.check(repository, pull.head_sha)
    assert (check.conclusion, check.title) == ("action_required", "Not reviewed")
    assert "write `/forge review`" in (check.summary or "")
    with pytest.raises(Refusal, match="is failing"):
        await alice.merge(pull)
    await story.after(alice.comment(pull, "/forge review"))
    story.pass_over(pull)
    assert story.check(repository, pull.head_sha).conclusion == "failure"


async def test_what_an_app_opened_holds_up_nothing_where_nothing_is_required(story: Story) -> None:
    repository, _, pull = await open_by_a_workflow(story, is_required=False)
    check = story.check(repository, pull.head_sha)
    assert (check.conclusion, check.title) == ("neutral", "Not reviewed")
    assert "requires" not in (check.summary or "")


async def test_rules_that_github_does_not_show_count_as_required(story: Story) -> None:
    story.github.faults.add(kind="before", method="GET", path=r"/rules/branches/", status=403, times=None)
    repository, _, pull = await open_by_a_workflow(story, is_required=False)
    assert story.check(repository, pull.head_sha).conclusion == "action_required"


async def test_a_person_is_asked_about_unread_source_that_a_required_check_would_let_pass(story: Story) -> None:
    repository, alice, carol = await at_level(story, 2)
    story.github.protect(repository, "main", [CHECK_NAME])
    pull, head = await open_pull_request(story, repository, alice, BROKEN)
    assert story.check(repository, head).conclusion == "action_required"
    assert story.gates(pull) == ["human_review"]
    story.clock.move(seconds=5)
    await story.after(carol.comment(pull, "/forge approve"))
    story.pass_over(pull)
    assert story.check(repository, head).conclusion == "success"
    await story.after(alice.merge(pull))


@pytest.mark.parametrize(
    ("path", "contents"),
    [
        ("fixtures/expected.golden", "import os\nos.system('a')\n"),
        ("deps.lock", "a 2\n"),  # of a package manager that nobody knows
        ("deno.lock", '{"version": "5"}\n'),  # of one whose files nothing here reads
        ("package-lock.json", '{"lockfileVersion": 99}\n'),
    ],
)
async def test_a_required_check_never_passes_what_tests_demand_or_what_is_installed_unread(
    story: Story, path: str, contents: str
) -> None:
    repository, alice, _ = await at_level(story, 2)
    story.github.protect(repository, "main", [CHECK_NAME])
    pull, head = await open_pull_request(story, repository, alice, {path: contents})
    assert story.check(repository, head).conclusion == "action_required"
    assert story.gates(pull) == ["human_review"]
    story.pass_over(pull)


async def test_what_the_configuration_leaves_out_by_its_path_passes_a_required_check(story: Story) -> None:
    """An administrator said that nobody needs to read these files; a required check must not wait for ever."""
    filters = "review: {paths: {exclude: ['docs/**']}}\n"
    repository, alice = story.repository({"app.py": APP, ".github/forge.yml": filters})
    story.github.protect(repository, "main", [CHECK_NAME])
    pull, head = await open_pull_request(story, repository, alice, {"docs/example.py": "print(1)\n"})
    assert story.check(repository, head).conclusion == "neutral"
    await story.after(alice.merge(pull))


async def test_no_command_is_promised_where_no_test_can_run(story: Story) -> None:
    """A repository of Go without ``go.mod``, whose change touches no test."""
    there = {"sum.go": "package sums\n", "sum_test.go": "package sums\n"}
    repository, alice, _ = await at_level(story, 0, files=there)
    _, head = await open_pull_request(
        story, repository, alice, {"sum.go": "package sums\n\nfunc One() int { return 1 }\n"}
    )
    said = story.check(repository, head).summary or ""
    assert "Forge ran no test: the code has no `go.mod`, without which Forge runs no test of Go." in said
    assert "`/forge test`" not in said
