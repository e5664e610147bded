"""The base is taken into the branch of a pull request: ``/forge update``."""

import asyncio
import re

from inline_snapshot import snapshot
from pydantic import JsonValue

from agents.llm.scripted import ScriptedModel
from domain.value import shorten_id
from memory.runs import work_checkpoints
from simulator import User
from simulator.gitstore import FileContent
from simulator.state import PullRequest, Repository
from tests.stories.driver import Story
from tests.world.issues import SHOP
from tests.world.replies import bodies, mask

ASKED = "-- conflict 1"
BRANCH = "def total(prices, discount=0):\n    return sum(prices) * (1 - discount)\n"
BASE = "def total(prices):\n    return round(sum(prices), 2)\n"
BOTH = "def total(prices, discount=0):\n    return round(sum(prices) * (1 - discount), 2)\n"
DISCOUNT = "from shop.cart import total\n\n\ndef test_discount():\n    assert total([10], discount=0.5) == 5\n"
ROUNDS = "from shop.cart import total\n\n\ndef test_rounds():\n    assert total([0.1, 0.2]) == 0.3\n"
TOGETHER = "The total is rounded once the discount is off."


def resolve(text: str, reason: str = "", question: str = "", number: int = 1) -> JsonValue:
    """What the model says of a conflict."""
    return {"number": number, "text": text, "reason": reason, "question": question}


async def open_pull(
    story: Story,
    files: dict[str, FileContent],
    base: dict[str, FileContent],
    shop: dict[str, FileContent] | None = None,
) -> tuple[Repository, User, PullRequest]:
    """A pull request of alice's into a shop whose main branch moved on.

    :param shop: what is different there at first.
    """
    repository, alice = story.repository({**SHOP, **(shop or {})})
    await alice.push(repository, "feature", files, base="main")
    pull = await alice.open_pull_request(repository, "feature", title="Give discounts")
    await story.after(alice.push(repository, "main", base, message="Round the total"))
    story.pass_over(pull)
    return repository, alice, pull


def hear(story: Story, pull: PullRequest) -> str:
    """Forge's last answer, without the words that it answers."""
    return re.sub(r"^> .*\n\n", "", bodies(story.answers(pull))[-1])


def parents(repository: Repository, pull: PullRequest) -> list[str]:
    return repository.git.commit(pull.head_sha).parents


async def test_a_base_without_conflicts_comes_in_as_a_signed_merge(story: Story) -> None:
    """It takes no model; a stranger may not ask, and what came in is not taken back by a commit."""
    repository, alice, pull = await open_pull(story, {"NOTES.md": "Discounts.\n"}, {"shop/tax.py": "RATE = 0.2\n"})
    head, base = pull.head_sha, repository.git.branch("main")
    await story.after(story.github.user("reader").comment(pull, "/forge update"))
    assert hear(story, pull) == "Refused: `/forge update` needs the role write; `reader` has read."
    await story.after(alice.comment(pull, "/forge update"))
    assert parents(repository, pull) == [head, base]
    assert repository.git.is_signed(pull.head_sha)
    assert repository.git.read(pull.head_sha, "shop/tax.py") == b"RATE = 0.2\n"
    assert repository.git.read(pull.head_sha, "NOTES.md") == b"Discounts.\n"
    message = repository.git.commit(pull.head_sha).message
    assert message.startswith("Merge branch 'main' into feature\n\nForge-Run: ")
    assert "Co-authored-by: alice <" in message
    assert hear(story, pull) == snapshot("""\
SHA is on `feature`. It takes 1 commit of main in, up to SHA: Round the total. Tests: Passed: 1 test.\
""")
    await story.after(alice.comment(pull, "/forge update"))
    assert hear(story, pull) == snapshot("Nothing to take in: the branch has `main` up to SHA.")
    await story.after(alice.comment(pull, "/forge history"))
    assert "there is a commit on the branch" in hear(story, pull)
    run = next(each for each in await story.runs() if each.reason == "committed")
    [kept] = await work_checkpoints.list_of_run(story.forge.services.database, run.id)
    await story.after(alice.comment(pull, f"/forge rollback {shorten_id('C', kept.id)}"))
    assert hear(story, pull).startswith("Nothing was done: a commit that takes a merge of the base back would have")
    assert "`git reset --hard SHA`" in hear(story, pull)
    story.pass_over(pull)


async def test_a_conflict_is_resolved_once_the_tests_of_both_sides_pass(story: Story, model: ScriptedModel) -> None:
    """The first answer drops what the base did, which a test of the base's shows; meanwhile somebody pushes."""
    branch = {"shop/cart.py": BRANCH, "tests/test_discount.py": DISCOUNT}
    repository, alice, pull = await open_pull(story, {**branch}, {"shop/cart.py": BASE, "tests/test_rounds.py": ROUNDS})
    base, pushed = repository.git.branch("main"), list[asyncio.Task[str]]()
    await story.after(alice.comment(pull, "/forge review full"))
    summary = story.check(repository, pull.head_sha).summary or ""
    assert "The branch conflicts with `main`: `/forge update` takes it in" in summary

    def answer(shown: str) -> dict[str, JsonValue]:
        if "what was wrong with your answer before" not in shown:
            return {"hunks": [resolve(BRANCH, "The discount matters more.")]}
        pushed.append(asyncio.ensure_future(alice.push(repository, "feature", {"MORE.md": "More.\n"})))
        return {"hunks": [resolve(BOTH, TOGETHER)]}

    model.when(ASKED, answer)
    await story.after(alice.comment(pull, "/forge update"))
    first, second = [call.content for call in model.calls if ASKED in call.content]
    assert "> def total(prices, discount=0):" in first
    assert "> Round the total" in first
    assert "test_rounds" in second
    assert parents(repository, pull) == [pushed[0].result(), base]
    assert repository.git.read(pull.head_sha, "shop/cart.py") == BOTH.encode()
    assert repository.git.read(pull.head_sha, "MORE.md") == b"More.\n"
    assert "Conflicts resolved in:\n- shop/cart.py" in repository.git.commit(pull.head_sha).message
    assert hear(story, pull) == snapshot("""\
SHA is on `feature`. It takes 1 commit of main in, up to SHA: Round the total. Tests: Passed: 3 tests. Somebody pushed SHA meanwhile; it stands on top of that.

1 conflict resolved:

- `shop/cart.py:1`: **merged from both**, with lines of the branch and the base written anew: check this one. The total is rounded once the discount is off.\
""")
    story.pass_over(pull)


async def test_lines_beside_a_conflict_change_with_it(story: Story, model: ScriptedModel) -> None:
    """The base renames what the branch uses in a line that does not conflict; the answer names that line, and why."""
    rest = "\n\ndef count(prices):\n    return len(prices)\n"
    renamed = rest.replace("count", "count_prices")
    mean = "\n\ndef mean(prices):\n    return total(prices) / count(prices)\n"
    test = "from shop.cart import mean\n\n\ndef test_mean():\n    assert mean([1, 2]) == 1.5\n"
    repository, alice, pull = await open_pull(
        story,
        {"shop/cart.py": BRANCH + rest + mean, "tests/test_mean.py": test},
        {"shop/cart.py": BASE + renamed, "tests/test_rounds.py": ROUNDS},
        shop={"shop/cart.py": "def total(prices):\n    return sum(prices)\n" + rest},
    )
    used = "    return total(prices) / count(prices)\n"
    edit: dict[str, JsonValue] = {
        "path": "shop/cart.py",
        "old": used,
        "new": used.replace("count", "count_prices"),
        "reason": "The base renamed `count`.",
    }
    elsewhere: dict[str, JsonValue] = {**edit, "path": "shop/tax.py"}
    hunks: JsonValue = [resolve(BOTH, TOGETHER)]
    model.when(ASKED, {"hunks": hunks, "beside": [elsewhere]}, {"hunks": hunks}, {"hunks": hunks, "beside": [edit]})
    await story.after(alice.comment(pull, "/forge update"))
    asked = [call.content for call in model.calls if ASKED in call.content]
    assert "file without a conflict" in asked[1]
    assert "test_mean" in asked[2]
    assert (
        repository.git.read(pull.head_sha, "shop/cart.py")
        == (BOTH + renamed + mean.replace("count", "count_prices")).encode()
    )
    assert hear(story, pull) == snapshot("""\
SHA is on `feature`. It takes 1 commit of main in, up to SHA: Round the total. Tests: Passed: 3 tests.

1 conflict resolved:

- `shop/cart.py:1`: **merged from both**, with lines of the branch and the base written anew: check this one. The total is rounded once the discount is off.
- Also changed beside the conflict: `shop/cart.py:10`. Changed because: The base renamed `count`.\
""")
    story.pass_over(pull)


async def test_what_is_not_clear_is_asked(story: Story, model: ScriptedModel) -> None:
    """A side dropped without a reason, a question, a binary file, a deletion: no commit, and a patch of what is clear."""
    one, other = {"shop/rate.py": "RATE = 2\n"}, {"shop/rate.py": "RATE = 3\n"}
    _, alice, pull = await open_pull(
        story,
        {"shop/cart.py": BRANCH, **one, "README.md": "# The shop\n", "logo.png": b"\0one", "tests/test_cart.py": None},
        {
            "shop/cart.py": BASE,
            **other,
            "README.md": "# A shop\n",
            "logo.png": b"\0two",
            "tests/test_cart.py": "T = 1\n",
        },
    )
    head = pull.head_sha
    words = "Is it our shop, or any?"
    hunks = [resolve("", question=words), resolve(BOTH, TOGETHER, number=2), resolve("RATE = 3\n", number=3)]
    model.when(ASKED, {"hunks": hunks[1:]}, {"hunks": hunks})
    await story.after(alice.comment(pull, "/forge update"))
    assert pull.head_sha == head
    assert hear(story, pull) == snapshot("""\
Nothing was changed: the branch conflicts with `main`, and people have to decide.

1. `README.md:1`: Is it our shop, or any?

```
<<<<<<< feature
# The shop
||||||| before
# Shop
=======
# A shop
>>>>>>> main
```

2. `shop/rate.py:1`: May what the branch changed here go? The model would drop it, and gave no reason.

```
<<<<<<< feature
RATE = 2
||||||| before
=======
RATE = 3
>>>>>>> main
```

- `logo.png` is left to you: it is a binary file.
- `tests/test_cart.py` is left to you: the branch deletes or moves it, and the base changed it.

1 conflict resolved:

- `shop/cart.py:1`: **merged from both**, with lines of the branch and the base written anew: check this one. The total is rounded once the discount is off.

```diff
diff --git a/shop/cart.py b/shop/cart.py
index SHA..SHA 100644
--- a/shop/cart.py
+++ b/shop/cart.py
@@ -1,2 +1,2 @@
 def total(prices, discount=0):
-    return sum(prices) * (1 - discount)
+    return round(sum(prices) * (1 - discount), 2)
```

Save it as `resolved.patch` beside the working tree, and merge with

```sh
git fetch origin main && git merge FETCH_HEAD
git checkout HEAD -- shop/cart.py
git apply --index ../resolved.patch
# resolve what is left, and `git add` it
git commit --no-edit
git push
```

Write `/forge update` again with the answers behind it. By hand: `git fetch origin main && git merge FETCH_HEAD`.\
""")
    story.pass_over(pull)


async def test_an_answer_is_no_longer_than_github_takes(story: Story, model: ScriptedModel) -> None:
    """Of what is asked about the beginning is shown, and of what is resolved where it is."""
    mine, theirs = ("".join(f"{side} {number}\n" for number in range(700)) for side in ("mine", "theirs"))
    repository, alice, pull = await open_pull(
        story, {"long.txt": "m" * 18_000, "shop/data.txt": mine}, {"long.txt": "t" * 18_000, "shop/data.txt": theirs}
    )
    both = "".join(sorted(f"{line} of both\n" for line in (mine + theirs).splitlines()))
    model.when(ASKED, {"hunks": [resolve("", question="Whose?"), resolve(both, TOGETHER, number=2)]})
    await story.after(alice.comment(pull, "/forge update"))
    [answer] = story.answers(pull)
    assert "1. `long.txt:1`: Whose?" in answer.body
    assert "`shop/data.txt:1`: **merged from both**" in answer.body
    assert "The patch is too long to show." in answer.body
    assert "git fetch origin main && git merge FETCH_HEAD" in answer.body
    assert len(repository.git.commits_between(repository.git.branch("main") or "", pull.head_sha)) == 1
    story.pass_over(pull)


async def test_where_it_may_not_be_committed(story: Story, model: ScriptedModel) -> None:
    """At level 0 it is a patch for the merge; what people answered is told to the model."""
    repository, alice, pull = await open_pull(story, {"shop/cart.py": BRANCH}, {"shop/cart.py": BASE})
    story.github.grant(repository, alice, "admin")
    head = pull.head_sha
    model.when(ASKED, {"hunks": [resolve(BASE, "People said so.")]})
    await story.after(alice.comment(pull, "/forge level 0\n/forge update keep what main has"))
    assert pull.head_sha == head
    [asked] = [call.content for call in model.calls if ASKED in call.content]
    assert "> keep what main has" in asked
    assert hear(story, pull) == snapshot("""\
It is only shown here, because automation is at level 0 here, at which Forge opens no pull request; an admin raises it with `/forge level 1`, and `/forge plan` only plans. It takes 1 commit of main in, up to SHA: Round the total. Tests: Passed: 1 test.

1 conflict resolved:

- `shop/cart.py:1`: **exactly as on the base**, nothing else of the branch. People said so.

```diff
diff --git a/shop/cart.py b/shop/cart.py
index SHA..SHA 100644
--- a/shop/cart.py
+++ b/shop/cart.py
@@ -1,2 +1,2 @@
-def total(prices, discount=0):
-    return sum(prices) * (1 - discount)
+def total(prices):
+    return round(sum(prices), 2)
```

Save it as `resolved.patch` beside the working tree, and merge with

```sh
git fetch origin main && git merge FETCH_HEAD
git checkout HEAD -- shop/cart.py
git apply --index ../resolved.patch
git commit --no-edit
git push
```\
""")
    story.pass_over(pull)


async def test_somebody_else_may_be_first(story: Story, model: ScriptedModel) -> None:
    """A merge by hand meanwhile is left as it is, and so is a branch that was written anew."""
    repository, alice, pull = await open_pull(story, {"shop/cart.py": BRANCH}, {"shop/cart.py": BASE})
    git, base = repository.git, repository.git.branch("main") or ""

    def merge_by_hand(_shown: str) -> dict[str, JsonValue]:
        tree = git.commit(pull.head_sha).tree
        made = git.commit_tree(tree, [pull.head_sha, base], "By hand", alice.account.signature, story.clock.now())
        pushed.append(asyncio.ensure_future(alice.reset_branch(repository, "feature", made)))
        return {"hunks": [resolve(BOTH, TOGETHER)]}

    def write_anew(_shown: str) -> dict[str, JsonValue]:
        files = {"shop/cart.py": BRANCH + "\n"}
        pushed.append(asyncio.ensure_future(alice.push(repository, "feature", files, base="main~1", force=True)))
        return {"hunks": [resolve(BOTH, TOGETHER)]}

    pushed, told = list[asyncio.Task[object]](), list[str]()
    model.when(ASKED, write_anew, merge_by_hand)
    for _ in range(2):
        await story.after(alice.comment(pull, "/forge update"))
        told.append(hear(story, pull).partition("\n")[0])
        assert git.read(pull.head_sha, "shop/cart.py") != BOTH.encode()
    assert told == snapshot(
        [
            "Nothing was changed: the branch was rewritten meanwhile; write `/forge update` again.",
            "Nothing was changed: somebody took the base in meanwhile.",
        ]
    )
    story.pass_over(pull)


async def test_without_a_model_it_names_what_conflicts(story: Story) -> None:
    _, alice, pull = await open_pull(story, {"shop/cart.py": BRANCH}, {"shop/cart.py": BASE})
    head = pull.head_sha
    await story.after(alice.comment(pull, "/forge update"))
    assert pull.head_sha == head
    assert mask(hear(story, pull)) == snapshot("""\
Nothing was changed: the branch conflicts with `main`. No model resolves that: anthropic:claude-haiku-4-5 cannot be asked: ANTHROPIC_API_KEY is not set.

- `shop/cart.py:1`

By hand: `git fetch origin main && git merge FETCH_HEAD`.\
""")
    story.pass_over(pull)
