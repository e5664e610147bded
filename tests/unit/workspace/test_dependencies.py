"""What the dependency cache keeps, for how long, and what it has when something goes wrong."""

import asyncio
import os
import stat
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from agents.testing.cache_warming import CacheWarmer
from domain.errors import ToolError
from workspace.dependency_cache import DependencyCache
from workspace.safe_copy import NotCopied, Size

KEYS = ("a" * 64, "b" * 64, "c" * 64)


@pytest.fixture
def cache(tmp_path: Path) -> DependencyCache:
    return DependencyCache(tmp_path / "kept", most_bytes=1_000_000)


def home(place: Path, content: str = "x", size: int = 1) -> Path:
    """A home in which something was downloaded, which is read-only, and something installed."""
    folder = place / f"home-{time.monotonic_ns()}"
    downloads = folder / "go/pkg/mod/tiny"
    downloads.mkdir(parents=True)
    (downloads / "tiny.go").write_text(content * size)
    downloads.chmod(0o500)
    (folder / ".local/bin").mkdir(parents=True)
    (folder / ".local/bin/tool").write_text(content)
    (folder / ".npmrc").write_text(content)
    return folder


async def keep(cache: DependencyCache, place: Path, repository_id: int, key: str, size: int = 1) -> Size:
    assert cache.may_fill(repository_id, key)
    kept = await cache.keep(repository_id, key, home(place, size=size), os.geteuid())
    used = cache.root / str(repository_id) / key
    os.utime(used, (time.time() - 100, time.time() - 100))  # so that a use within the same moment counts
    return kept


def entries(cache: DependencyCache) -> set[tuple[str, str]]:
    return {(path.parent.parent.name, path.parent.name) for path in cache.root.glob("*/*/size")}


async def test_what_was_downloaded_is_kept_and_what_was_installed_is_not(
    cache: DependencyCache, tmp_path: Path
) -> None:
    assert cache.find(1, KEYS[0]) is None
    await keep(cache, tmp_path, 1, KEYS[0])
    found = cache.find(1, KEYS[0])
    assert found is not None
    copy = tmp_path / "copy"
    copy.mkdir()
    assert await found.copy_to(copy, None) == Size(6 * 4096, 6)  # .local could lead to downloads of pnpm
    assert (copy / "go/pkg/mod/tiny/tiny.go").read_text() == "x"
    assert stat.S_IMODE((copy / "go/pkg/mod/tiny").stat().st_mode) == 0o500
    assert not any((copy / ".local").iterdir())
    assert not (copy / ".npmrc").exists()


async def test_each_repository_and_each_key_has_its_own(cache: DependencyCache, tmp_path: Path) -> None:
    await keep(cache, tmp_path, 1, KEYS[0])
    assert cache.find(2, KEYS[0]) is None
    assert cache.find(11, KEYS[0]) is None
    assert cache.find(1, KEYS[1]) is None


async def test_the_two_used_last_of_a_repository_stay(cache: DependencyCache, tmp_path: Path) -> None:
    for key in KEYS[:2]:
        await keep(cache, tmp_path, 1, key)
    await keep(cache, tmp_path, 2, KEYS[0])
    assert cache.find(1, KEYS[0])
    await keep(cache, tmp_path, 1, KEYS[2])
    assert entries(cache) == {("1", KEYS[0]), ("1", KEYS[2]), ("2", KEYS[0])}
    assert {path.name for path in cache.root.iterdir()} == {"1", "2"}


async def test_beyond_the_bytes_those_not_used_for_longest_go(cache: DependencyCache, tmp_path: Path) -> None:
    for number in (1, 2):
        await keep(cache, tmp_path, number, KEYS[0], size=400_000)
    assert cache.find(1, KEYS[0])
    await keep(cache, tmp_path, 3, KEYS[0], size=400_000)
    assert entries(cache) == {("1", KEYS[0]), ("3", KEYS[0])}
    with pytest.raises(NotCopied, match="more than 1,000,000 bytes"):
        await keep(cache, tmp_path, 4, KEYS[0], size=1_000_000)
    assert entries(cache) == {("1", KEYS[0]), ("3", KEYS[0])}


async def test_a_copy_of_what_was_removed_meanwhile_is_none(cache: DependencyCache, tmp_path: Path) -> None:
    """Also if there is one of that name again when the copy is through."""
    large = DependencyCache(cache.root, most_bytes=1 << 40)
    many = home(tmp_path)
    (many / ".cache").mkdir()
    for number in range(3_000):
        (many / ".cache" / str(number)).touch()
    assert large.may_fill(1, KEYS[0])
    await large.keep(1, KEYS[0], many, os.geteuid())
    found = cache.find(1, KEYS[0])
    assert found is not None
    copy = tmp_path / "copy"
    copy.mkdir()
    copying = asyncio.create_task(found.copy_to(copy, None))
    await asyncio.sleep(0.02)
    (cache.root / "1" / KEYS[0]).rename(tmp_path / "removed")
    await keep(cache, tmp_path, 2, KEYS[0])
    (cache.root / "2" / KEYS[0]).rename(cache.root / "1" / KEYS[0])
    with pytest.raises(NotCopied, match="it was replaced meanwhile"):
        await copying
    await cache.remove(1)
    with pytest.raises(NotCopied, match="could not be read"):
        await found.copy_to(copy, None)


async def test_who_fails_half_way_leaves_nothing(cache: DependencyCache, tmp_path: Path) -> None:
    assert cache.may_fill(1, KEYS[0])
    odd = home(tmp_path)
    (odd / ".cache").mkdir()
    os.mkfifo(odd / ".cache" / "fifo")
    with pytest.raises(NotCopied, match="fifo"):
        await cache.keep(1, KEYS[0], odd, os.geteuid())
    assert cache.find(1, KEYS[0]) is None
    assert {path.name for path in cache.root.iterdir()} == {"1"}


async def test_who_is_killed_half_way_leaves_no_entry_and_is_swept_later(
    cache: DependencyCache, tmp_path: Path
) -> None:
    """What it was making stands under another name, as long as it could still be at it."""
    assert cache.may_fill(1, KEYS[0])
    making = cache.root / "new-killed"
    (making / "home" / "go").mkdir(parents=True)
    assert cache.find(1, KEYS[0]) is None
    await keep(cache, tmp_path, 2, KEYS[0])
    assert making.exists()
    os.utime(making, (0, 0))
    await keep(cache, tmp_path, 3, KEYS[0])
    assert not making.exists()


async def test_of_two_at_once_one_is_kept(cache: DependencyCache, tmp_path: Path) -> None:
    assert cache.may_fill(1, KEYS[0])
    homes = [home(tmp_path, content) for content in "ab"]
    both = [cache.keep(1, KEYS[0], each, os.geteuid()) for each in homes]
    done = await asyncio.gather(*both, return_exceptions=True)
    assert sorted(type(each).__name__ for each in done) == ["NotCopied", "Size"]
    assert entries(cache) == {("1", KEYS[0])}
    assert {path.name for path in cache.root.iterdir()} == {"1"}


async def test_nothing_comes_back_of_a_repository_that_was_removed(cache: DependencyCache, tmp_path: Path) -> None:
    await keep(cache, tmp_path, 1, KEYS[0])
    await keep(cache, tmp_path, 2, KEYS[0])
    assert cache.may_fill(1, KEYS[1])
    await cache.remove(1)
    with pytest.raises(NotCopied, match="its name"):
        await cache.keep(1, KEYS[1], home(tmp_path), os.geteuid())
    await cache.remove(1)  # again, after a crash
    assert {path.name for path in cache.root.iterdir()} == {"2"}
    assert entries(cache) == {("2", KEYS[0])}


async def test_what_nobody_uses_goes_with_its_time(cache: DependencyCache, tmp_path: Path) -> None:
    for number in (1, 2):
        await keep(cache, tmp_path, number, KEYS[0])
    assert cache.find(2, KEYS[0])
    moment = datetime.now(UTC) - timedelta(seconds=50)
    os.utime(cache.root / "1" / "tried", (0, 0))
    assert await cache.purge(moment) == 1
    assert entries(cache) == {("2", KEYS[0])}
    assert {path.name for path in cache.root.iterdir()} == {"2"}


async def test_what_came_to_nothing_is_tried_again_after_an_hour(cache: DependencyCache) -> None:
    tried: list[str] = []
    filling = CacheWarmer(cache)

    async def fails() -> Size:
        tried.append("x")
        raise ToolError("The set-up failed.")

    for long_ago, times in ((0, 1), (3_500, 1), (3_601, 2)):
        if tried:
            then = time.time() - long_ago
            os.utime(cache.root / "1" / "tried", (then, then))
        filling.start(1, KEYS[0], fails)
        await filling.wait()
        assert len(tried) == times
    filling.start(1, KEYS[1], fails)  # another one need not wait
    await filling.wait()
    assert len(tried) == 3


async def test_one_at_a_time_and_one_of_each_repository(cache: DependencyCache, tmp_path: Path) -> None:
    filling = CacheWarmer(cache)
    at_once = most = 0
    made: list[int] = []

    def filler(number: int):
        async def fill() -> Size:
            nonlocal at_once, most
            at_once += 1
            most = max(most, at_once)
            await asyncio.sleep(0.01)
            at_once -= 1
            made.append(number)
            return await cache.keep(number, KEYS[0], home(tmp_path), os.geteuid())

        return fill

    for number in (1, 1, 2, 3):
        filling.start(number, KEYS[0], filler(number))
    await filling.wait()
    assert (most, sorted(made)) == (1, [1, 2, 3])
    assert len(entries(cache)) == 3


async def test_what_is_on_its_way_ends_with_the_process_or_the_repository(
    cache: DependencyCache, tmp_path: Path
) -> None:
    filling = CacheWarmer(cache)
    ended: list[int] = []

    async def goes_on() -> Size:
        try:
            await asyncio.sleep(600)
        finally:
            ended.append(1)
        return Size()

    filling.start(1, KEYS[0], goes_on)
    await asyncio.sleep(0.05)
    await filling.remove(1)
    assert ended == [1]
    assert not (cache.root / "1").exists()
    filling.start(2, KEYS[0], goes_on)
    await asyncio.sleep(0.05)
    await filling.close()
    filling.start(3, KEYS[0], goes_on)
    await filling.wait()
    assert ended == [1, 1]
    assert not (cache.root / "3").exists()
