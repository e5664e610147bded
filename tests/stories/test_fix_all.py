"""One commit that fixes what can be fixed of a pull request's open findings: ``/forge fix all``."""

from inline_snapshot import snapshot
from pydantic import JsonValue

from agents.llm.scripted import Fails, ScriptedModel
from simulator.state import PullRequest, Repository
from tests.stories.driver import Story
from tests.world.automation import APP, after_looks, at_level, open_pull_request
from tests.world.credentials import LEAKING
from tests.world.model_findings import ASKED, DIVISION, FIXED, ONE_LINE, PAY, RIGHT, WRONG, claim, find_division
from tests.world.replies import mask

UNUSED = APP.replace("import os\n", "import os\nimport sys\n")
NAMELESS = UNUSED.replace("os.name", "missing")


async def _open(story: Story, model: ScriptedModel) -> tuple[Repository, PullRequest]:
    """A pull request of alice's with an unused import, which ruff fixes, and a division, which a model may fix."""
    find_division(model)
    repository, alice, _ = await at_level(story, 1)
    pull, _ = await open_pull_request(story, repository, alice, {"app.py": UNUSED, "billing/pay.py": PAY})
    return repository, pull


def hear(story: Story, pull: PullRequest) -> str:
    """Forge's last answer, without what differs from run to run."""
    return mask(story.answers(pull)[-1].body)


def read(repository: Repository, sha: str, path: str) -> str:
    return (repository.git.read(sha, path) or b"").decode()


async def test_without_a_model_what_linters_can_fix_is_one_commit(story: Story) -> None:
    """Asked again, what is left is said; nothing is made twice."""
    repository, alice, _ = await at_level(story, 1)
    files: dict[str, str] = {"app.py": NAMELESS, "more.py": UNUSED}
    pull, head = await open_pull_request(story, repository, alice, files)
    await after_looks(story, alice.comment(pull, "/forge fix all"))
    [made] = repository.git.commits_between(head, pull.head_sha)
    assert read(repository, made.sha, "app.py") == APP.replace("import os\n\n\n", "").replace("os.name", "missing")
    assert read(repository, made.sha, "more.py") == APP
    assert hear(story, pull) == snapshot("""\
SHA is on `feature`. Of 4 findings: 3 fixed, 1 left. Tests: No tests found.

| finding | where | |
| --- | --- | --- |
| **F-IHFNME** | `app.py:6` | left, because no model can write a fix. anthropic:claude-haiku-4-5 cannot be asked: ANTHROPIC_API_KEY is not set. |
| **F-ZTCLXW** | `app.py:1` | fixed in SHA |
| **F-FNQ5I5** | `app.py:2` | fixed in SHA |
| **F-BKJKA5** | `more.py:2` | fixed in SHA |

<sub>`/forge rollback C-ID` takes it back.</sub>\
""")
    assert (
        repository.git.run("log", "-1", "--format=%s", made.sha).stdout == b"Fix 3 findings in app.py and 1 more file\n"
    )
    assert story.check(repository, made.sha).title == "Changes requested: 1 finding to fix"
    await after_looks(story, alice.comment(pull, "/forge fix all"))
    assert hear(story, pull) == snapshot(
        "**F-IHFNME** is left, because no model can write a fix. anthropic:claude-haiku-4-5 cannot be asked: ANTHROPIC_API_KEY is not set."
    )
    assert pull.head_sha == made.sha
    story.pass_over(pull)


async def test_with_a_model_its_changes_are_in_the_same_commit(story: Story, model: ScriptedModel) -> None:
    repository, pull = await _open(story, model)
    by, head = story.github.user("alice"), pull.head_sha
    model.when(ASKED, ONE_LINE, FIXED)
    await by.comment(pull, "/forge fix all")
    await after_looks(story, by.comment(pull, "/forge fix all"))
    [made] = repository.git.commits_between(head, pull.head_sha)
    assert read(repository, made.sha, "app.py") == APP
    assert read(repository, made.sha, "billing/pay.py") == PAY.replace(WRONG, RIGHT)
    first, second = (mask(each.body) for each in story.answers(pull)[-2:])
    assert first == snapshot("""\
SHA is on `feature`. Of 2 findings: 2 fixed. An empty list gives 0. Tests: No tests found.

| finding | where | |
| --- | --- | --- |
| **F-OZQFDT** | `billing/pay.py:124` | fixed in SHA |
| **F-FNQ5I5** | `app.py:2` | fixed in SHA |

<sub>`/forge rollback C-ID` takes it back.</sub>\
""")
    assert second.startswith("Of 2 findings: 2 done already.")
    assert "| **F-OZQFDT** | `billing/pay.py:124` | done already: SHA fixes F-OZQFDT, F-FNQ5I5 |" in second
    assert len([call for call in model.calls if ASKED in call.content]) == 2
    story.pass_over(pull)


async def test_what_is_known_and_what_a_model_makes_meet_in_one_file(story: Story, model: ScriptedModel) -> None:
    find_division(model)
    repository, alice, _ = await at_level(story, 1)
    pull, head = await open_pull_request(story, repository, alice, {"billing/pay.py": f"import sys\n{PAY}"})
    model.when(ASKED, ONE_LINE, FIXED)
    await after_looks(story, alice.comment(pull, "/forge fix all"))
    [made] = repository.git.commits_between(head, pull.head_sha)
    assert read(repository, made.sha, "billing/pay.py") == PAY.replace(WRONG, RIGHT)
    assert hear(story, pull).startswith("SHA is on `feature`. Of 2 findings: 2 fixed.")
    story.pass_over(pull)


async def test_what_a_known_fix_beside_it_mends_is_fixed(story: Story, model: ScriptedModel) -> None:
    """The agent that is to fix it sees the code with the known fixes in it, and says that it is gone."""
    said = {**claim(2, "import sys"), "path": "app.py", "message": "Importing this here starts a second loop."}
    model.when("+ import sys", {"findings": [said, claim()]})
    model.when("len(prices)", {"findings": [said, claim()]})
    model.when("== candidates", {"verdicts": [{"number": n, "verdict": "proven", "quote": DIVISION} for n in (1, 2)]})
    repository, alice, _ = await at_level(story, 1)
    pull, _ = await open_pull_request(story, repository, alice, {"app.py": UNUSED, "billing/pay.py": PAY})
    model.when(ASKED, ONE_LINE, {**FIXED, "gone": list[JsonValue](story.finding_names(pull, "second loop"))})
    await after_looks(story, alice.comment(pull, "/forge fix all"))
    assert hear(story, pull).startswith("SHA is on `feature`. Of 3 findings: 3 fixed. ")
    story.pass_over(pull)


async def test_a_model_that_does_not_answer_leaves_what_is_known(story: Story, model: ScriptedModel) -> None:
    repository, pull = await _open(story, model)
    model.when(ASKED, Fails(400))
    await after_looks(story, story.github.user("alice").comment(pull, "/forge fix all"))
    assert read(repository, pull.head_sha, "app.py") == APP
    assert read(repository, pull.head_sha, "billing/pay.py") == PAY
    said = hear(story, pull)
    assert said.startswith("SHA is on `feature`. Of 2 findings: 1 fixed, 1 left. Tests: ")
    assert "| **F-OZQFDT** | `billing/pay.py:124` | left, because the work on it ended. " in said
    assert "| **F-FNQ5I5** | `app.py:2` | fixed in SHA |" in said
    assert repository.git.run("log", "-1", "--format=%s", pull.head_sha).stdout == b"Fix: `sys` imported but unused\n"
    story.pass_over(pull)


async def test_what_may_not_be_fixed_is_named_with_its_reason(story: Story, model: ScriptedModel) -> None:
    find_division(model)
    settings = "paths: {protected: [infra/**]}\nreview: {never_send: [private/**]}\n"
    repository, alice, _ = await at_level(story, 1, settings)
    files = {
        "app.py": UNUSED,
        "billing/pay.py": PAY,
        "infra/main.py": UNUSED,
        "private/app.py": APP.replace("os.name", "missing"),
        "leak.py": LEAKING,
    }
    pull, _ = await open_pull_request(story, repository, alice, files)
    model.when(ASKED, {"summary": "Ask @team: 0 or an error?", "is_done": True})
    await after_looks(story, alice.comment(pull, "/forge fix all"))
    assert hear(story, pull) == snapshot("""\
SHA is on `feature`. Of 6 findings: 2 fixed, 4 left. Ask `@team`: 0 or an error? Tests: No tests found.

| finding | where | |
| --- | --- | --- |
| **F-B33GHU** | `leak.py:7` | left, because a credential that was pushed stays in the history. Revoke it where it was issued, then remove the line. |
| **F-QVN6RD** | `private/app.py:5` | left, because `review.never_send` keeps `private/app.py` from models. Fix it by hand. |
| **F-OZQFDT** | `billing/pay.py:124` | left, because the model did not fix it; it says why above. |
| **F-FNQ5I5** | `app.py:2` | fixed in SHA |
| **F-PV5UQV** | `infra/main.py:2` | left, because `infra/main.py` is protected, so it is changed by itself: `/forge fix F-PV5UQV` asks people first. |
| **F-JYAM5D** | `private/app.py:1` | fixed in SHA |

<sub>`/forge rollback C-ID` takes it back.</sub>\
""")
    assert read(repository, pull.head_sha, "infra/main.py") == UNUSED
    story.pass_over(pull)


async def test_fixes_that_break_the_file_together_are_not_all_made(story: Story) -> None:
    """Without either import the block is left with one, and without both it is empty."""
    repository, alice, _ = await at_level(story, 1)
    lazy = "def load():\n    if True:\n        import re\n        import sys\n"
    pull, _ = await open_pull_request(story, repository, alice, {"lazy.py": lazy})
    await after_looks(story, alice.comment(pull, "/forge fix all"))
    assert read(repository, pull.head_sha, "lazy.py") == lazy.replace("        import re\n", "")
    assert "together with the other fixes the file could not be parsed" in hear(story, pull)
    story.pass_over(pull)


async def test_where_nothing_is_open_or_can_be_fixed_nothing_is_done(story: Story) -> None:
    repository, alice, _ = await at_level(story, 1)
    clean, _ = await open_pull_request(story, repository, alice, {"README.md": "# Store\n"})
    await after_looks(story, alice.comment(clean, "/forge fix all"))
    assert "has no open finding, so there is nothing to fix." in hear(story, clean)

    broken, head = await open_pull_request(story, repository, alice, {"app.py": APP.replace("os.name", "x")}, "two")
    await after_looks(story, alice.comment(broken, "/forge fix all"))
    said = hear(story, broken)
    assert said.startswith("Of 2 findings: 2 left.")
    assert said.count("left, because no model can write a fix.") == 2
    assert broken.head_sha == head


async def test_code_that_no_model_may_see_is_fixed_by_linters_alone(story: Story) -> None:
    """What that made can be taken back, too."""
    repository, alice, _ = await at_level(story, 1, "review: {model: never}\n")
    pull, _ = await open_pull_request(story, repository, alice, {"app.py": UNUSED})
    await after_looks(story, alice.comment(pull, "/forge fix all"))
    assert read(repository, pull.head_sha, "app.py") == APP
    name = story.answers(pull)[-1].body.partition("`/forge rollback ")[2].partition("`")[0]
    await after_looks(story, alice.comment(pull, f"/forge rollback {name}"))
    assert read(repository, pull.head_sha, "app.py") == UNUSED
    story.pass_over(pull)


async def test_in_a_locked_conversation_the_commit_says_it(story: Story) -> None:
    repository, alice, carol = await at_level(story, 1)
    pull, _ = await open_pull_request(story, repository, alice, {"app.py": UNUSED})
    await carol.lock(pull)
    await after_looks(story, alice.comment(pull, "/forge fix all"))
    assert story.answers(pull) == []
    assert read(repository, pull.head_sha, "app.py") == APP
    story.pass_over(pull)


async def test_no_fix_is_forced_on_a_push_that_is_not_reviewed_yet(story: Story) -> None:
    """What was fixed by hand is done, and what is used by now is not taken away: what is there is said."""
    repository, alice, _ = await at_level(story, 1)
    files: dict[str, str] = {"app.py": UNUSED, "more.py": UNUSED, "third.py": UNUSED}
    pull, _ = await open_pull_request(story, repository, alice, files)
    hooks, there = story.github.hooks, story.github.hooks.url
    hooks.url = None
    pushed = {"app.py": f"{UNUSED}\n\nprint(sys.path)\n", "more.py": APP, "third.py": UNUSED.replace("sys", "re")}
    head = await alice.push(repository, "feature", pushed)
    hooks.url = there
    await after_looks(story, alice.comment(pull, "/forge fix all"))
    assert pull.head_sha == head
    assert hear(story, pull) == snapshot("""\
Of 3 findings: 1 done already, 2 left.

| finding | where | |
| --- | --- | --- |
| **F-FNQ5I5** | `app.py:2` | left, because `app.py` changed since it was reviewed: where its fix would change a line, there is `import sys`. Ask again when `SHA` is reviewed. |
| **F-BKJKA5** | `more.py:2` | done already: `SHA` has its lines as the fix would make them |
| **F-ZDMPXC** | `third.py:2` | left, because `third.py` changed since it was reviewed: where its fix would change a line, there is `import re`. Ask again when `SHA` is reviewed. |\
""")
    story.pass_over(pull)
