"""GitHub's ids passed 2^31: the simulator gives none below 2^32, and what is asked for by one must be found."""

from agents.llm.scripted import ScriptedModel
from memory.learned import memories
from tests.stories.driver import Story
from tests.world.model_findings import SAYS_NO, open_reviewed


async def test_t_g9_a_reply_in_a_thread_with_a_large_id_is_heard(story: Story, model: ScriptedModel) -> None:
    repository, _, carol, pull, comment = await open_reviewed(story, model, "warning")
    assert comment.id > 2**32
    model.when("== reply", SAYS_NO)
    await carol.reply(comment, "No, nobody ever calls this with an empty list.")
    await story.settle()
    [answer] = story.thread_answers(pull, comment)
    assert answer.body.startswith("Read as a dismissal. **F-")
    assert story.check(repository, pull.head_sha).conclusion == "success"
    [learned] = await memories.list_live(story.forge.services.database, repository.id)
    assert learned.short_id in answer.body
