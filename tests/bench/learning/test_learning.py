"""What learning from dismissals does to what is raised: false and true positives per pull request, with it and without.

The labelled pull requests are replayed through the whole product; a maintainer dismisses each false positive with a
reason. The baseline is the same sequence with ``memory: {enabled: false}``, where a dismissal holds for that finding
alone. No model takes part: what one says in a replay would be made up here.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from simulator.state import PullRequest, ReviewComment
from tests.bench.learning.replay import SEQUENCES, Change
from tests.databases import create_database, drop_database
from tests.stories.driver import Story, open_story

ON, OFF = "memory: {enabled: true}\n", "memory: {enabled: false}\n"


@dataclass
class Raised:
    """What was raised in a sequence, pull request by pull request."""

    false: list[int]
    true: list[int]
    wanted: int


async def test_replay(tmp_path: Path) -> None:
    print(f"\n\n{'':34}{'false positives':>28}{'true positives':>17}")
    for name, changes in SEQUENCES.items():
        found = {
            word: await _replay(tmp_path / f"{name.split('/')[1]}-{word}", name, changes, text)
            for word, text in (("off", OFF), ("on", ON))
        }
        for word, raised in found.items():
            per = sum(raised.false) / len(changes)
            row = " ".join(map(str, raised.false))
            print(f"{name:22} learning {word:3}  {row:>16} {per:6.2f} a PR {sum(raised.true):9} of {raised.wanted}")
        off, on = found["off"], found["on"]
        print(f"{'':22} ratio on/off {sum(on.false) / sum(off.false):21.2f} {sum(on.true) / sum(off.true):23.2f}")
        assert sum(on.false) < sum(off.false)  # what learning is for, whatever the machine
        assert on.true == off.true


async def _replay(folder: Path, name: str, changes: Sequence[Change], settings: str) -> Raised:
    folder.mkdir()
    url = create_database("sqlite", folder)
    raised = Raised([], [], sum(len(change.right) for change in changes))
    async with open_story(url, folder) as told:
        repository, alice = told.repository({"README.md": "# Here\n", ".github/forge.yml": settings}, name)
        people = [told.github.user("carol"), told.github.user("dora")]
        for person in people:
            told.github.grant(repository, person, "write")
        for number, change in enumerate(changes):
            await alice.push(repository, f"change-{number}", dict(change.files), base="main")
            pull = await alice.open_pull_request(repository, f"change-{number}")
            await told.settle()
            wrong, right = _judge(told, pull, change)
            raised.false.append(len(wrong))
            raised.true.append(len(right))
            for comment in wrong:  # two people in turn: one alone lowers no rule
                await people[number % 2].reply(comment, "/forge dismiss that is how we do it in this folder")
                await told.settle()
                told.thread_answers(pull, comment)
            told.questions(pull)
            told.clock.move(hours=2)
    drop_database(url)
    return raised


def _judge(told: Story, pull: PullRequest, change: Change) -> tuple[list[ReviewComment], list[ReviewComment]]:
    """The comments on findings that are wrong here, and those on findings that are right."""
    wrong: list[ReviewComment] = []
    right: list[ReviewComment] = []
    for comment in told.comments(pull):
        is_right = any(path == comment.path and rule in comment.body for rule, path in change.right)
        (right if is_right else wrong).append(comment)
    return wrong, right
