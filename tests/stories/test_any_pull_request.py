"""On any pull request: who may ask for what, and what becomes of it when something comes in between."""

import asyncio
import os
import re
import subprocess
import tempfile
from collections.abc import Awaitable, Callable
from decimal import Decimal
from pathlib import Path

import pytest
from inline_snapshot import snapshot
from pydantic import JsonValue

from agents.llm.scripted import ScriptedModel, ScriptedReply, Uses
from domain.money import FixedPrice
from simulator import Blob
from simulator.errors import Moment, RequestInfo
from simulator.gitstore import git_environment
from simulator.state import PullRequest
from tests.stories.driver import Story
from tests.world.instructions import ASKED, BASE, BRANCH, CONFLICT, hear, list_own_branches, listen, open_pull
from tests.world.issues import DONE, TASK, plan
from tests.world.model_findings import find_own
from tests.world.waiting import until

VERBS = (
    "do delete all",
    "mend",
    "update",
    "fix all",
    "address",
    "tests",
    "changelog",
    "describe",
    "describe apply",
    "walkthrough",
)
BOTH = "def total(prices, discount=0):\n    return round(sum(prices) * (1 - discount), 2)\n"
TAX = "".join(f"RATE_{number} = {number}\n" for number in range(20))
RESOLVED: dict[str, JsonValue] = {"hunks": [{"number": 1, "text": BOTH, "reason": "Rounded.", "question": ""}]}
WRITE = Uses([("write_file", {"path": "shop/later.py", "content": "LATER = True\n"})])
Meanwhile = Callable[[], Awaitable[None]]
EVERYTHING = "\n".join(f"/forge {verb}" for verb in VERBS)


async def merge_by_hand(story: Story, pull: PullRequest, steps: str, patch: str) -> str:
    """What the cart is once somebody follows the steps in a clone of the branch's repository."""
    assert pull.head_repository is not None
    with tempfile.TemporaryDirectory() as folder:
        origin = f"{story.github.url}/{pull.head_repository.full_name}"
        tree = Path(folder) / "tree"
        clone = f"git clone -q --branch {pull.head_ref} {origin} {tree} && cat > resolved.patch && cd {tree}"
        done = await asyncio.to_thread(
            subprocess.run,
            ["sh", "-c", f'{clone}\n{steps.removesuffix("git push")}\ntest -z "$(git status --porcelain)"'],
            cwd=folder,
            input=f"{patch}\n".encode(),
            env={
                **git_environment(),
                "PATH": os.environ["PATH"],
                **{
                    f"GIT_{who}_{what}": "alice@shop.example"
                    for who in ("AUTHOR", "COMMITTER")
                    for what in ("NAME", "EMAIL")
                },
            },
            capture_output=True,
            check=False,
        )
        assert done.returncode == 0, done
        return (tree / "shop/cart.py").read_text()


async def test_who_may_ask_for_what(story: Story, model: ScriptedModel) -> None:
    """A reader, somebody who may triage, and the author of a fork; a writer first reads that head. No model is asked."""
    repository, alice, pull = await open_pull(story, fork=True)
    mallory, dave, reader = (story.github.user(name) for name in ("mallory", "dave", "reader"))
    story.github.grant(repository, dave, "triage")
    before = len(model.calls)
    for who in (reader, dave, mallory, alice):
        await story.after(who.comment(pull, EVERYTHING))
    answers = listen(story, pull)
    refused = [re.findall("Refused: `/forge ([a-z]+)` needs the role write", each) for each in answers]
    unread = [re.findall("allowed this head of a fork yet, so `/forge ([a-z]+)`", each) for each in answers]
    assert refused == snapshot(
        [
            ["do", "mend", "update", "fix", "address", "tests", "changelog", "describe", "walkthrough"],
            ["do", "mend", "update", "fix", "address", "tests", "changelog", "describe", "walkthrough"],
            ["do", "mend", "update", "fix", "address", "tests", "changelog", "walkthrough"],
            [],
        ]
    )
    assert unread == snapshot(
        [[], [], ["describe"], ["do", "mend", "update", "fix", "tests", "changelog", "describe", "walkthrough"]]
    )
    assert len(model.calls) == before


async def test_where_a_merge_may_not_be_pushed(story: Story, model: ScriptedModel) -> None:
    """Rules of the branch about history and signatures are kept and said: a way without a merge, or a pull request."""
    repository, alice, pull = await open_pull(story, {"shop/cart.py": BRANCH}, {"shop/cart.py": BASE})
    head = pull.head_sha
    model.when(CONFLICT, RESOLVED)
    rules = story.github.protect(repository, "feature", ruleset=True, linear=True)
    await story.after(alice.comment(pull, "/forge update"))
    assert hear(story, pull) == snapshot("""\
It is only shown here, because GitHub did not take it on the branch: error: GH013: Repository rule violations found for refs/heads/feature. This branch must not contain merge commits. It takes 1 commit of main in, up to SHA: Round the total. Tests: Passed: 1 test.

1 conflict resolved:

- `shop/cart.py:1`: **merged from both**, with lines of the branch and the base written anew: check this one. Rounded.

Without a merge, `git fetch origin main && git rebase FETCH_HEAD` takes it in, and a forced push.

What conflicts comes to this:

```diff
diff --git a/shop/cart.py b/shop/cart.py
index SHA..SHA 100644
--- a/shop/cart.py
+++ b/shop/cart.py
@@ -1,2 +1,2 @@
 def total(prices, discount=0):
-    return sum(prices) * (1 - discount)
+    return round(sum(prices) * (1 - discount), 2)
```\
""")
    assert list_own_branches(repository) == []
    rules.linear, rules.signed, story.github.world.signs_commits = False, True, False
    await story.after(alice.comment(pull, "/forge update"))
    assert hear(story, pull).startswith("#2 proposes it for `feature`, because GitHub did not take it on the branch")
    made = find_own(story, pull)
    assert repository.git.commit(made.head_sha).parents == [head, repository.git.branch("main")]
    assert "Merge it with a merge commit" in (made.body or "")
    assert pull.head_sha == head
    story.pass_over(made)
    story.pass_over(pull)


async def test_of_a_fork(story: Story, model: ScriptedModel) -> None:
    """What a writer asks for once they let the head be run is shown as a patch, which whoever wrote it can apply."""
    repository, alice, pull = await open_pull(story, {"shop/cart.py": BRANCH}, {"shop/cart.py": BASE}, fork=True)
    head = pull.head_sha
    ran = story.github.run_workflow(repository, head, "CI", {"test": ("failure", "E   assert 200 == 180\n")})
    await story.after(alice.comment(pull, "/forge review"))
    model.when(CONFLICT, RESOLVED)
    model.when(ASKED, plan())
    model.when(TASK, WRITE, DONE)
    for words in ("/forge update", "/forge mend"):
        await story.after(alice.comment(pull, words))
    merge, mended = listen(story, pull)[-2:]
    assert merge.startswith(
        "It is only shown here, because Forge does not write to forks. It takes 1 commit of main in"
    )
    steps = merge.partition("```sh\n")[2].partition("\n```")[0].replace("https://github.test", story.github.url)
    patch = story.answers(pull)[-2].body.partition("```diff\n")[2].partition("\n```")[0]
    assert await merge_by_hand(story, pull, steps, patch) == BOTH
    assert mended == snapshot("""\
Red here:

- `test`: `E assert 200 == 180`

Why: Carts get a discount.

It is only shown here, because Forge does not write to forks. `total` takes a discount. Tests: Passed: 1 test.

```diff
diff --git a/shop/later.py b/shop/later.py
new file mode 100644
index SHA..SHA
--- /dev/null
+++ b/shop/later.py
@@ -0,0 +1 @@
+LATER = True
```

Copy it, and apply it with `git apply`.\
""")
    assert (ran.run_attempt, pull.head_sha, list_own_branches(repository)) == (1, head, [])
    story.pass_over(pull)


async def test_what_git_and_people_merge(story: Story, model: ScriptedModel) -> None:
    """A renamed file follows its rename; a lock file and a submodule are left to people, and no model is asked."""
    before = {"uv.lock": "shop 1\n", "lib": Blob(b"1" * 40, "160000"), "shop/tax.py": TAX}
    mine = {"uv.lock": "shop 2\n", "lib": Blob(b"2" * 40, "160000"), "shop/tax.py": TAX + "\n\nVAT = 19\n"}
    theirs = {"uv.lock": "shop 3\n", "lib": Blob(b"3" * 40, "160000"), "shop/tax.py": None, "shop/rates.py": TAX}
    repository, alice, pull = await open_pull(story, mine, theirs, shop=before)
    head = pull.head_sha
    asked = len(model.calls)
    await story.after(alice.comment(pull, "/forge update"))
    assert hear(story, pull) == snapshot("""\
Nothing was changed: the branch conflicts with `main`.

- `lib` is left to you: it is a submodule.
- `uv.lock` is left to you: a package manager writes it: have it write the file anew after the merge.

By hand: `git fetch origin main && git merge FETCH_HEAD`.\
""")
    assert (len(model.calls), pull.head_sha) == (asked, head)
    await story.after(alice.push(repository, "feature", {"uv.lock": "shop 3\n", "lib": Blob(b"3" * 40, "160000")}))
    await story.after(alice.comment(pull, "/forge update"))
    assert hear(story, pull) == snapshot("""\
SHA is on `feature`. It takes 1 commit of main in, up to SHA: Round the total. Tests: Passed: 1 test.\
""")
    assert repository.git.read(pull.head_sha, "shop/tax.py") is None
    assert (repository.git.read(pull.head_sha, "shop/rates.py") or b"").decode().endswith("VAT = 19\n")
    await story.after(alice.push(repository, "main", {".github/workflows/ci.yml": "on: push\njobs: {}\n"}))
    await story.after(alice.comment(pull, "/forge update"))
    assert hear(story, pull) == snapshot("""\
Nothing was changed: what comes in of `main` changes workflows (`.github/workflows/ci.yml`), and GitHub takes none from this App, which has no permission `workflows`. An owner of the App gives it the permission `workflows` (read and write) in its settings, and whoever installed it accepts that; or somebody pushes it by hand. Then write `/forge update` again.

By hand (nothing conflicts, so *Update branch* on GitHub does the same):

```sh
git switch feature
git fetch origin main && git merge FETCH_HEAD
git push
```\
""")
    story.pass_over(pull)


async def test_what_stops_it_in_the_middle(story: Story, model: ScriptedModel) -> None:
    """While a model is at it: a pause, level 0, a role that is gone, a command, the branch deleted. No commit of it."""
    repository, alice, pull = await open_pull(story, {"shop/cart.py": BRANCH}, {"shop/cart.py": BASE})
    carol, dave = story.github.user("carol"), story.github.user("dave")
    story.github.grant(repository, carol, "admin")
    story.github.run_workflow(repository, pull.head_sha, "CI", {"test": ("failure", "E   assert 200 == 180\n")})
    await story.settle()
    head = pull.head_sha

    def say(words: str) -> Meanwhile:
        async def happen() -> None:
            heard = len(story.answers(pull))

            async def is_heard() -> bool:
                return len(story.answers(pull)) > heard

            await carol.comment(pull, words)
            await until(is_heard)

        return happen

    async def do_nothing() -> None:
        pass

    async def take_role() -> None:
        story.github.grant(repository, dave, "read")
        await story.wait_for_lag()

    async def delete_branch() -> None:
        await alice.delete_branch(repository, "feature")
        await until(is_stopped)

    async def is_stopped() -> bool:
        return (await story.runs())[0].state == "cancelled"

    async def lose_branch(request: RequestInfo, moment: Moment) -> None:
        """GitHub closes a pull request without a branch only a moment later."""
        if moment == "before" and request.path.endswith("git-receive-pack"):
            repository.git.delete_ref("refs/heads/feature")

    async def play(verb: str, happen: Meanwhile) -> str:
        """What Forge answers when something happens while the model thinks."""

        async def think(_shown: str) -> ScriptedReply:
            await happen()
            return RESOLVED if verb == "update" else plan()

        story.github.grant(repository, dave, "write")
        model.when(CONFLICT, think).when(ASKED, think).when(TASK, WRITE, DONE)
        heard = len(story.answers(pull))
        await story.after(dave.comment(pull, f"/forge {verb}"))
        told = listen(story, pull)[heard:]
        await story.after(carol.comment(pull, "/forge unpause\n/forge level 1"))
        return "\n".join(told)

    paused = "Nothing was done: a person paused Forge in this repository."
    assert paused in await play("mend", say("/forge pause"))
    assert paused in await play("update", say("/forge pause"))
    assert "Nothing was done: a person stopped it." in await play("update", say("/forge cancel"))
    lost = "Nothing was done: that takes the role write, which whoever asked does not have any more."
    assert lost in await play("do give a discount", take_role)
    assert "It is only shown here, because automation is at level 0 here" in await play("mend", say("/forge level 0"))
    take_off = story.github.on_write(lose_branch)
    assert "It is only shown here, because its branch is gone." in await play("do give a discount", do_nothing)
    take_off()
    repository.git.set_ref("refs/heads/feature", head)
    assert pull.head_sha == head
    assert await play("do give a discount", delete_branch) == "Nothing was done: the pull request was closed."
    assert [ref for ref in repository.git.refs() if ref.startswith("refs/heads/")] == ["refs/heads/main"]
    story.pass_over(pull)


@pytest.mark.parametrize("model", [FixedPrice(Decimal(80), Decimal(80))], indirect=True)
async def test_a_budget_that_is_spent(story: Story, model: ScriptedModel) -> None:
    """Each asks for more at a gate, and the next ones wait; who says no gets what there is, and nothing was sent."""
    config = {".github/forge.yml": "budgets: {phase: {planning: 0.01, implementation: 0.01}}\n"}
    repository, alice, pull = await open_pull(story, {"shop/cart.py": BRANCH}, {"shop/cart.py": BASE}, shop=config)
    story.github.run_workflow(repository, pull.head_sha, "CI", {"test": ("failure", "E   assert 200 == 180\n")})
    await story.settle()
    head, before = pull.head_sha, len(model.calls)
    for verb in ("do give a discount", "mend", "update"):
        await story.after(alice.comment(pull, f"/forge {verb}"))
        assert story.gates(pull) == ["cost_overrun"]
        story.clock.move(seconds=2)
        await story.after(alice.comment(pull, "/forge reject cost_overrun no more"))
        assert story.gates(pull) == []
    assert listen(story, pull) == snapshot(
        [
            """\
Nothing was changed. At the gate cost_overrun nobody let it use more.

Give the instruction again to try anew.\
""",
            """\
Red here:

- `test`: `E assert 200 == 180`

Nothing was changed. At the gate cost_overrun nobody let it use more.

Give the instruction again to try anew.\
""",
            """\
Nothing was changed. At the gate cost_overrun nobody let it use more.

Give the instruction again to try anew.\
""",
        ]
    )
    await story.after(alice.push(repository, "main", {".github/forge.yml": "budgets: {day: 0.01}\n"}))
    for verb in ("do give a discount", "describe", "walkthrough"):
        await story.after(alice.comment(pull, f"/forge {verb}"))
    for told in listen(story, pull)[-3:]:
        assert "of the budget of this repository for today (UTC), 0.01 USD" in told
        assert "Wait until midnight UTC or raise `budgets.day` in `.github/forge.yml`." in told
    assert (len(model.calls), pull.head_sha) == (before, head)
    story.pass_over(pull)


async def test_more_threads_than_are_worked_off_at_once(story: Story, model: ScriptedModel) -> None:
    """Twenty are, oldest first; the others wait for another command. A pause stops all that are left."""
    notes = "".join(f"Line {number}.\n" for number in range(1, 24))
    _, alice, pull = await open_pull(story, {"NOTES.md": notes})
    reader = story.github.user("reader")
    threads = [await reader.comment_on_line(pull, "NOTES.md", line, f"Who wrote {line}?") for line in range(1, 24)]
    await story.settle()
    model.when(ASKED, {"plan": None, "questions": ["What is wanted?"]})
    await story.after(alice.comment(pull, "/forge address"))
    *_, began, ended = [each.body for each in story.answers(pull)]
    assert began.startswith("20 threads are worked off in this order")
    assert "3 threads are left for another `/forge address`." in began
    assert ended.startswith("0 of 20 threads done")
    answered = [len([each for each in one.thread.comments if each.app is not None]) for one in threads]
    assert answered == [1] * 20 + [0] * 3
    asked = [
        int(re.findall("> Who wrote ([0-9]+)[?]", call.content)[0]) for call in model.calls if ASKED in call.content
    ]
    assert asked == list(range(1, 21))
    await story.after(alice.comment(pull, "/forge address"))
    *_, began, _ = [each.body for each in story.answers(pull)]
    assert began.startswith("3 threads are worked off in this order")
    assert "20 threads are left out that Forge or another App answered last" in began
    story.pass_over(pull)
