"""The mirror brings the code of pull requests, whatever happened to it before."""

import asyncio
import os
import re
import signal
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from domain.errors import CodeAccessError, CommitGone, Recovery
from tests.unit.workspace.remotes import AUTHORIZATION, Author, Remote
from workspace.git import Git, TooLarge, Unrelated
from workspace.mirror import Mirror, Mirrors

PULL = "refs/pull/7/head"


def everything_below(folder: Path) -> bytes:
    return b"".join(file.read_bytes() for file in folder.rglob("*") if file.is_file())


async def review(mirror: Mirror, base: str, head: str) -> dict[str, bytes | None]:
    """Contents at head of every file that was looked into."""
    await mirror.fetch(head, base, 7)
    change = await mirror.change(await mirror.merge_base(base, head), head)
    return {path: version.head for path, version in (await mirror.versions(change.files)).items()}


async def test_a_pull_request_is_compared_with_its_merge_base(author: Author, mirror: Mirror):
    start = author.commit({"a": "1\n", "b": "1\n"})
    base = author.commit({"b": "on main\n"})
    author.git("checkout", "-q", "-b", "topic", start)
    head = author.commit({"a": "2\n"}, PULL)

    await mirror.fetch(head, base, 7)
    merge_base = await mirror.merge_base(base, head)
    change = await mirror.change(merge_base, head)
    versions = await mirror.versions(change.files)

    assert merge_base == start
    assert [file.path for file in change.files] == ["a"]
    assert (versions["a"].base, versions["a"].head) == (b"1\n", b"2\n")


async def test_blobs_come_in_one_request_and_only_once(author: Author, mirror: Mirror, remote: Remote):
    base = author.commit({f"f{i}": f"{i}\n" * 20 for i in range(30)})
    head = author.commit({f"f{i}": f"{i}\n" * 20 + "x\n" for i in range(25)}, PULL)
    await mirror.fetch(head, base, 7)
    remote.requests.clear()

    change = await mirror.change(base, head)
    await mirror.versions(change.files)
    await mirror.change(base, head)

    assert [request.split(" ")[0] for request in remote.requests] == ["GET", "POST"]
    assert len(change.files) == 25


async def test_blobs_that_did_not_change_are_not_brought(author: Author, mirror: Mirror):
    base = author.commit({"same": "never asked for\n", "other": "1\n"})
    head = author.commit({"other": "2\n"}, PULL)

    await review(mirror, base, head)

    blob = author.git("rev-parse", "HEAD:same")
    assert await mirror.sizes([blob]) == {}
    assert await mirror.sizes([author.git("rev-parse", "HEAD:other")]) != {}


async def test_what_is_there_is_not_fetched_again(author: Author, mirror: Mirror, remote: Remote):
    base = author.commit({"a": "1\n"})
    head = author.commit({"a": "2\n"}, PULL)
    await mirror.fetch(head, base, 7)
    remote.requests.clear()

    await mirror.fetch(head, base, 7)

    assert remote.requests == []


async def test_the_second_fetch_tells_the_remote_what_it_has(author: Author, mirror: Mirror):
    base = author.commit({f"d{i}/f{j}": f"{i} {j}\n" for i in range(40) for j in range(10)})
    head = author.commit({"d1/f1": "2\n"}, PULL)
    await mirror.fetch(head, base, 7)
    before = count_packed(mirror)
    newer = author.commit({"d1/f1": "3\n"}, PULL)

    await mirror.fetch(newer, base, 7)

    assert count_packed(mirror) - before <= 6  # a commit, two trees, and what they are deltas of; not all 46


def count_packed(mirror: Mirror) -> int:
    """Objects in all packs, by the size of their fan-out's last entry."""
    packs = (mirror.path / "objects" / "pack").glob("*.idx")
    return sum(int.from_bytes(pack.read_bytes()[8 + 255 * 4 : 8 + 256 * 4]) for pack in packs)


async def test_a_head_that_is_not_to_be_had_by_sha_comes_through_the_pull_request_ref(
    author: Author, mirror: Mirror, remote: Remote
):
    base = author.commit({"a": "1\n"})
    head = author.commit({"a": "from a fork\n"}, PULL)
    remote.refused = head

    assert (await review(mirror, base, head))["a"] == b"from a fork\n"


async def test_a_head_that_was_force_pushed_away_is_gone(author: Author, mirror: Mirror):
    base = author.commit({"a": "1\n"})
    author.commit({"a": "2\n"}, PULL)
    with pytest.raises(CommitGone, match="no longer part of pull request #7") as caught:
        await mirror.fetch("12" * 20, base, 7)

    assert caught.value.recovery is Recovery.stop


async def test_a_base_that_was_force_pushed_away_is_gone_and_said_so(author: Author, mirror: Mirror):
    head = author.commit({"a": "1\n"}, PULL)
    author.publish("refs/heads/main")

    with pytest.raises(CommitGone, match="base"):
        await mirror.fetch(head, "34" * 20, 7, base_ref="main")


async def test_histories_without_a_common_ancestor_cannot_be_compared(author: Author, mirror: Mirror):
    base = author.commit({"a": "1\n"})
    author.git("checkout", "-q", "--orphan", "other")
    head = author.commit({"a": "2\n"}, PULL)
    await mirror.fetch(head, base, 7)

    with pytest.raises(Unrelated, match="no common ancestor"):
        await mirror.merge_base(base, head)


async def test_branches_that_were_merged_into_each_other_have_no_single_difference(author: Author, mirror: Mirror):
    """Git would name the newer of both ancestors, and whoever commits chooses the dates."""
    author.commit({"app.py": "leak\n"})
    author.git("checkout", "-q", "-b", "note")
    note = author.commit({"docs/one.md": "A note.\n"}, "refs/heads/note")
    author.git("checkout", "-q", "main")
    fix = author.commit({"app.py": "fixed\n"})
    author.git("merge", "-q", "--no-edit", note)
    base = author.publish("refs/heads/main")
    author.git("checkout", "-q", "note")
    author.git("merge", "-q", "--no-edit", "-s", "ours", fix)
    head = author.publish(PULL)
    await mirror.fetch(head, base, 7)

    with pytest.raises(Unrelated, match="2 best common ancestors"):
        await mirror.merge_base(base, head)
    assert set(await mirror.merge_bases(base, head)) == {fix, note}


# --- credentials -------------------------------------------------------------------------------------------


async def test_credentials_reach_the_remote_but_no_disk_and_no_command_line(
    author: Author, remote: Remote, tmp_path: Path
):
    log = tmp_path / "argv"
    spy = tmp_path / "git-spy"
    spy.write_text(f'#!/bin/sh\nprintf "%s\\n" "$*" >> {log}\nexec git "$@"\n')
    spy.chmod(0o755)
    base = author.commit({"a": "1\n"})
    head = author.commit({"a": "2\n"}, PULL)

    mirror = await Mirrors(tmp_path / "mirrors", program=str(spy)).mirror(1, remote.url, AUTHORIZATION)
    assert await review(mirror, base, head) == {"a": b"2\n"}

    assert remote.headers
    assert all(headers["Authorization"] == AUTHORIZATION for headers in remote.headers)
    secret = AUTHORIZATION.split(" ")[1]
    assert "fetch" in log.read_text()
    assert secret not in log.read_text()
    assert secret.encode() not in everything_below(tmp_path / "mirrors")
    assert secret not in repr(mirror) + str(vars(mirrors_of(mirror)))


def mirrors_of(mirror: Mirror) -> object:
    return mirror._mirrors  # pyrefly: ignore[protected-access]


async def test_a_refused_credential_is_explained_and_not_repeated(author: Author, mirrors: Mirrors, remote: Remote):
    base = author.commit({"a": "1\n"})
    mirror = await mirrors.mirror(1, remote.url, "basic d3Jvbmc6d3Jvbmctc2VjcmV0")

    with pytest.raises(CodeAccessError) as caught:
        await mirror.fetch(base, base, 7)

    assert "did not let Forge read" in str(caught.value)
    assert "d3Jvbmc6" not in f"{caught.value} {caught.value.__cause__}"


async def test_a_redirect_is_not_followed(author: Author, mirror: Mirror, remote: Remote):
    base = author.commit({"a": "1\n"})
    remote.redirect = True

    with pytest.raises(CodeAccessError):
        await mirror.fetch(base, base, 7)

    assert len(remote.requests) == 1


async def test_git_gets_nothing_of_the_environment_of_forge(tmp_path: Path):
    os.environ["WEBHOOK_SECRET"] = "canary"
    os.environ["GIT_SSH_COMMAND"] = "canary"
    os.environ["HTTPS_PROXY"] = "http://proxy.example"
    printer = tmp_path / "env"
    printer.write_text("#!/bin/sh\nenv\n")
    printer.chmod(0o755)
    git = Git(None, program=str(printer))

    assert b"canary" not in (await git.run("x")).stdout
    assert b"proxy.example" not in (await git.run("x")).stdout
    assert b"proxy.example" in (await git.run("x", network=True)).stdout


@pytest.mark.parametrize(
    "url", ["ext::sh -c id", "file:///etc", "ssh://host/x", "http://user:x@host/x", "https://h/a\nb", "--upload-pack=x"]
)
async def test_only_plain_http_addresses_are_accepted(mirrors: Mirrors, url: str):
    with pytest.raises(CodeAccessError, match="address"):
        await mirrors.mirror(1, url, AUTHORIZATION)


# --- crashes and company -----------------------------------------------------------------------------------

FETCH = """
import asyncio, sys
from pathlib import Path
from workspace.mirror import Mirrors
root, url, authorization, head, base = sys.argv[1:]
async def main():
    mirror = await Mirrors(Path(root), seconds=20).mirror(1, url, authorization)
    await mirror.fetch(head, base, 7)
    change = await mirror.change(await mirror.merge_base(base, head), head)
    print(len(await mirror.versions(change.files)))
asyncio.run(main())
"""


async def another_process(mirrors: Mirrors, remote: Remote, head: str, base: str) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", FETCH, str(mirrors.root), remote.url, AUTHORIZATION, head, base),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )


async def test_a_fetch_that_was_killed_does_not_harm_the_next(author: Author, mirrors: Mirrors, remote: Remote):
    base = author.commit({"a": "1\n"})
    head = author.commit({"a": "2\n"}, PULL)
    remote.stall = asyncio.Event()
    process = await another_process(mirrors, remote, head, base)
    await remote.started.wait()

    process.send_signal(signal.SIGKILL)
    await process.wait()
    remote.stall.set()

    mirror = await mirrors.mirror(1, remote.url, AUTHORIZATION)
    assert await review(mirror, base, head) == {"a": b"2\n"}


async def test_the_lock_outlives_a_killed_forge_as_long_as_its_git_runs(
    author: Author, mirrors: Mirrors, remote: Remote
):
    base = author.commit({"a": "1\n"})
    remote.stall = asyncio.Event()
    process = await another_process(mirrors, remote, base, base)
    await remote.started.wait()
    process.send_signal(signal.SIGKILL)
    await process.wait()

    with pytest.raises(CodeAccessError, match="in use"):
        async with mirrors.exclusive(1, seconds=0.1):
            pass
    remote.stall.set()
    async with mirrors.exclusive(1, seconds=10):
        pass


async def test_lock_files_of_a_killed_git_do_not_block(author: Author, mirror: Mirror):
    base = author.commit({"a": "1\n"})
    head = author.commit({"a": "2\n"}, PULL)
    (mirror.path / "refs/forge/7").mkdir(parents=True)
    locks = [mirror.path / name for name in ("refs/forge/7/head.lock", "packed-refs.lock", "config.lock", "HEAD.lock")]
    for lock in locks:
        lock.touch()

    assert await review(mirror, base, head) == {"a": b"2\n"}
    assert not any(lock.exists() for lock in locks)


@pytest.mark.parametrize("damage", ["config", "HEAD", "objects", "empty folder"])
async def test_a_half_made_mirror_is_made_anew(author: Author, mirrors: Mirrors, remote: Remote, damage: str):
    base = author.commit({"a": "1\n"})
    head = author.commit({"a": "2\n"}, PULL)
    path = (await mirrors.mirror(1, remote.url, AUTHORIZATION)).path
    for item in sorted(path.rglob("*"), reverse=True):
        if damage in {item.name, "empty folder"}:
            item.rmdir() if item.is_dir() and not any(item.iterdir()) else item.rename(path.parent / f"x{item.name}")

    mirror = await mirrors.mirror(1, remote.url, AUTHORIZATION)

    assert await review(mirror, base, head) == {"a": b"2\n"}


@pytest.mark.parametrize("damage", ["empty packs", "garbage in packed-refs", "refs to nothing"])
async def test_a_damaged_mirror_is_made_anew(author: Author, mirror: Mirror, damage: str):
    base = author.commit({"a": "1\n"})
    head = author.commit({"a": "2\n"}, PULL)
    await mirror.fetch(base, base, 7)
    if damage == "empty packs":
        for pack in (mirror.path / "objects/pack").iterdir():
            pack.chmod(0o600)
            pack.write_bytes(b"")
    elif damage == "garbage in packed-refs":
        (mirror.path / "packed-refs").write_bytes(b"\0" * 100)
    else:
        (mirror.path / "refs/forge/7/base").write_text("12" * 20)

    assert await review(mirror, base, head) == {"a": b"2\n"}


async def test_damage_found_while_reading_is_repaired_by_the_next_attempt(
    author: Author, mirrors: Mirrors, remote: Remote
):
    base = author.commit({"d/a": "1\n"})
    head = author.commit({"d/a": "2\n"}, PULL)
    mirror = await mirrors.mirror(1, remote.url, AUTHORIZATION)
    await review(mirror, base, head)
    for pack in packs_out_of_the_way(mirror):
        await mirror.git.run("unpack-objects", "-q", stdin=pack)
    tree = author.git("rev-parse", f"{head}:d")
    (mirror.path / "objects" / tree[:2] / tree[2:]).unlink()

    with pytest.raises(CodeAccessError) as caught:
        await review(mirror, base, head)
    assert caught.value.recovery is Recovery.retry
    with pytest.raises(CodeAccessError, match="no longer there"):
        await mirror.merge_base(base, head)

    mirror = await mirrors.mirror(1, remote.url, AUTHORIZATION)
    assert await review(mirror, base, head) == {"d/a": b"2\n"}


def packs_out_of_the_way(mirror: Mirror) -> list[bytes]:
    """The contents of all packs, which are removed."""
    contents: list[bytes] = []
    for file in (mirror.path / "objects/pack").iterdir():
        contents += [file.read_bytes()] if file.suffix == ".pack" else []
        file.unlink()
    return contents


async def test_two_processes_and_several_tasks_use_one_mirror(author: Author, mirrors: Mirrors, remote: Remote):
    base = author.commit({"a": "1\n"})
    head = author.commit({"a": "2\n"}, PULL)

    async def task() -> dict[str, bytes | None]:
        return await review(await mirrors.mirror(1, remote.url, AUTHORIZATION), base, head)

    processes = [await another_process(mirrors, remote, head, base) for _ in range(2)]
    mine = await asyncio.gather(*(task() for _ in range(4)))
    outputs = [await process.communicate() for process in processes]

    assert mine == [{"a": b"2\n"}] * 4
    assert [output for output, _ in outputs] == [b"1\n"] * 2, outputs


async def test_cancelling_ends_git_and_frees_the_mirror(author: Author, mirrors: Mirrors, remote: Remote):
    base = author.commit({"a": "1\n"})
    mirror = await mirrors.mirror(1, remote.url, AUTHORIZATION)
    remote.stall = asyncio.Event()
    fetching = asyncio.create_task(mirror.fetch(base, base, 7))
    await remote.started.wait()
    assert processes_about(mirror.path)

    fetching.cancel()
    with pytest.raises(asyncio.CancelledError):
        await fetching

    assert not processes_about(mirror.path)
    async with mirrors.exclusive(1, seconds=0):
        pass


async def test_a_remote_that_does_not_answer_is_given_up(author: Author, remote: Remote, tmp_path: Path):
    base = author.commit({"a": "1\n"})
    mirror = await Mirrors(tmp_path / "mirrors", seconds=0.5).mirror(1, remote.url, AUTHORIZATION)
    remote.stall = asyncio.Event()

    with pytest.raises(CodeAccessError, match=r"longer than 0\.5 seconds") as caught:
        await mirror.fetch(base, base, 7)

    assert caught.value.recovery is Recovery.retry
    assert not processes_about(mirror.path)


def processes_about(path: Path) -> list[str]:
    """Processes of git on a repository."""
    found: list[str] = []
    for environment in Path("/proc").glob("[0-9]*/environ"):
        try:
            if f"GIT_DIR={path}\0".encode() in environment.read_bytes():
                found.append(environment.parent.name)
        except OSError:
            continue
    return found


async def test_many_packs_are_made_one(author: Author, mirror: Mirror):
    base = author.commit({"a": "1\n"})
    mirror.most_packs = 3
    head = base
    for i in range(4):
        head = author.commit({"a": f"{i}\n"}, PULL)
        await review(mirror, base, head)
    newest = author.commit({"a": "newest\n"}, PULL)

    assert await review(mirror, base, newest) == {"a": b"newest\n"}
    assert len(list((mirror.path / "objects/pack").glob("*.pack"))) <= 3 + 2
    assert await review(mirror, base, head) == {"a": b"3\n"}


# --- space -------------------------------------------------------------------------------------------------


async def test_mirrors_not_used_for_long_are_purged(author: Author, mirrors: Mirrors, remote: Remote):
    old = await mirrors.mirror(1, remote.url, AUTHORIZATION)
    new = await mirrors.mirror(2, remote.url, AUTHORIZATION)
    an_hour_ago = (datetime.now(UTC) - timedelta(hours=1)).timestamp()
    os.utime(mirrors.root / "1.lock", (an_hour_ago, an_hour_ago))

    assert await mirrors.purge(datetime.now(UTC) - timedelta(minutes=30)) == [1]
    assert (old.path.exists(), new.path.exists()) == (False, True)
    assert sorted(path.name for path in mirrors.root.iterdir()) == ["2.git", "2.lock"]


async def test_using_a_mirror_keeps_it(mirrors: Mirrors, remote: Remote):
    await mirrors.mirror(1, remote.url, AUTHORIZATION)
    os.utime(mirrors.root / "1.lock", (0, 0))
    await mirrors.mirror(1, remote.url, AUTHORIZATION)
    assert await mirrors.purge(datetime.now(UTC) - timedelta(minutes=30)) == []


async def test_a_mirror_in_use_is_not_purged(mirrors: Mirrors, remote: Remote):
    mirror = await mirrors.mirror(1, remote.url, AUTHORIZATION)
    async with mirrors.exclusive(1):
        assert await Mirrors(mirrors.root).purge(datetime.now(UTC) + timedelta(days=1)) == []
    assert mirror.path.exists()


async def test_beyond_the_limit_the_least_recently_used_mirror_goes(author: Author, mirrors: Mirrors, remote: Remote):
    base = author.commit({"a": "1\n"})
    old = await mirrors.mirror(1, remote.url, AUTHORIZATION)
    (old.path / "ballast").write_bytes(b"x" * 1_000_000)
    new = await mirrors.mirror(2, remote.url, AUTHORIZATION)
    mirrors.most_bytes = 900_000

    await new.fetch(base, base, 7)

    assert (old.path.exists(), new.path.exists()) == (False, True)


async def test_a_repository_that_fills_the_space_alone_is_refused(author: Author, mirrors: Mirrors, remote: Remote):
    base = author.commit({"a": "1\n"})
    mirror = await mirrors.mirror(1, remote.url, AUTHORIZATION)
    (mirror.path / "ballast").write_bytes(b"x" * 1_000_000)
    mirrors.most_bytes = 900_000

    with pytest.raises(TooLarge, match=re.escape("900,000")):
        await mirror.fetch(base, base, 7)


async def test_output_beyond_the_limit_is_refused(author: Author, mirror: Mirror):
    base = author.commit({"a": "1\n" * 1000})
    await mirror.fetch(base, base, 7)
    await mirror.fetch_blobs([author.git("rev-parse", "HEAD:a")])

    with pytest.raises(TooLarge):
        await mirror.git.run("cat-file", "-p", f"{base}:a", most=100)


async def test_packages_are_what_can_be_imported_from_the_top_or_from_src(author: Author, mirror: Mirror):
    files = {"shop/__init__.py": "", "src/tools/x.py": "", "run.py": "", "setup-x.py": "", "a.txt": "", "my-docs/a": ""}
    head = author.commit(files, PULL)
    await mirror.fetch(head, head, 7)
    assert await mirror.packages(head) == ("run", "shop", "src", "tools")

    head = author.commit(dict.fromkeys(files) | {"README": ""}, PULL)
    await mirror.fetch(head, head, 7)
    assert await mirror.packages(head) == ()


async def test_the_default_branch_is_what_the_remote_says_now(author: Author, mirror: Mirror) -> None:
    assert await mirror.fetch_default() is None
    first = author.commit({"a": "1"})
    author.commit({"a": "2"}, "refs/heads/HEAD")
    assert await mirror.fetch_default() == first
    second = author.commit({"a": "3"})
    assert await mirror.fetch_default() == second
    assert await mirror.read(second, ["a"]) == {"a": b"3"}
    author.git("push", "-q", str(author.remote), f"{first}:refs/heads/trunk")
    author.git("-C", str(author.remote), "symbolic-ref", "HEAD", "refs/heads/trunk")
    assert await mirror.fetch_default() == first
