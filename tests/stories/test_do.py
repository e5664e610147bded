"""What people ask for on a pull request is carried out there: ``/forge do``, or a mention."""

from inline_snapshot import snapshot
from pydantic import JsonValue

from agents.llm.scripted import ScriptedModel
from simulator import User
from simulator.state import PullRequest, Repository
from tests.stories.driver import Story
from tests.world.cart import DIFF
from tests.world.issues import DONE, SHOP, TASK, TEST, patches, plan
from tests.world.replies import bodies

ASKED = "== instruction by"
REQUEST: dict[str, JsonValue] = {"meaning": "request", "has_reason": False, "confidence": 0.9}


async def open_pull(
    story: Story, files: dict[str, str] | None = None, **more: str
) -> tuple[Repository, User, User, PullRequest]:
    """A pull request of alice's into a shop, and carol, who may write."""
    repository, alice = story.repository({**SHOP, **more})
    carol = story.github.user("carol")
    story.github.grant(repository, carol, "write")
    await alice.push(repository, "feature", files or {"NOTES.md": "Discounts come next.\n"}, base="main")
    pull = await alice.open_pull_request(repository, "feature", title="Prepare discounts")
    await story.settle()
    story.pass_over(pull)
    return repository, alice, carol, pull


def script(model: ScriptedModel) -> None:
    """Let the model plan and carry out a discount with its test."""
    model.when(ASKED, plan())
    model.when(TASK, patches(DIFF, TEST), DONE)


def hear(story: Story, pull: PullRequest) -> str:
    """Forge's last answer."""
    return bodies(story.answers(pull))[-1]


async def test_a_writer_is_obeyed_with_a_commit(story_with_model: Story, model: ScriptedModel) -> None:
    repository, _, carol, pull = await open_pull(story_with_model)
    head = pull.head_sha
    script(model)
    await carol.comment(pull, "/forge do give the cart a discount, with a test")
    await story_with_model.settle()
    [made] = repository.git.commits_between(head, pull.head_sha)
    assert made.author_email == story_with_model.github.app.bot.email
    assert repository.git.is_signed(made.sha)
    assert (
        f"Co-authored-by: carol <{carol.id}+carol@"
        in repository.git.run("log", "-1", "--format=%B", made.sha).stdout.decode()
    )
    assert b"discount" in (repository.git.read(pull.head_sha, "shop/cart.py") or b"")
    assert hear(story_with_model, pull) == snapshot("""\
SHA is on `feature`. `total` takes a discount. Tests: Passed: 2 tests.

<sub>Cost: 0.00 USD. `/forge rollback C-ID` takes it back.</sub>\
""")
    [asked] = [call.content for call in model.calls if ASKED in call.content]
    assert "> give the cart a discount, with a test" in asked
    assert "- NOTES.md" in asked
    run = next(each for each in await story_with_model.runs() if each.trigger == "instruction")
    assert (run.state, run.reason) == ("completed", "committed")
    await carol.comment(pull, "/forge diff")
    await story_with_model.settle()
    assert "Forge made 1 commit here" in hear(story_with_model, pull)
    story_with_model.pass_over(pull)
