"""An issue's run, the review of its pull request and its deployments are shown as one piece of work."""

from agents.llm.scripted import ScriptedModel
from memory.runs.outbox import list_trace
from tests.stories.driver import Story
from tests.world.cart import DIFF
from tests.world.issues import TEST
from tests.world.verification import propose_diffs


async def test_an_issue_and_its_pull_request_tell_one_story(story: Story, model: ScriptedModel) -> None:
    asked, pull = await propose_diffs(story, model, DIFF, TEST)
    found = {each.trigger: each.id for each in await story.runs()}
    assert set(found) == {"issue", "pull_request"}
    for run_id in found.values():
        traces = await list_trace(story.forge.services.database, run_id)
        assert list(traces) == [found["issue"], found["pull_request"]]
    for where in (asked.issue, pull):
        before = len(story.answers(where))
        await story.after(asked.alice.comment(where, "/forge history"))
        said = story.answers(where)[before].body
        assert "| issue |" in said
        assert "| pull request |" in said
