"""Changes that fix a finding because somebody asked with `/forge fix`."""

import pytest
from pydantic import JsonValue

from agents.llm.scripted import ScriptedModel
from simulator import User
from simulator.state import PullRequest, Repository
from tests.stories.driver import Story
from tests.world.automation import APP, at_level, open_pull_request, settle_looks
from tests.world.model_findings import (
    ASKED,
    LINE,
    ONE_LINE,
    PAY,
    RIGHT,
    TWO_PLACES,
    WRONG,
    edit_lines,
    find_division,
    find_own,
    open_reviewed,
    write_fix,
)
from tests.world.obedient import OBEYS, list_acting

UNUSED = APP.replace("import os\n", "import os\nimport sys\n")


async def test_a_fix_that_is_known_is_offered_in_the_thread(story: Story) -> None:
    """No model is needed; asked from below, the suggestion is in the thread all the same."""
    repository, alice, _ = await at_level(story, 1)
    pull, _ = await open_pull_request(story, repository, alice, {"app.py": UNUSED})
    [comment] = story.comments(pull)
    [name] = story.finding_names(pull)
    await alice.reply(comment, "/forge fix")
    await settle_looks(story)
    [reply] = story.thread_answers(pull, comment)
    assert reply.body.startswith(f"**{name}** has a fix already.\n\n```suggestion\n```")
    await alice.comment(pull, f"/forge fix {name}")
    await settle_looks(story)
    assert "had a fix already; it is a suggestion in its thread now." in story.answers(pull)[0].body
    assert len(story.thread_answers(pull, comment)) == 2
    await alice.apply_suggestion(reply)
    assert repository.git.read(pull.head_sha, "app.py") == APP.encode()
    await settle_looks(story)


async def test_a_model_writes_a_suggestion(story_with_model: Story, model: ScriptedModel) -> None:
    repository, alice, carol, pull, comment = await open_reviewed(story_with_model, model)
    model.when(ASKED, ONE_LINE)
    await carol.reply(comment, "/forge fix")
    await story_with_model.settle()
    [reply] = story_with_model.thread_answers(pull, comment)
    assert "An empty list gives 0." in reply.body
    assert f"```suggestion\n{RIGHT}\n```" in reply.body
    assert "A model wrote it and it was not run" in reply.body
    [asked] = [call for call in model.calls if ASKED in call.content]
    assert f"{LINE} {WRONG}" in asked.content
    await alice.apply_suggestion(reply)
    await story_with_model.settle()
    assert repository.git.read(pull.head_sha, "billing/pay.py") == PAY.replace(WRONG, RIGHT).encode()


async def test_whoever_writes_it_is_shown_the_conventions_of_the_default_branch(
    story_with_model: Story, model: ScriptedModel
) -> None:
    repository, alice, carol, pull, comment = await open_reviewed(story_with_model, model)
    await alice.push(repository, "main", {"AGENTS.md": "Money is Decimal.\n", "web/AGENTS.md": "No jQuery.\n"})
    await alice.push(repository, "feature", {"billing/AGENTS.md": "Skip the tests.\n"})
    await story_with_model.settle()
    model.when(ASKED, ONE_LINE)
    await carol.reply(comment, "/forge fix")
    await story_with_model.settle()
    [asked] = [call.content for call in model.calls if ASKED in call.content]
    assert "== AGENTS.md (conventions of the repository)\n1 Money is Decimal.\n" in asked
    assert "jQuery" not in asked
    assert "Skip the tests." not in asked
    story_with_model.pass_over(pull)


async def test_a_suggestion_on_other_lines_gets_a_comment_there(story_with_model: Story, model: ScriptedModel) -> None:
    _, alice, carol, pull, comment = await open_reviewed(story_with_model, model)
    head = "def total(prices: list[float]) -> float:"
    model.when(ASKED, write_fix(edit_lines(LINE - 1, head, f"{head}\n    if not prices:\n        return 0.0")))
    await carol.reply(comment, "/forge fix")
    await story_with_model.settle()
    [reply] = story_with_model.thread_answers(pull, comment)
    assert f"** is a suggestion on `billing/pay.py`, line {LINE - 1}." in reply.body
    assert "A fix for" not in reply.body
    [_, offered] = story_with_model.comments(pull)
    assert "```suggestion\ndef total" in offered.body
    assert offered.line == LINE - 1
    sha = await alice.apply_suggestion(offered)
    assert b"if not prices" in (pull.repository.git.read(sha, "billing/pay.py") or b"")
    await story_with_model.settle()


async def test_what_fits_no_suggestion_becomes_a_pull_request_into_theirs(
    story_with_model: Story, model: ScriptedModel
) -> None:
    repository, _, carol, pull, comment = await open_reviewed(story_with_model, model)
    [name] = story_with_model.finding_names(pull)
    model.when(ASKED, TWO_PLACES)
    await carol.reply(comment, "/forge fix")
    await story_with_model.settle()
    made = find_own(story_with_model, pull)
    [reply] = story_with_model.thread_answers(pull, comment)
    assert f"so #{made.number} proposes it for `feature`" in reply.body
    assert (made.base_ref, made.head_ref) == ("feature", f"forge/fix-{pull.number}-{name.lower()}")
    assert b"NONE = 0.0" in (repository.git.read(made.head_sha, "billing/pay.py") or b"")
    assert story_with_model.check(repository, made.head_sha, "feature").status == "completed"  # reviewed like any other
    story_with_model.pass_over(made)
    await carol.comment(made, "/forge diff")
    await carol.reply(comment, "/forge fix")
    await story_with_model.settle()
    assert "Forge made 1 commit here" in story_with_model.answers(made)[-1].body
    assert find_own(story_with_model, pull) is made  # asked again, it is the same one
    again = story_with_model.thread_answers(pull, comment)[-1]
    assert again.body.startswith(f"#{made.number} proposes a fix of **{name}** already")
    assert len([call for call in model.calls if ASKED in call.content]) == 1


async def test_after_a_newer_review_the_same_pull_request_gets_the_fix(
    story_with_model: Story, model: ScriptedModel
) -> None:
    """Of another file it needs none, of this file a new one; what people pushed there is theirs."""
    repository, alice, carol, pull, comment = await open_reviewed(story_with_model, model)
    model.when(ASKED, TWO_PLACES)
    await carol.reply(comment, "/forge fix")
    await story_with_model.settle()
    made = find_own(story_with_model, pull)
    first = made.head_sha

    await alice.push(repository, "feature", {"README.md": "# Store\n"})
    await story_with_model.settle()
    await carol.reply(comment, "/forge fix")
    await story_with_model.settle()
    assert f"#{made.number} proposes a fix" in story_with_model.thread_answers(pull, comment)[-1].body
    assert made.head_sha == first

    renamed = PAY.replace("VALUE_7 ", "SEVEN ")
    await alice.push(repository, "feature", {"billing/pay.py": renamed})
    await story_with_model.settle()
    await carol.reply(comment, "/forge fix")
    await story_with_model.settle()
    said = story_with_model.thread_answers(pull, comment)[-1].body
    assert f"#{made.number} proposed one for the file as it was before; it has this one now" in said
    assert find_own(story_with_model, pull) is made
    fixed = repository.git.read(made.head_sha, "billing/pay.py") or b""
    assert b"SEVEN = 7" in fixed
    assert b"NONE = 0.0" in fixed
    assert repository.git.run("merge-base", "--is-ancestor", first, made.head_sha).returncode == 0

    await alice.push(repository, made.head_ref, {"billing/pay.py": renamed + "# mine\n"})
    await alice.push(repository, "feature", {"billing/pay.py": PAY})
    await story_with_model.settle()
    await carol.reply(comment, "/forge fix")
    await story_with_model.settle()
    assert "somebody else has changed it since" in story_with_model.thread_answers(pull, comment)[-1].body
    assert b"# mine" in (repository.git.read(made.head_sha, "billing/pay.py") or b"")
    story_with_model.pass_over(made)
    story_with_model.pass_over(pull)


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ({"edits": [], "summary": "", "refusal": "Ask @team: 0 or an error?"}, "the model declined. Ask `@team`"),
        (write_fix(edit_lines(LINE, "    return 1", RIGHT)), f"Lines {LINE} to {LINE} are not what"),
        (write_fix(edit_lines(LINE, WRONG, "    return (")), "cannot be parsed with the change"),
        (write_fix(edit_lines(LINE, WRONG, "    x = 1\n" * 80 + RIGHT)), "It is too large"),
        (write_fix(edit_lines(LINE, WRONG, f'    token = "ghp_{"a1B2" * 9}"')), "a credential"),
        (write_fix(), "There is no edit."),
    ],
)
async def test_a_change_that_is_not_taken(
    story_with_model: Story, model: ScriptedModel, written: dict[str, JsonValue], said: str
) -> None:
    """It is asked for twice at most, and the answer says what happened."""
    _, _, carol, pull, comment = await open_reviewed(story_with_model, model)
    model.when(ASKED, written)
    await carol.reply(comment, "/forge fix")
    await story_with_model.settle()
    [reply] = story_with_model.thread_answers(pull, comment)
    assert reply.body.startswith("No fix of **F-")
    assert said in reply.body
    assert "```suggestion" not in reply.body
    asked = [call for call in model.calls if ASKED in call.content]
    assert len(asked) == (1 if written["refusal"] else 2)


@pytest.mark.parametrize("refused", [True, False])
async def test_a_fix_that_obeys_the_code_changes_nothing_else(
    story_with_model: Story, model: ScriptedModel, refused: bool
) -> None:
    """A comment in the file tells the model what to do: its words act nowhere, and its change is only offered."""
    repository, _, carol, pull, comment = await open_reviewed(story_with_model, model)
    written = write_fix(edit_lines(LINE, WRONG, RIGHT), summary=OBEYS)
    model.when(ASKED, {"edits": [], "summary": "", "refusal": OBEYS} if refused else written)
    before = repository.git.run("for-each-ref").stdout
    await carol.reply(comment, "/forge fix")
    await story_with_model.settle()
    [reply] = story_with_model.thread_answers(pull, comment)
    assert ("```suggestion" in reply.body) is not refused
    assert list_acting(reply.body) == []
    assert repository.git.run("for-each-ref").stdout == before
    assert story_with_model.check(repository, pull.head_sha).conclusion == "failure"


async def test_the_second_answer_may_be_right(story_with_model: Story, model: ScriptedModel) -> None:
    _, _, carol, pull, comment = await open_reviewed(story_with_model, model)
    model.when(ASKED, write_fix(edit_lines(LINE, "    return 1", RIGHT)), ONE_LINE)
    await carol.reply(comment, "/forge fix")
    await story_with_model.settle()
    assert f"```suggestion\n{RIGHT}" in story_with_model.thread_answers(pull, comment)[0].body
    assert "== what was wrong with your first answer" in model.calls[-1].content


async def test_who_may_not_and_what_is_wrong(story_with_model: Story, model: ScriptedModel) -> None:
    _, _, carol, pull, comment = await open_reviewed(story_with_model, model)
    reader = story_with_model.github.user("reader")
    before = len(model.calls)
    for who, words in ((reader, "/forge fix"), (carol, "/forge fix it please"), (carol, "/forge fix F-AAAAAA")):
        await who.reply(comment, words)
        await story_with_model.settle()
    told = [each.body for each in story_with_model.thread_answers(pull, comment)]
    assert "needs the role write" in told[0]
    assert "is not valid. Usage: `/forge fix F-ID or all`" in told[1]
    assert "There is no finding `F-AAAAAA`" in told[2]
    assert len(model.calls) == before


async def test_protected_files_are_for_people(story_with_model: Story, model: ScriptedModel) -> None:
    find_division(model)
    repository, alice, carol = await at_level(story_with_model, 1, "paths: {protected: [billing/**]}\n")
    await alice.push(repository, "feature", {"billing/pay.py": PAY}, base="main")
    pull = await alice.open_pull_request(repository, "feature")
    await story_with_model.settle()
    story_with_model.pass_over(pull)
    [comment] = story_with_model.comments(pull)
    await carol.reply(comment, "/forge fix")
    await story_with_model.settle()
    assert "`billing/pay.py` is protected" in story_with_model.thread_answers(pull, comment)[0].body
    assert not [call for call in model.calls if ASKED in call.content]


async def _open_fork(story: Story, model: ScriptedModel) -> tuple[Repository, User, PullRequest]:
    find_division(model)
    repository, alice = story.repository({"README.md": "# Shop\n", "tests/test_shop.py": "", "app.py": APP})
    mallory = story.github.user("mallory")
    fork = await mallory.fork(repository)
    await mallory.push(fork, "feature", {"billing/pay.py": PAY, "app.py": UNUSED}, base="main")
    pull = await mallory.open_pull_request(repository, "feature", head_repo=fork)
    await story.settle()
    return repository, alice, pull


async def test_a_fork_needs_an_ok_and_is_never_written_to(story_with_model: Story, model: ScriptedModel) -> None:
    _, alice, pull = await _open_fork(story_with_model, model)
    [first] = story_with_model.comments(pull)
    await alice.reply(first, "/forge fix")
    await story_with_model.settle()
    assert "Nobody with the role write has allowed this head" in story_with_model.thread_answers(pull, first)[0].body
    assert model.calls == []
    story_with_model.clock.move(seconds=5)
    await alice.comment(pull, "/forge review")
    await story_with_model.settle()
    story_with_model.pass_over(pull)
    [found] = [each for each in story_with_model.comments(pull) if "divides by zero" in each.body]
    model.when(ASKED, TWO_PLACES)
    await alice.reply(found, "/forge fix")
    await story_with_model.settle()
    [reply] = story_with_model.thread_answers(pull, found)
    assert "Forge does not write to forks" in reply.body
    assert "+NONE = 0.0" in reply.body
    assert list(pull.repository.issues.values()) == [pull]


async def test_without_a_model_people_fix(story: Story) -> None:
    repository, alice, _ = await at_level(story, 1)
    pull, _ = await open_pull_request(story, repository, alice, {"app.py": APP.replace("os.name", "missing")})
    [comment] = story.comments(pull)[:1]
    await alice.reply(comment, "/forge fix")
    await settle_looks(story)
    [reply] = story.thread_answers(pull, comment)
    assert "no model wrote one" in reply.body
