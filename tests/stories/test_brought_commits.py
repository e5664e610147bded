"""Who made a commit does not decide about it alone, whoever brings it into a branch."""

from tests.stories.driver import Story
from tests.stories.gate_scenes import CHANGED, open_scene


async def test_a_maintainer_whose_commit_of_a_fork_somebody_adopts(story: Story) -> None:
    scene = await open_scene(story, {"note.md": "A note.\n"})
    repository, alice = scene.repository, scene.alice
    story.github.grant(repository, alice, "maintain")
    fork = await alice.fork(repository)
    head = await alice.push(fork, "mine", CHANGED, base="main")
    bob = scene.add_user("bob", "write")
    await bob.reset_branch(repository, "adopted", head)
    scene.pull, scene.head = await bob.open_pull_request(repository, "adopted"), head
    await story.settle()
    answer = await scene.comment(alice, "/forge approve protected_paths")
    assert "Approved by" not in answer
    assert "Approved by" in await scene.comment(scene.carol, "/forge approve protected_paths")
    story.pass_over(scene.pull)
