"""What learning from dismissals does to what is raised: false and true positives per pull request, with it and without.

The labelled pull requests are replayed through the whole product; a maintainer dismisses each false positive with a
reason. The baseline is the same sequence with ``memory: {enabled: false}``, where a dismissal holds for that finding
alone. No model takes part: what one says in a replay would be made up here.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from simulator.state import ReviewComment
from tests.bench.learning.replay import SEQUENCES, Change
from tests.databases import create_database, drop_database
from tests.stories.driver import open_story

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
            comments = [(comment, *_judge(comment, change)) for comment in told.comments(pull)]
            raised.false.append(sum(wrong for _, wrong, _ in comments))
            raised.true.append(sum(right for _, _, right in comments))
            for comment, _, right in comments:
                if not right:  # two people in turn: one alone lowers no rule
                    await people[number % 2].reply(comment, "/forge dismiss that is how we do it in this folder")
                    await told.settle()
                    told.thread_answers(pull, comment)
            told.questions(pull)
            told.clock.move(hours=2)
    drop_database(url)
    return raised


def _judge(comment: ReviewComment, change: Change) -> tuple[int, int]:
    """In how many files what a comment tells is wrong, and in how many it is right: one can tell of several."""
    told = [path for path in change.files if path == comment.path or path in comment.body]
    right = sum(any(path == where and rule in comment.body for rule, where in change.right) for path in told)
    return len(told) - right, right
