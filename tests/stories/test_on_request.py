"""Work that people ask for by name: the entry in the changelog, and tests for what a pull request leaves untested."""

from inline_snapshot import snapshot
from pydantic import JsonValue

from agents.llm.scripted import ScriptedModel, Uses
from simulator import User
from simulator.state import PullRequest, Repository
from tests.stories.driver import Story
from tests.world.cart import DIFF
from tests.world.coverage import write_report
from tests.world.issues import SHOP, TASK, patches, plan
from tests.world.replies import bodies

ASKED = "== instruction by"
CART = """\
def total(prices, discount=0):
    if discount:
        return sum(prices) * (1 - discount)
    return sum(prices)
"""
DONE: dict[str, JsonValue] = {"summary": "It is written.", "is_done": True, "tests_added": []}
REPORTED = {
    ".github/forge.yml": "commands: {test: sh test.sh}\n",
    "test.sh": 'cp "$(ls -d tests/test_discount.py >&2 && echo after || echo before).xml" "$FORGE_RESULTS/coverage.xml"\n',
    "before.xml": write_report([1, 2, 4], [3]),
    "after.xml": write_report([1, 2, 3, 4]),
}
"""A shop whose tests say what they run: less before its discount has a test."""
SHOWS = "def test_discount():\n    assert total([10], discount=0.5) == 5\n"
IDLE = "def test_total_of_none():\n    assert total([]) == 0\n"
IMPORT = "from shop.cart import total\n\n\n"


async def open_pull(story: Story, **files: str) -> tuple[Repository, User, PullRequest]:
    """A pull request that gives the shop's cart a discount, without a test."""
    repository, alice = story.repository({**SHOP, **files})
    pull, _ = await story.propose(repository, alice, {"shop/cart.py": CART}, title="Take a discount")
    story.pass_over(pull)
    return repository, alice, pull


async def ask(story: Story, who: User, pull: PullRequest, words: str) -> str:
    """Forge's answer."""
    await story.after(who.comment(pull, words))
    return bodies(story.answers(pull))[-1]


def write(path: str, content: str) -> Uses:
    return Uses([("write_file", {"path": path, "content": content})])


async def test_the_entry_goes_into_the_changelog_as_it_is_kept(story: Story, model: ScriptedModel) -> None:
    """In its file, or as a fragment; nothing else may change, and without a changelog nothing is spent."""
    repository, alice, pull = await open_pull(story)
    assert await ask(story, alice, pull, "/forge changelog") == snapshot(
        "Nothing was done: this repository has no changelog that Forge knows: no `CHANGELOG.md` or its like, no folder of fragments, no `.changeset/`."
    )
    reader = story.github.user("reader")
    assert "needs the role write" in await ask(story, reader, pull, "/forge changelog")
    assert [call for call in model.calls if ASKED in call.content] == []
    story.clock.move(seconds=2)

    head = "# Changes\n\n## Unreleased\n\n- Carts have totals.\n"
    await story.after(alice.push(repository, "feature", {"CHANGELOG.md": head}))
    written = head + "- `total` takes a discount.\n"
    model.when(ASKED, plan())
    model.when(
        TASK,
        patches(DIFF.replace("prices", "sums")),
        write("shop/new.py", "X = 1\n"),
        write("CHANGELOG.md", written),
        DONE,
    )
    assert await ask(story, alice, pull, "/forge changelog") == snapshot("""\
SHA is on `feature`. It is written. Tests: Passed: no test concerns this change.

<sub>`/forge rollback C-ID` takes it back.</sub>\
""")
    assert (repository.git.read(pull.head_sha, "CHANGELOG.md") or b"").decode() == written
    assert repository.git.read(pull.head_sha, "shop/new.py") is None
    [asked] = [call.content for call in model.calls if ASKED in call.content]
    assert "> - Carts have totals." in asked

    await story.after(alice.push(repository, "feature", {"changes/1.feature.md": "Carts have totals.\n"}))
    model.when(ASKED, plan())
    model.when(TASK, write("CHANGELOG.md", head), write("changes/2.feature.md", "A discount.\n"), DONE)
    assert (await ask(story, alice, pull, "/forge changelog")).startswith("SHA is on `feature`.")
    assert repository.git.read(pull.head_sha, "changes/2.feature.md") == b"A discount.\n"
    assert (repository.git.read(pull.head_sha, "CHANGELOG.md") or b"").decode() == written
    assert (
        "the beginning of changes/1.feature.md" in [call.content for call in model.calls if ASKED in call.content][-1]
    )
    story.pass_over(pull)


async def test_tests_are_handed_in_as_far_as_they_are_proven(story: Story, model: ScriptedModel) -> None:
    """A test that passes without the change is sent back once, then taken out; the program stays as it is."""
    repository, alice, pull = await open_pull(story, **REPORTED)
    before = pull.head_sha
    both = f"{IMPORT}{IDLE}\n\n{SHOWS}"
    model.when(ASKED, plan())
    model.when(
        TASK,
        write("shop/cart.py", "def total(prices):\n    return 0\n"),
        write("tests/test_discount.py", both),
        DONE,
    )
    model.when("tests.unproven", DONE)
    assert await ask(story, alice, pull, "/forge tests") == snapshot("""\
SHA is on `feature`. It is written. Tests passed (no report). The file passes with the change and fails without it. Of the 3 lines that this pull request adds, tests ran 2 before, and run 3 now. Left out: `tests/test_discount.py::test_total_of_none` passes without the change, too, or demands nothing.

<sub>`/forge rollback C-ID` takes it back.</sub>\
""")
    [made] = repository.git.commits_between(before, pull.head_sha)
    assert repository.git.is_signed(made.sha)
    assert repository.git.read(pull.head_sha, "shop/cart.py") == CART.encode()
    assert (repository.git.read(pull.head_sha, "tests/test_discount.py") or b"").decode() == f"{IMPORT}{SHOWS}"
    [asked] = [call.content for call in model.calls if ASKED in call.content]
    assert "== files to test, with the added lines that no test runs\n> shop/cart.py: 3" in asked
    assert [each for each in model.calls if "test_total_of_none passes without the change" in each.content]
    story.clock.move(seconds=2)
    assert await ask(story, alice, pull, "/forge tests") == snapshot(
        "Nothing was done: tests run every line that this adds there (3 of 3 in the whole change)."
    )
    assert await ask(story, alice, pull, "/forge tests shop/other.py") == snapshot(
        "Nothing was done: this pull request does not change `shop/other.py`."
    )
    story.pass_over(pull)


async def test_tests_that_prove_nothing_are_not_handed_in(story: Story, model: ScriptedModel) -> None:
    """Nor is one that fails: where it ends the same with and without the change, nothing is committed."""
    _, alice, pull = await open_pull(story)
    before = pull.head_sha
    model.when(ASKED, plan())
    model.when(TASK, write("tests/test_none.py", f"{IMPORT}{IDLE}"), DONE)
    model.when("tests.unproven", DONE)
    assert await ask(story, alice, pull, "/forge tests shop/cart.py") == snapshot("""\
No test was handed in: none passes with the change and fails without it.

Left out: `tests/test_none.py::test_total_of_none` passes without the change, too, or demands nothing.\
""")
    assert pull.head_sha == before
    story.pass_over(pull)


PAGES = "export const offset = (page) => (page - 1) * 10;\n"
SHOWS_PAGES = """\
import { test } from "node:test";
import assert from "node:assert";
import { offset } from "../src/paging.js";

test("the first page begins at none", () => assert.equal(offset(1), 0));
"""
WEB = {
    "web/package.json": '{"type": "module", "scripts": {"test": "node --test"}}',
    "web/src/cart.js": "export const none = 0;\n",
}


async def test_tests_of_a_part_in_another_language_are_run_there(story: Story, model: ScriptedModel) -> None:
    """By the manifest of its folder; what no runner takes is not handed in, with the reason."""
    repository, alice = story.repository({**SHOP, **WEB})
    pull, _ = await story.propose(repository, alice, {"web/src/paging.js": PAGES}, title="Pages")
    story.pass_over(pull)
    model.when(ASKED, plan())
    other = write("scripts/test/paging.test.js", SHOWS_PAGES)
    model.when(TASK, other, DONE)
    model.when("tests.unproven", DONE)
    assert await ask(story, alice, pull, "/forge tests web/src/paging.js") == snapshot("""\
No test was handed in: none passes with the change and fails without it.

Left out: `scripts/test/paging.test.js` was not run: no runner of this repository that Forge knows takes this file (docs/testing.md names them).\
""")
    story.clock.move(seconds=2)
    model.when(ASKED, plan())
    model.when(TASK, write("web/test/paging.test.js", SHOWS_PAGES), DONE)
    assert await ask(story, alice, pull, "/forge tests web/src/paging.js") == snapshot("""\
SHA is on `feature`. It is written. Tests: Passed: 1 test. The file passes with the change and fails without it. It fails there at the import already, which shows less: not that each test sees the change.

<sub>`/forge rollback C-ID` takes it back.</sub>\
""")
    assert repository.git.read(pull.head_sha, "web/test/paging.test.js") == SHOWS_PAGES.encode()
    story.pass_over(pull)
