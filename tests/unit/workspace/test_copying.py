"""What is copied of a folder that others wrote, and what is too much or too odd for that."""

import asyncio
import os
import socket
import stat
import subprocess
from pathlib import Path

import pytest

from workspace.safe_copy import NotCopied, Size, copy_folder
from workspace.sandbox.accounts import find_account

MOST = Size(1_000_000, 50)
is_root = os.geteuid() == 0


@pytest.fixture
def source(tmp_path: Path) -> Path:
    folder = tmp_path / "source"
    folder.mkdir()
    return folder


@pytest.fixture
def target(tmp_path: Path) -> Path:
    folder = tmp_path / "target"
    folder.mkdir()
    return folder


def shell(folder: Path, script: str) -> None:
    subprocess.run(["sh", "-ec", script], cwd=folder, check=True)


async def copy(source: Path, target: Path, most: Size = MOST) -> Size:
    return await copy_folder(source, target, owner=os.geteuid(), most=most)


async def test_files_folders_and_links_inside_are_copied_as_they_are(source: Path, target: Path) -> None:
    script = "mkdir -p a/b; echo one > a/one; echo two > a/b/two; touch -d 2020-01-01 a/one; ln -s ../one a/b/up"
    shell(source, f"{script}; ln -s a/b/two down; ln -s nowhere none; chmod 700 a/one; chmod 400 a/b/two")
    shell(source, "chmod 500 a/b; chmod 500 a")
    size = await copy(source, target)
    assert (target / "a/one").read_text() == "one\n"
    assert (target / "a/b/up").read_text() == "one\n"
    assert (target / "down").read_text() == "two\n"
    assert (target / "none").readlink() == Path("nowhere")
    assert (target / "a/one").stat().st_mtime == (source / "a/one").stat().st_mtime
    modes = [stat.S_IMODE((target / name).stat().st_mode) for name in ("a", "a/b", "a/one", "a/b/two")]
    assert modes == [0o500, 0o500, 0o700, 0o400]
    assert size == Size(7 * 4096, 7)


async def test_a_virtual_environment_is_not_copied(source: Path, target: Path) -> None:
    """Nor does it keep the rest from being copied, although it has links to programs of the machine."""
    shell(source, "mkdir -p venvs/one/bin wheels; ln -s /usr/bin/python3 venvs/one/bin/python; echo > wheels/a")
    shell(source, "echo home = /usr/bin > venvs/one/pyvenv.cfg")
    await copy(source, target)
    assert sorted(path.name for path in target.rglob("*")) == ["a", "venvs", "wheels"]


async def test_a_copy_shares_nothing_with_what_it_is_of(source: Path, target: Path) -> None:
    shell(source, "echo one > file; ln file other")
    await copy(source, target)
    (target / "file").write_text("two")
    assert [(folder / "other").read_text() for folder in (source, target)] == ["one\n", "one\n"]


async def test_rights_of_others_and_of_other_accounts_are_not_kept(source: Path, target: Path) -> None:
    shell(source, "echo x > tool; chmod 6777 tool; mkdir open; chmod 3777 open")
    await copy(source, target)
    assert [stat.S_IMODE((target / name).stat().st_mode) for name in ("tool", "open")] == [0o700, 0o700]


ODD = {
    "a link to a file of the host": ("ln -s /etc/passwd x", "'x' is a link that leads out"),
    "a link to the folder itself by its path": ('ln -s "$PWD/y" x; echo > y', "'x' is a link that leads out"),
    "a link one step up": ("ln -s .. x", "'x' is a link that leads out"),
    "a link with one step too many": ("mkdir a; ln -s ../../y a/x", "'a/x' is a link that leads out"),
    "a link through another one": (
        "mkdir -p a/b/c; ln -s ../../.. a/b/c/top; ln -s top/../../y a/b/c/x",
        "'a/b/c/x' is a link that leads out",
    ),
    "a FIFO": ("mkdir a; mkfifo a/x", "'a/x' is neither a file nor a folder nor a link"),
    "a large file": ("head -c 2000000 /dev/zero > x", "it holds more than 1,000,000 bytes or 50 files"),
    "a large file of holes": ("truncate -s 900G x", "it holds more than 1,000,000 bytes or 50 files"),
    "many files": ("for i in $(seq 51); do : > $i; done", "it holds more than 1,000,000 bytes or 50 files"),
    "many folders": ("for i in $(seq 51); do mkdir $i; done", "it holds more than 1,000,000 bytes or 50 files"),
    "a name that is none to print": ('mkfifo "$(printf "a\\nb\\033")"', r"'a\nb\x1b' is neither"),
}


@pytest.mark.parametrize("what", ODD)
async def test_what_is_odd_or_too_much_is_not_copied(source: Path, target: Path, what: str) -> None:
    script, why = ODD[what]
    shell(source, script)
    with pytest.raises(NotCopied) as caught:
        async with asyncio.timeout(10):
            await copy(source, target)
    assert str(caught.value).startswith(why)


async def test_sockets_and_depths_are_not_copied(source: Path, target: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(source / "socket"))
        with pytest.raises(NotCopied, match="'socket' is neither"):
            await copy(source, target)
    (source / "socket").unlink()
    (source / "/".join(["d"] * 70)).mkdir(parents=True)
    with pytest.raises(NotCopied, match="more than 64 folders within each other"):
        await copy(source, target, Size(1_000_000, 100))


@pytest.mark.skipif(not is_root, reason="only root has files of others")
async def test_a_file_of_somebody_else_is_not_copied(source: Path, target: Path) -> None:
    shell(source, "echo x > x; chown 12345 x")
    with pytest.raises(NotCopied, match="'x' belongs to somebody else"):
        await copy(source, target)


@pytest.mark.skipif(is_root, reason="to root nothing is closed")
async def test_what_is_closed_to_us_is_not_copied(source: Path, target: Path) -> None:
    shell(source, "echo x > x; chmod 0 x")
    with pytest.raises(NotCopied, match="'x' could not be read or written"):
        await copy(source, target)


@pytest.mark.skipif(not is_root, reason="only root gives files away")
async def test_a_copy_can_be_given_away(source: Path, target: Path) -> None:
    account = find_account("nobody")
    assert account is not None
    shell(source, "mkdir -p a; echo x > a/x; ln -s x a/link; chmod 500 a")
    await copy_folder(source, target, owner=os.geteuid(), most=MOST, account=account)
    owners = {((target / name).lstat().st_uid, (target / name).lstat().st_gid) for name in ("a", "a/x", "a/link")}
    assert owners == {(account.uid, account.gid)}


async def test_only_what_is_asked_for_is_copied(source: Path, target: Path) -> None:
    shell(source, "mkdir -p a/b a/c d; echo > a/b/x; echo > a/y; echo > d/x; mkfifo d/fifo; ln -s /etc e")
    size = await copy_folder(source, target, owner=os.geteuid(), most=MOST, only=[("a", "b"), ("e", "f"), ("none",)])
    assert sorted(str(path.relative_to(target)) for path in target.rglob("*")) == ["a", "a/b", "a/b/x"]
    assert size == Size(3 * 4096, 3)


async def test_who_is_cancelled_ends_the_copy_first(source: Path, target: Path) -> None:
    for number in range(3_000):
        (source / str(number)).touch()
    task = asyncio.create_task(copy(source, target, Size(1 << 40, 1 << 40)))
    await asyncio.sleep(0.02)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    there = len(list(target.iterdir()))
    await asyncio.sleep(0.05)
    assert there == len(list(target.iterdir())) < 3_000
