"""One commit that fixes what can be fixed of a pull request's open findings: ``/forge fix all``."""

from inline_snapshot import snapshot

from agents.llm.scripted import ScriptedModel
from simulator.state import PullRequest, Repository
from tests.stories.driver import Story
from tests.world.automation import APP, at_level, open_pull_request, settle_looks
from tests.world.credentials import LEAKING
from tests.world.model_findings import (
    ASKED,
    LINE,
    ONE_LINE,
    PAY,
    RIGHT,
    TWO_PLACES,
    WRONG,
    claim,
    edit_lines,
    find_division,
    find_own,
    write_fix,
)

UNUSED = APP.replace("import os\n", "import os\nimport sys\n")
NAMELESS = UNUSED.replace("os.name", "missing")


async def _open(story: Story, model: ScriptedModel) -> tuple[Repository, PullRequest]:
    """A pull request of alice's with an unused import, which ruff fixes, and a division, which a model may fix."""
    find_division(model)
    repository, alice, _ = await at_level(story, 1)
    pull, _ = await open_pull_request(story, repository, alice, {"app.py": UNUSED, "billing/pay.py": PAY})
    return repository, pull


def hear(story: Story, pull: PullRequest) -> str:
    """Forge's last answer, without its marker."""
    return story.answers(pull)[-1].body.partition("\n\n<!--")[0]


def read(repository: Repository, sha: str, path: str) -> str:
    return (repository.git.read(sha, path) or b"").decode()


async def test_without_a_model_what_linters_can_fix_is_one_commit(story: Story) -> None:
    repository, alice, _ = await at_level(story, 1)
    files = {"app.py": NAMELESS, "more.py": UNUSED}
    pull, head = await open_pull_request(story, repository, alice, files)
    await alice.comment(pull, "/forge fix all")
    await settle_looks(story)
    made = find_own(story, pull)
    assert (made.base_ref, made.head_ref, made.title) == (
        "feature",
        f"forge/fix-{pull.number}-all",
        f"Fix 3 findings in #{pull.number}",
    )
    assert repository.git.run("rev-list", "--count", f"{head}..{made.head_sha}").stdout == b"1\n"
    assert read(repository, made.head_sha, "app.py") == APP.replace("import os\n\n\n", "").replace("os.name", "missing")
    assert read(repository, made.head_sha, "more.py") == APP
    assert hear(story, pull) == snapshot("""\
#2 proposes fixes of 3 of 4 open findings for `feature`, in one commit. It is reviewed like every pull request; merge it or close it.

| finding | where | |
| --- | --- | --- |
| **F-IHFNME** | `app.py:6` | not fixed: no model wrote one. anthropic:claude-haiku-4-5 cannot be asked: ANTHROPIC_API_KEY is not set. |
| **F-ZTCLXW** | `app.py:1` | fixed as suggested |
| **F-FNQ5I5** | `app.py:2` | fixed as suggested |
| **F-BKJKA5** | `more.py:2` | fixed as suggested |\
""")
    assert made.body == snapshot("""\
Fixes 3 of 4 open findings in #1.

| finding | where | |
| --- | --- | --- |
| **F-IHFNME** | `app.py:6` | not fixed: no model wrote one. anthropic:claude-haiku-4-5 cannot be asked: ANTHROPIC_API_KEY is not set. |
| **F-ZTCLXW** | `app.py:1` | fixed as suggested |
| **F-FNQ5I5** | `app.py:2` | fixed as suggested |
| **F-BKJKA5** | `more.py:2` | fixed as suggested |

`alice` asked for it with `/forge fix all`.\
""")
    story.pass_over(made)

    await alice.merge(made)
    await settle_looks(story)
    assert story.check(repository, pull.head_sha).title == "Changes requested: 1 finding to fix"
    story.pass_over(pull)


async def test_with_a_model_its_changes_are_in_the_same_commit(story_with_model: Story, model: ScriptedModel) -> None:
    """Asked again, it is the same pull request, which follows the head; what people pushed there is theirs."""
    story = story_with_model
    repository, pull = await _open(story, model)
    by, head = story.github.user("alice"), pull.head_sha
    model.when(ASKED, TWO_PLACES)
    await by.comment(pull, "/forge fix all")
    await settle_looks(story)
    made = find_own(story, pull)
    assert repository.git.run("rev-list", "--count", f"{head}..{made.head_sha}").stdout == b"1\n"
    assert read(repository, made.head_sha, "app.py") == APP
    assert "NONE = 0.0" in read(repository, made.head_sha, "billing/pay.py")
    assert hear(story, pull) == snapshot("""\
#2 proposes fixes of 2 open findings for `feature`, in one commit. It is reviewed like every pull request; merge it or close it. What a model wrote was not run: look at it before you take it.

| finding | where | |
| --- | --- | --- |
| **F-OZQFDT** | `billing/pay.py:124` | fixed by a model: An empty list gives 0. |
| **F-FNQ5I5** | `app.py:2` | fixed as suggested |\
""")

    first, asked = made.head_sha, len(model.calls)
    await by.comment(pull, "/forge fix all")
    await settle_looks(story)
    assert hear(story, pull).startswith(f"#{made.number} proposes these fixes already.")
    assert made.head_sha == first

    await by.push(repository, "feature", {"app.py": UNUSED + "\n\nNAME = 'shop'\n"})
    await settle_looks(story)
    await by.comment(pull, "/forge fix all")
    await settle_looks(story)
    assert hear(story, pull).startswith(f"#{made.number} has fixes now of 2 open findings")
    assert read(repository, made.head_sha, "app.py") == APP + "\n\nNAME = 'shop'\n"
    assert find_own(story, pull) is made
    assert [call for call in model.calls[asked:] if ASKED in call.content]

    await by.push(repository, made.head_ref, {"app.py": APP})
    await settle_looks(story)
    await by.comment(pull, "/forge fix all")
    await settle_looks(story)
    assert "somebody else has changed it since" in hear(story, pull)
    story.pass_over(made)
    story.pass_over(pull)


async def test_what_may_not_be_fixed_is_named_with_its_reason(story_with_model: Story, model: ScriptedModel) -> None:
    story = story_with_model
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
    model.when(ASKED, {"edits": [], "summary": "", "refusal": "Ask @team: 0 or an error?"})
    await alice.comment(pull, "/forge fix all")
    await settle_looks(story)
    made = find_own(story, pull)
    assert hear(story, pull) == snapshot("""\
#2 proposes fixes of 2 of 6 open findings for `feature`, in one commit. It is reviewed like every pull request; merge it or close it.

| finding | where | |
| --- | --- | --- |
| **F-B33GHU** | `leak.py:7` | not fixed: a credential that was pushed stays in the history. Revoke it where it was issued, then remove the line. |
| **F-QVN6RD** | `private/app.py:5` | not fixed: `review.never_send` keeps `private/app.py` from models. |
| **F-OZQFDT** | `billing/pay.py:124` | not fixed: the model declined. Ask `@team`: 0 or an error? |
| **F-FNQ5I5** | `app.py:2` | fixed as suggested |
| **F-PV5UQV** | `infra/main.py:2` | not fixed: `infra/main.py` is protected, so only people change it. |
| **F-JYAM5D** | `private/app.py:1` | fixed as suggested |\
""")
    assert read(repository, made.head_sha, "infra/main.py") == UNUSED
    story.pass_over(made)


async def test_fixes_of_the_same_lines_wait_for_each_other(story_with_model: Story, model: ScriptedModel) -> None:
    """The model's fix of the division changes the line whose unused import ruff removes, so that one stays."""
    story = story_with_model
    repository, pull = await _open_same_lines(story, model)
    both = write_fix(edit_lines(1, "import sys", "import os"), edit_lines(LINE + 1, WRONG, RIGHT))
    model.when(ASKED, both)
    await story.github.user("alice").comment(pull, "/forge fix all")
    await settle_looks(story)
    made = find_own(story, pull)
    assert read(repository, made.head_sha, "billing/pay.py") == PAY
    assert "changes the same lines. Ask again when that is in." in hear(story, pull)
    story.pass_over(made)


async def _open_same_lines(story: Story, model: ScriptedModel) -> tuple[Repository, PullRequest]:
    model.when("len(prices)", {"findings": [claim(LINE + 1)]})
    model.when("== candidates", {"verdicts": [{"number": 1, "confirmed": True, "confidence": 0.9}]})
    repository, alice, _ = await at_level(story, 1)
    pull, _ = await open_pull_request(story, repository, alice, {"billing/pay.py": f"import sys\n{PAY}"})
    return repository, pull


async def test_fixes_that_break_the_file_together_are_not_all_made(story: Story) -> None:
    """Without either import the block is left with one, and without both it is empty."""
    repository, alice, _ = await at_level(story, 1)
    lazy = "def load():\n    if True:\n        import re\n        import sys\n"
    pull, _ = await open_pull_request(story, repository, alice, {"lazy.py": lazy})
    await alice.comment(pull, "/forge fix all")
    await settle_looks(story)
    made = find_own(story, pull)
    assert read(repository, made.head_sha, "lazy.py") == lazy.replace("        import re\n", "")
    assert "together with the other fixes the file could not be parsed" in hear(story, pull)
    story.pass_over(made)


async def test_where_nothing_is_open_or_can_be_fixed_nothing_is_proposed(story: Story) -> None:
    repository, alice, _ = await at_level(story, 1)
    clean, _ = await open_pull_request(story, repository, alice, {"README.md": "# Store\n"})
    await alice.comment(clean, "/forge fix all")
    await settle_looks(story)
    assert "has no open finding, so there is nothing to fix." in hear(story, clean)

    broken, _ = await open_pull_request(story, repository, alice, {"app.py": APP.replace("os.name", "missing")}, "two")
    await alice.comment(broken, "/forge fix all")
    await settle_looks(story)
    said = hear(story, broken)
    assert said.startswith("Nothing is fixed of 2 open findings.")
    assert "not fixed: no model wrote one. " in said
    assert len(repository.issues) == 2


async def test_who_may_not_and_a_closed_one(story: Story) -> None:
    repository, alice, _ = await at_level(story, 1)
    pull, _ = await open_pull_request(story, repository, alice, {"app.py": UNUSED})
    reader = story.github.user("reader")
    await reader.comment(pull, "/forge fix all")
    await settle_looks(story)
    assert "needs the role write" in hear(story, pull)
    await alice.close(pull)
    await alice.comment(pull, "/forge fix all")
    await settle_looks(story)
    assert "open" in hear(story, pull)
    assert list(repository.issues.values()) == [pull]


async def test_at_level_0_it_is_shown_as_text(story: Story) -> None:
    repository, alice, _ = await at_level(story, 0)
    pull, _ = await open_pull_request(story, repository, alice, {"app.py": UNUSED})
    await alice.comment(pull, "/forge fix all")
    await settle_looks(story)
    said = hear(story, pull)
    assert said.startswith("Fixes of 1 open finding. They are only shown here, because ")
    assert "+++ app.py\n@@ -2,1 +0 lines @@\n-import sys\n" in said
    assert list(repository.issues.values()) == [pull]


async def test_a_fork_gets_it_as_text_once_its_head_is_allowed(story: Story) -> None:
    repository, alice = story.repository({"app.py": APP})
    mallory = story.github.user("mallory")
    fork = await mallory.fork(repository)
    await mallory.push(fork, "feature", {"app.py": UNUSED}, base="main")
    pull = await mallory.open_pull_request(repository, "feature", head_repo=fork)
    await story.settle()
    await alice.comment(pull, "/forge fix all")
    await story.settle()
    assert "Nobody with the role write has allowed this head" in hear(story, pull)
    story.clock.move(seconds=5)
    await alice.comment(pull, "/forge review")
    await story.settle()
    await alice.comment(pull, "/forge fix all")
    await story.settle()
    said = hear(story, pull)
    assert "because Forge does not write to forks" in said
    assert "-import sys" in said
    assert list(repository.issues.values()) == [pull]
    story.pass_over(pull)


async def test_in_a_locked_conversation_the_pull_request_says_it(story: Story) -> None:
    repository, alice, carol = await at_level(story, 1)
    pull, _ = await open_pull_request(story, repository, alice, {"app.py": UNUSED})
    await carol.lock(pull)
    await alice.comment(pull, "/forge fix all")
    await settle_looks(story)
    assert story.answers(pull) == []
    made = find_own(story, pull)
    assert "fixed as suggested" in (made.body or "")
    assert read(repository, made.head_sha, "app.py") == APP
    story.pass_over(made)


async def test_a_push_in_between_leaves_everything_as_it_is(story_with_model: Story, model: ScriptedModel) -> None:
    """GitHub makes Forge wait where it has read the findings and not written yet."""
    story = story_with_model
    repository, pull = await _open(story, model)
    alice = story.github.user("alice")
    model.when(ASKED, ONE_LINE)
    wait = {"retry-after": "120"}
    story.github.faults.add(kind="before", method="GET", path=r"/pulls$", status=403, headers=wait)
    await alice.comment(pull, "/forge fix all")
    await settle_looks(story)
    head = await alice.push(repository, "feature", {"README.md": "# Store\n"})
    await settle_looks(story)
    story.clock.move(minutes=3)
    await settle_looks(story)
    assert hear(story, pull).startswith("Nothing was done: the pull request changed meanwhile.")
    assert story.check(repository, head).status == "completed"
    assert list(repository.issues.values()) == [pull]
    story.pass_over(pull)
