"""The files of a commit in a folder where its own commands run, and what is too much for that."""

import os
import stat
import tempfile
from pathlib import Path

import pytest

from domain.errors import CodeAccessError, ToolError
from tests.unit.workspace.remotes import Author
from workspace.checkout import CheckoutBounds, check_out
from workspace.git import Git
from workspace.mirror import Mirror
from workspace.objects import Objects
from workspace.sandbox import probing
from workspace.sandbox.sandbox import LANDLOCK, LIMITS, Sandbox


@pytest.fixture
async def sandbox() -> Sandbox:
    return await probing.make_sandbox()


@pytest.fixture
def contained(sandbox: Sandbox) -> Sandbox:
    if sandbox.strongest().level < LANDLOCK:
        pytest.skip("nothing here contains code of others")
    return sandbox


def objects(author: Author) -> Objects:
    return Objects(Git(author.tree / ".git"))


TEST = """
import unittest
from adding import add

class Adding(unittest.TestCase):
    def test_two_numbers(self):
        self.assertEqual(add(2, 2), 4)
"""


@pytest.mark.parametrize(("adding", "status", "said"), [("a + b", 0, "OK"), ("a - b", 1, "FAILED (failures=1)")])
async def test_a_repository_tests_itself(
    author: Author, contained: Sandbox, adding: str, status: int, said: str
) -> None:
    adder = f"def add(a, b):\n    return {adding}\n"
    sha = author.commit({"adding.py": adder, "tests/__init__.py": "", "tests/test_adding.py": TEST})
    async with check_out(objects(author), sha, contained) as checkout:
        done = await checkout.run(["python3", "-m", "unittest"], seconds=60)
    assert (done.status, said in done.stderr.data.decode()) == (status, True), done.stderr.data


async def test_a_script_of_the_repository_runs_and_leaves_a_result(author: Author, contained: Sandbox) -> None:
    author.write({"check": '#!/bin/sh\necho "$1 $MODE $CI" > "$FORGE_RESULTS/report"\n'})
    (author.tree / "check").chmod(0o755)
    async with check_out(objects(author), author.commit(), contained) as checkout:
        done = await checkout.run(["./check", "two words"], seconds=30, environment={"MODE": "fast"})
        assert (done.status, done.stderr.data) == (0, b"")
        assert await checkout.result("report", 100) == b"two words fast true\n"
        assert await checkout.result("other", 100) is None
        assert checkout.may_have_result("report")
        assert not checkout.may_have_result("other")
        await checkout.run(["ln", "-s", "nowhere", f"{checkout.results_inside}/other"], seconds=30)
        assert checkout.may_have_result("other")


async def test_programs_are_told_where_they_are(author: Author, contained: Sandbox) -> None:
    async with check_out(objects(author), author.commit({"a": "a"}), contained) as checkout:
        script = 'pwd; echo "$FORGE_RESULTS"; touch "$HOME/x" "$TMPDIR/x"'
        done = await checkout.run(["sh", "-c", script], seconds=30)
        assert done.stdout.data.decode().splitlines() == [str(checkout.code_inside), str(checkout.results_inside)]
        assert (done.status, checkout.level) == (0, contained.strongest().level)


async def test_blobs_that_are_missing_are_brought_first(author: Author, mirror: Mirror, contained: Sandbox) -> None:
    sha = author.commit({"a.txt": "one\n", "b/c.txt": "two\n"})
    await mirror.fetch(sha, sha, 1)
    async with check_out(mirror, sha, contained) as checkout:
        done = await checkout.run(["cat", "a.txt", "b/c.txt"], seconds=30)
    assert done.stdout.data == b"one\ntwo\n"


async def test_blobs_that_cannot_be_had_are_said(author: Author, mirror: Mirror, sandbox: Sandbox) -> None:
    sha = author.commit({"a.txt": "one\n"})
    await mirror.fetch(sha, sha, 1)
    with pytest.raises(CodeAccessError, match=r"1 of the files .* not in the repository"):
        async with check_out(Objects(mirror.git), sha, sandbox):
            pytest.fail("there is nothing to write")


@pytest.mark.parametrize(
    ("bounds", "said"),
    [
        (CheckoutBounds(files=4), "more than 4 files and folders"),
        (CheckoutBounds(bytes=11), "more than 11 bytes"),
        (CheckoutBounds(depth=1), "more than 1 folders within each other"),
    ],
)
async def test_too_much_is_not_checked_out(author: Author, sandbox: Sandbox, bounds: CheckoutBounds, said: str) -> None:
    """Three files in two folders; what is in two of them is the same and counts twice."""
    sha = author.commit({"a": "1234", "b": "1234", "c/d/e": "5678"})
    with pytest.raises(CodeAccessError, match=said):
        async with check_out(objects(author), sha, sandbox, bounds=bounds):
            pytest.fail("it holds too much")
    async with check_out(objects(author), sha, sandbox, bounds=CheckoutBounds(files=5, bytes=12, depth=2)):
        pass


async def test_a_commit_that_is_not_here_is_an_error(author: Author, sandbox: Sandbox) -> None:
    author.commit({"a": "a"})
    with pytest.raises(CodeAccessError):
        async with check_out(objects(author), "1" * 40, sandbox):
            pytest.fail("there is no such commit")


async def test_without_containment_nothing_runs(author: Author, sandbox: Sandbox) -> None:
    bare = Sandbox([level for level in sandbox.levels if level.level == LIMITS], sandbox.account)
    async with check_out(objects(author), author.commit({"a": "a"}), bare) as checkout:
        with pytest.raises(ToolError, match=r"level 2 or 3 only.*apt-get install bubblewrap.*forge doctor"):
            await checkout.run(["true"], seconds=30)


async def test_a_command_that_is_none_is_refused(author: Author, contained: Sandbox) -> None:
    """To the shell that starts it, nothing at all would be a success."""
    async with check_out(objects(author), author.commit({"a": "a"}), contained) as checkout:
        with pytest.raises(ToolError, match="no command"):
            await checkout.run([], seconds=30)
        assert (await checkout.run(["no-such-program"], seconds=30)).status == 127


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "../code/a", "/etc/passwd", "a\0b"])
async def test_a_result_has_a_plain_name(author: Author, sandbox: Sandbox, name: str) -> None:
    async with check_out(objects(author), author.commit({"a": "a"}), sandbox) as checkout:
        with pytest.raises(ToolError, match="not the name of a file"):
            await checkout.result(name, 100)


def folders() -> set[Path]:
    """The checkouts of this process."""
    return set(Path(tempfile.gettempdir()).glob(f"forge-*-{os.getpid()}-files-*"))


CLOSED = """
import os
os.makedirs("d/e")
open("d/e/file", "w").close()
os.mkdir("closed", 0)
os.fchmod(os.open("d", os.O_RDONLY), 0)
"""


async def _fail_in_a_checkout(author: Author, sandbox: Sandbox) -> None:
    async with check_out(objects(author), author.commit({"a": "a"}), sandbox) as checkout:
        await checkout.run(["python3", "-c", CLOSED], seconds=30)
        (folder,) = folders()
        assert stat.S_IMODE((folder / "code" / "d").stat().st_mode) == 0
        raise RuntimeError("of the caller")


async def test_nothing_is_left_in_the_end(author: Author, contained: Sandbox) -> None:
    """Also of folders that are closed to everybody."""
    with pytest.raises(RuntimeError, match="of the caller"):
        await _fail_in_a_checkout(author, contained)
    assert not folders()
