"""T-R13 (docs/threats.md): a file or a word that looks like another one, in a review of a whole Forge."""

from agents.llm.scripted import ScriptedModel
from tests.stories.driver import Story

MAY = "export function may(user) {\n  if (user.\u0430\u0441\u0441\u0435\u0455\u0455 === undefined) return true\n}\n"
NAMES = ("auth\u3164.py", "auth\u2800.py", "auth\u034f.py", "\u0430uth.py")


async def test_t_r13_a_file_named_like_another_is_told_apart_and_blocks(story: Story, model: ScriptedModel) -> None:
    """People and the model are shown what nobody sees, and the name of look-alike letters is an error."""
    repository, alice = story.repository({"auth.py": "x = 1\n"})
    pull, head = await story.propose(repository, alice, dict.fromkeys(NAMES, "x = 1\n"))
    check = story.check(repository, head)
    assert check.conclusion == "failure"
    for shown in ("auth\\u3164.py", "auth\\u2800.py", "auth\\u034f.py"):
        assert shown in (check.summary or "").replace("\\\\", "\\")
        assert any(f"== {shown} (added)" in each.content for each in model.calls)
    assert "hidden-text/name" in (check.summary or "")
    story.pass_over(pull)


async def test_t_r13_a_property_in_look_alike_letters_blocks(story: Story) -> None:
    """Its Latin double stands in another file."""
    repository, alice = story.repository({"access.js": "export const users = [{ access: 1 }]\n"})
    pull, head = await story.propose(repository, alice, {"may.js": MAY})
    assert story.check(repository, head).conclusion == "failure"
    [comment] = story.comments(pull)
    assert "hidden-text/look-alike" in comment.body
    story.pass_over(pull)
