"""Killed with SIGKILL while somebody dismisses or confirms a finding, Forge keeps that once, and answers once."""

import re
from pathlib import Path

import pytest
from sqlalchemy import select

from domain.review.feedback import Word
from memory import gates
from memory.db.tables.repositories import FeedbackRow
from tests.chaos.driver import Point, stage

TEST = "def test_north():\n    assert 'north'.isalpha()\n"
FILES = {".github/forge.yml": "avoidance: {test_skipped: gate}\n", "tests/test_a.py": TEST, "a.py": "A = 1\n"}
SKIPPED = f"import pytest\n\n\n@pytest.mark.skip\n{TEST}"


@pytest.mark.deep
@pytest.mark.parametrize("moment", ["before", "took effect"])
@pytest.mark.parametrize(
    ("words", "disputed"),
    [
        ("dismiss F-ID it moved", False),
        ("dismiss F-ID it moved", True),
        ("confirm F-ID it matters", True),
        ("dismiss F-ID file: no winter, no north", False),
        ("reject false_positive it matters", True),
    ],
)
async def test_what_is_said_is_kept_once(words: str, disputed: bool, moment: str, tmp_path: Path) -> None:
    async with stage("sqlite", tmp_path) as there:
        repository = there.github.create_repository("octo-org/shop", files=FILES)
        there.github.install(repository)
        alice, carol = there.github.user("alice"), there.github.user("carol")
        there.github.grant(repository, alice, "write")
        there.github.grant(repository, carol, "maintain")
        await there.start()
        await alice.push(repository, "feature", {"tests/test_a.py": SKIPPED}, base="main")
        pull = await alice.open_pull_request(repository, "feature")
        await there.settle()
        [check] = there.github.check_runs(repository, pull.head_sha, "Forge / review")
        [name] = set(re.findall(r"F-[A-Z2-7]{6}", check.summary or ""))
        if disputed:
            await alice.comment(pull, f"/forge dismiss {name} it is tested elsewhere")
            await there.settle()
        said = len([each for each in there.github.comments(pull) if each.user is there.github.app.bot])
        there.clock.move(seconds=2)

        def dies(point: Point) -> bool:
            step = f": {words.split()[0]}"
            return not there.kills and point.where.endswith(step) and point.moment == moment

        there.begin(None, dies)
        await carol.comment(pull, f"/forge {words.replace('F-ID', name)}")
        await there.settle()
        assert there.kills == 1
        is_right = words.startswith(("confirm", "reject"))
        check = there.github.check_runs(repository, pull.head_sha, "Forge / review")[-1]
        let = "success" if disputed else "neutral"  # who dismisses without a gate has not read the change
        assert check.conclusion == ("failure" if is_right else let)
        said_before = [Word.disputed] if disputed else []
        async with there.database.transaction() as session:
            kept = (await session.scalars(select(FeedbackRow).order_by(FeedbackRow.id))).all()
            assert [each.word for each in kept] == [*said_before, Word.confirmed if is_right else Word.dismissed]
            assert kept[-1].scope == ("file" if "file:" in words else "")
        asked = await gates.list_for_pull_request(there.database, repository.id, pull.number)
        [decided] = [each.state for each in asked if each.name == "false_positive"] or [""]
        assert decided == ("" if not disputed else "rejected" if is_right else "approved")
        mine = [each for each in there.github.comments(pull) if each.user is there.github.app.bot]
        assert len(mine) == said + 1
