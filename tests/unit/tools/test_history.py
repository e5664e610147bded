"""What an agent is told of the past: commits and the lines they wrote, from a mirror without file contents."""

from collections.abc import Sequence

import pytest

from agents.loop.tools.history import make_history_tools
from agents.loop.tools.tool import Result, call_tool
from tests.unit.workspace.remotes import Author
from workspace.mirror import Mirror
from workspace.snapshot import History

FIRST, SECOND, THIRD = "a = 1\nb = 2\nc = 3\n", "a = 1\nb = 20\nc = 3\n", "a = 1\nb = 20\nc = 3\nd = 4\n"
TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


def commit(author: Author, subject: str, files: dict[str, str]) -> str:
    author.write(files)
    author.git("add", "-A", ".")
    author.git("commit", "-q", "--date", "2026-03-04T05:06:07Z", "-m", subject)
    return author.publish("refs/heads/main")


async def call(history: History, name: str, never_send: Sequence[str] = (), **arguments: object) -> Result:
    return await call_tool(make_history_tools(history, never_send=never_send), name, arguments)


async def open_history(mirror: Mirror, sha: str) -> History:
    await mirror.fetch(sha, sha, 7)
    return History(mirror, sha)


@pytest.fixture
def shas(author: Author) -> list[str]:
    """The commits that made three versions of a file."""
    pairs = (("Add a", FIRST), (f"Raise b, not {TOKEN}", SECOND), ("Add d\n\nBecause.", THIRD))
    shas = [commit(author, subject, {"src/a.py": text, "secret/x": subject}) for subject, text in pairs]
    return [*shas, commit(author, "Write about it", {"README.md": "It adds.\n"})]


async def test_commits_are_listed_with_their_day_and_subject(mirror: Mirror, shas: list[str]) -> None:
    history = await open_history(mirror, shas[-1])
    of_file = (await call(history, "git_log", path="src/a.py")).text
    assert of_file.split("\n") == [
        f"{shas[2][:12]} 2026-03-04 Add d",
        f"{shas[1][:12]} 2026-03-04 Raise b, not [redacted: GitHub token]",
        f"{shas[0][:12]} 2026-03-04 Add a",
    ]
    assert (await call(history, "git_log", count=1)).text == f"{shas[3][:12]} 2026-03-04 Write about it"
    assert (await call(history, "git_log", path="src/gone.py")).text == "No commit changed such a file."


async def test_each_line_is_traced_to_the_commit_that_wrote_it(mirror: Mirror, shas: list[str]) -> None:
    history = await open_history(mirror, shas[-1])
    lines = (await call(history, "git_blame", path="src/a.py", first_line=1)).text.split("\n")
    assert [line.split("\t")[0] for line in lines] == ["1-1", "2-2", "3-3", "4-4"]
    assert [line.split("\t")[1][:12] for line in lines] == [shas[at][:12] for at in (0, 1, 0, 2)]
    part = await call(history, "git_blame", path="src/a.py", first_line=3, lines=1)
    assert part.text == f"3-3\t{shas[0][:12]} 2026-03-04 Add a"


async def test_beyond_the_versions_looked_at_it_may_be_older(mirror: Mirror, shas: list[str]) -> None:
    history = await open_history(mirror, shas[-1])
    history.most_versions = 2
    lines = (await call(history, "git_blame", path="src/a.py", first_line=1)).text.split("\n")
    assert [line.endswith(" (or before)") for line in lines] == [True, False, True, False]
    assert lines[3] == f"4-4\t{shas[2][:12]} 2026-03-04 Add d"


async def test_lines_that_came_through_a_merge_keep_their_commit(
    mirror: Mirror, author: Author, shas: list[str]
) -> None:
    author.git("checkout", "-q", "-b", "side", shas[0])
    side = commit(author, "Raise c aside", {"src/a.py": FIRST.replace("c = 3", "c = 30")})
    author.git("checkout", "-q", "main")
    author.git("merge", "-q", "--no-edit", "-X", "theirs", "side")
    merged = commit(author, "After the merge", {"README.md": "It merges.\n"})
    history = await open_history(mirror, merged)
    lines = (await call(history, "git_blame", path="src/a.py", first_line=1)).text.split("\n")
    assert [line.split("\t")[1][:12] for line in lines if line.startswith("3-")] == [side[:12]]


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        ("git_blame", {"path": "src/gone.py", "first_line": 1}, "src/gone.py has no such lines in this history"),
        ("git_blame", {"path": "src/a.py", "first_line": 99}, "src/a.py has no such lines"),
        ("git_blame", {"path": "secret/x", "first_line": 1}, "kept from models"),
        ("git_log", {"path": "secret/x"}, "kept from models"),
        ("git_log", {"path": "secret"}, "kept from models"),
        ("git_log", {"path": "../x"}, "could lead elsewhere"),
        ("git_log", {"path": "--all"}, "No commit changed such a file."),
        ("git_log", {"path": ":(glob)**"}, "No commit changed such a file."),
        ("git_blame", {"path": "-L1,5", "first_line": 1}, "has no such lines"),
        ("git_log", {"count": 1000}, "less than or equal to 100"),
        ("git_log", {"rev": "HEAD"}, "rev"),
    ],
)
async def test_what_cannot_be_told(
    mirror: Mirror, shas: list[str], name: str, arguments: dict[str, object], said: str
) -> None:
    history = await open_history(mirror, shas[-1])
    assert said in (await call(history, name, ["secret/**"], **arguments)).text


async def test_a_subject_is_redacted_before_it_is_cut(mirror: Mirror, author: Author) -> None:
    sha = commit(author, f"{'x' * 180} {TOKEN}", {"a": "a"})
    text = (await call(await open_history(mirror, sha), "git_log")).text
    assert TOKEN[:20] not in text
    assert "[redacted" in text


async def test_endless_subjects_are_cut_by_git(mirror: Mirror, author: Author) -> None:
    sha = commit(author, "y" * 50_000, {"a": "a"})
    assert len((await call(await open_history(mirror, sha), "git_log")).text) < 300


async def test_branches_that_grew_apart_are_looked_at_as_far_as_was_fetched(mirror: Mirror, author: Author) -> None:
    """Both sides of a merge end where the versions end, and neither asks for what was not fetched."""
    lines = [f"line {number}" for number in range(20)]
    base = commit(author, "Begin", {"f": "\n".join(lines)})
    for number in range(6):
        commit(
            author, f"Ours {number}", {"f": "\n".join([*(f"o{at}" for at in range(number + 1)), *lines[number + 1 :]])}
        )
    author.git("checkout", "-q", "-b", "side", base)
    for number in range(6):
        at = 19 - number
        commit(author, f"Theirs {number}", {"f": "\n".join([*lines[:at], *(f"t{each}" for each in range(at, 20))])})
    author.git("checkout", "-q", "main")
    author.git("merge", "-q", "--no-edit", "side")
    history = await open_history(mirror, author.publish("refs/heads/main"))
    history.most_versions = 9  # the merge and one whole side at most, whichever git takes for newer
    outcome = await call(history, "git_blame", path="f", first_line=1, lines=20)
    assert not outcome.is_error
    told = outcome.text.split("\n")
    assert any("Ours 5" in line and "or before" not in line for line in told)
    assert any(line.endswith("(or before)") for line in told)
