"""What a repository's own commands can do on the files of a commit, which they may change, and what Forge reads."""

import asyncio
import os
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from domain.errors import CodeAccessError, ToolError
from tests.threats.levels import at_each_level
from tests.unit.sandbox.machine import has_bubblewrap, is_gone, mark_seconds
from tests.unit.workspace.remotes import Author
from workspace.checkout import QUOTA, Checkout, check_out
from workspace.git import Git
from workspace.objects import Objects
from workspace.sandbox import probing
from workspace.sandbox.sandbox import BUBBLEWRAP, LIMITS, Completed, Quota, Sandbox, SandboxCommand


@asynccontextmanager
async def checkout_of(author: Author, level: int, quota: Quota = QUOTA, sha: str = "") -> AsyncGenerator[Checkout]:
    """The author's files, or one small file, at a level."""
    sha = sha or author.commit({"file.txt": "content\n"})
    every = await probing.make_sandbox()
    sandbox = Sandbox([known for known in every.levels if known.level in {LIMITS, level}], every.account)
    async with check_out(Objects(Git(author.remote)), sha, sandbox, quota=quota) as checkout:
        assert checkout.level == level
        yield checkout


async def shell(checkout: Checkout, script: str, seconds: float = 30) -> Completed:
    return await checkout.run(["sh", "-c", script], seconds=seconds)


def text(done: Completed) -> str:
    return done.stdout.data.decode(errors="replace").strip()


# T-S1: where it may write, and what it finds


@at_each_level
async def test_t_s1_only_what_is_its_own_can_be_changed(author: Author, level: int, place: Path) -> None:
    script = f"""
for place in .. / /usr /etc /var/tmp /root {place} {author.remote}; do
    echo x > $place/left-4711 && echo "wrote to $place"
    mkdir $place/folder-4711 && echo "made a folder in $place"
    ln file.txt $place/link-4711 && echo "linked into $place"
    mv file.txt $place/moved-4711 && echo "moved to $place"
done 2> /dev/null
for place in . $FORGE_RESULTS $HOME $TMPDIR; do echo x > $place/left-4711 || echo "could not write to $place"; done
echo end
"""
    async with checkout_of(author, level) as checkout:
        assert text(await shell(checkout, script)) == "end"
    assert {path.name for path in place.iterdir()} == {"remotes"}


@at_each_level
async def test_t_s1_its_folders_cannot_be_replaced(author: Author, level: int) -> None:
    script = """
folder=$(cd .. && pwd)
for name in code results home; do
    mv $folder/$name $folder/$name.old; rmdir $folder/$name; rm -rf $folder/$name; ln -sfT /etc $folder/$name
    chmod 777 $folder; python3 -c "import os; os.symlink('/etc', '$folder/x'); os.rename('$folder/x', '$folder/$name')"
done
echo made > code-is-still-here; echo result > $FORGE_RESULTS/report; mkdir -p $HOME
"""
    async with checkout_of(author, level) as checkout:
        await shell(checkout, script)
        assert text(await shell(checkout, "ls; cat code-is-still-here")) == "code-is-still-here\nmade"
        assert await checkout.result("report", 100) == b"result\n"
        assert await checkout.result("passwd", 100_000) is None


@at_each_level
async def test_t_s1_git_has_nothing_there(author: Author, level: int) -> None:
    script = f"""
ls -A; ls -A ..
ls {author.remote} {author.remote}/objects {author.tree}/.git && echo found
cat {author.remote}/HEAD {author.remote}/config && echo read
find / -name '*.git' -not -path '/usr/*' -not -path '/opt/*' -not -path '/proc/*'
"""
    async with checkout_of(author, level) as checkout:
        assert text(await shell(checkout, script)) == "file.txt\ncode\nhome\nresults"


@at_each_level
async def test_t_s1_no_file_of_the_host_is_opened_for_it(author: Author, level: int, place: Path) -> None:
    """A program of Forge's outside the system's folders is handed in as an open file; a repository cannot name one."""
    program = place / "program"
    program.write_text("#!/bin/sh\necho of the host\n")
    program.chmod(0o755)
    async with checkout_of(author, level) as checkout:
        done = await checkout.run([str(program)], seconds=30)
        assert (done.status, text(done)) in [(126, ""), (127, "")]


@at_each_level
async def test_t_s1_its_environment_is_its_own(author: Author, level: int, place: Path) -> None:
    """No secrets come in, and what is set for it takes effect inside only: here it would leave a trace outside."""
    for name in ("FORGE_PRIVATE_KEY", "FORGE_WEBHOOK_SECRET", "GITHUB_TOKEN", "GH_TOKEN", "ANTHROPIC_API_KEY"):
        os.environ[name] = "canary-4711"
    async with checkout_of(author, level) as checkout:
        done = await checkout.run(["env", "-0"], seconds=30, environment={"MINE": "two words\nand a line"})
        loading = {"LD_DEBUG": "files", "LD_DEBUG_OUTPUT": str(place / "trace")}
        assert (await checkout.run(["true"], seconds=30, environment=loading)).status == 0
    assert not list(place.glob("trace*"))
    assert "canary" not in text(done)
    found = dict(pair.split("=", 1) for pair in text(done).split("\0") if pair)
    assert found.pop("MINE") == "two words\nand a line"
    own = {"CI", "FORGE_RESULTS", "HOME", "LANG", "NO_COLOR", "PATH", "TMPDIR", "PWD", "OLDPWD", "SHLVL", "_"}
    assert found.keys() <= own


async def test_t_s1_at_level_1_nothing_may_be_changed() -> None:
    sandbox = await probing.make_sandbox()
    with sandbox.folder() as folder:
        (folder / "open").mkdir()
        with pytest.raises(ToolError, match="level 1 contains nothing"):
            await sandbox.run(SandboxCommand(("/bin/true",), folder, writable=("open",)), LIMITS)


# T-S2: how much it may leave

WILD = {
    "many bytes": "i=0; while head -c 3000000 /dev/zero > $i; do i=$((i+1)); done; sleep 20",
    "many files": "i=0; while : > $i; do i=$((i+1)); done; sleep 20",
    "many folders": "i=0; while mkdir $i; do i=$((i+1)); done; sleep 20",
    "too deep": "i=0; while [ $i -lt 150 ]; do mkdir d && cd d; i=$((i+1)); done; sleep 20",
    "ended before anybody looked": "head -c 30000000 /dev/zero > x",
}
SMALL = Quota(bytes=20_000_000, files=1_000)


@at_each_level
@pytest.mark.parametrize("how", WILD)
@pytest.mark.parametrize("where", ["$PWD", "$FORGE_RESULTS", "$HOME"])
async def test_t_s2_who_leaves_too_much_is_stopped_and_told(author: Author, level: int, how: str, where: str) -> None:
    async with checkout_of(author, level, SMALL) as checkout:
        done = await shell(checkout, f"cd {where}; {WILD[how]}", seconds=19)
    assert done.status is None
    assert done.seconds < 15
    assert "Stopped: it left more than 20,000,000 bytes or 1,000 files" in done.stderr.data.decode()


@pytest.mark.skipif(not has_bubblewrap(), reason="no bwrap here")
@pytest.mark.parametrize("where", ["/tmp", "/dev/shm"])
async def test_t_s2_files_in_memory_are_counted_too(author: Author, where: str) -> None:
    """Empty ones take none of the bytes that are allowed there."""
    async with checkout_of(author, BUBBLEWRAP, SMALL) as checkout:
        done = await shell(checkout, f"cd {where}; {WILD['many files']}", seconds=19)
    assert done.status is None
    assert "Stopped: it left more than 20,000,000 bytes or 1,000 files" in done.stderr.data.decode()


@at_each_level
async def test_t_s2_who_leaves_little_is_not(author: Author, level: int) -> None:
    """Files count by what they take, links by themselves, and what is gone again does not count."""
    script = """
ln -s / all; ln -s .. up
truncate -s 100000000 holes
for i in 1 2 3 4 5 6 7 8; do head -c 9000000 /dev/zero > x; rm x; mkdir $i; sleep 0.1; done
echo end
"""
    async with checkout_of(author, level, SMALL) as checkout:
        done = await shell(checkout, script)
    assert (done.status, text(done), done.stderr.data) == (0, "end", b"")


@at_each_level
async def test_t_s2_a_file_has_a_largest_size(author: Author, level: int) -> None:
    async with checkout_of(author, level) as checkout:
        done = await shell(checkout, "head -c 300000000 /dev/zero > x; stat -c %s x")
    assert int(text(done)) == 256 << 20


# T-S3: what outlives it


@at_each_level
async def test_t_s3_nothing_survives_a_command(author: Author, level: int) -> None:
    marker = mark_seconds(130 + level)
    script = f"setsid nohup sh -c \"trap '' TERM HUP; sleep {marker}\" > /dev/null 2>&1 & sleep 0.3; echo ended"
    async with checkout_of(author, level) as checkout:
        done = await shell(checkout, script)
        assert (done.status, text(done)) == (0, "ended")
        assert await is_gone(marker)


# T-S4: what it can reach


@at_each_level
async def test_t_s4_there_is_no_network(author: Author, level: int, place: Path) -> None:
    script = """
import socket, sys
for family, address in ((socket.AF_INET, ("127.0.0.1", int(sys.argv[1]))), (socket.AF_UNIX, sys.argv[2])):
    try:
        with socket.socket(family) as connection:
            connection.settimeout(2)
            connection.connect(address)
        print("reached", address)
    except OSError:
        print("refused")
"""
    path = str(place / "socket")
    with socket.create_server(("127.0.0.1", 0)) as listening, socket.socket(socket.AF_UNIX) as local:
        local.bind(path)
        Path(path).chmod(0o777)
        local.listen()
        port = str(listening.getsockname()[1])
        async with checkout_of(author, level) as checkout:
            done = await checkout.run(["python3", "-c", script, port, path], seconds=30)
    assert text(done) == "refused\nrefused"


# T-S6: what is kept


@at_each_level
async def test_t_s6_a_command_finds_what_the_one_before_left_and_no_other_checkout_does(
    author: Author, level: int
) -> None:
    async with checkout_of(author, level) as checkout:
        setup = (
            "printf '#!/bin/sh\\necho ready\\n' > tool; python3 -c 'import os; os.fchmod(os.open(\"tool\", 0), 448)'"
        )
        await shell(checkout, f"{setup}; echo one > file.txt; echo two > $HOME/x; echo three > $FORGE_RESULTS/x")
        done = await shell(checkout, "./tool; cat file.txt $HOME/x $FORGE_RESULTS/x")
        assert text(done) == "ready\none\ntwo\nthree"
    async with checkout_of(author, level) as checkout:
        assert text(await shell(checkout, "cat file.txt; ls; ls -A $HOME; ls -A $FORGE_RESULTS")) == "content\nfile.txt"


# T-R: what Forge reads of what it left, and what a commit holds

LINKS = {
    "to a file of the host": "ln -s /etc/passwd report",
    "to another result": "echo x > other; ln -s other report",
    "to nothing": "ln -s nowhere report",
}
NO_FILES = {
    "folder": "mkdir report",
    "FIFO": "mkfifo report",
    "FIFO in its place": "echo x > report; rm report; mkfifo report",
    "huge file": "head -c 1000000 /dev/zero > report",
    "huge file of holes": "truncate -s 200000000 report",
}


@at_each_level
@pytest.mark.parametrize("what", LINKS)
async def test_t_r1_no_link_is_followed_to_a_result(author: Author, level: int, what: str) -> None:
    assert "could not be read" in await _get_refusal(author, level, LINKS[what])


@at_each_level
@pytest.mark.parametrize("what", NO_FILES)
async def test_t_r10_what_is_no_result_is_refused_at_once(author: Author, level: int, what: str) -> None:
    expected = "more than 1,000 bytes" if what.startswith("huge") else "not a regular file"
    assert expected in await _get_refusal(author, level, NO_FILES[what])


async def _get_refusal(author: Author, level: int, script: str) -> str:
    """Why what a script left as its report is not read."""
    async with checkout_of(author, level) as checkout:
        await shell(checkout, f"cd $FORGE_RESULTS; {script}")
        with pytest.raises(ToolError, match="The result report") as error:
            async with asyncio.timeout(10):
                await checkout.result("report", 1000)
    return str(error.value)


@at_each_level
async def test_t_r1_no_file_of_another_becomes_a_result(author: Author, level: int) -> None:
    places = "/etc/passwd /etc/hostname /etc/ld.so.cache /usr/bin/env /proc/self/environ"
    script = f"for place in {places}; do ln $place $FORGE_RESULTS/$(basename $place); done; ls $FORGE_RESULTS"
    async with checkout_of(author, level) as checkout:
        assert text(await shell(checkout, script)) == ""


def _hostile(author: Author) -> str:
    """A commit of everything that could make a checkout run or write something else."""
    gitlink = author.commit({"a": "a"})
    author.write(
        {
            ".gitmodules": f'[submodule "sub"]\n\tpath = sub\n\turl = {author.remote}\n\tupdate = !touch ran\n',
            ".gitconfig": '[filter "evil"]\n\tsmudge = touch ran\n',
            "--help": "option\n",
            "-rf": "option\n",
            "$(touch ran)": "shell\n",
            b'line\nbreak "quoted"\\ \xff': "odd\n",
            "hooks/post-checkout": "#!/bin/sh\ntouch ran\n",
        }
    )
    (author.tree / "hooks" / "post-checkout").chmod(0o755)
    author.git("add", "-A", ".")
    special = {
        ".gitattributes": (100644, b"* ident eol=crlf text filter=evil working-tree-encoding=UTF-16 export-ignore\n"),
        "deep/.gitattributes": (100644, b"[attr]all ident text eol=crlf\n*.txt all\n"),
        "deep/ident.txt": (100644, b"$Id$\nline\r\nline\n"),
        "link": (120000, b"/etc/passwd"),
    }
    blobs = {path: author.git("hash-object", "-w", "--stdin", stdin=content) for path, (_, content) in special.items()}
    entries = [f"{mode},{blobs[path]},{path}" for path, (mode, _) in special.items()]
    entries.append(f"160000,{gitlink},sub")
    for entry in entries:
        author.git("update-index", "--add", "--cacheinfo", entry)
    author.git("commit", "-q", "-m", "x")
    return author.publish("refs/heads/main")


@at_each_level
async def test_t_r3_a_commit_is_written_as_it_is_and_runs_nothing(author: Author, level: int) -> None:
    script = """
import os, sys
for folder, folders, files in os.walk(b"."):
    for name in sorted(files + folders):
        path = os.path.join(folder, name)
        kind = "l" if os.path.islink(path) else "d" if os.path.isdir(path) else "x" if os.access(path, os.X_OK) else "-"
        print(kind, path[2:], b"" if kind in "dl" else open(path, "rb").read())
"""
    sha = _hostile(author)
    async with checkout_of(author, level, sha=sha) as checkout:
        done = await checkout.run(["python3", "-c", script], seconds=30)
    lines = set(text(done).splitlines())
    raw = author.git("ls-tree", "-r", "-z", "--name-only", sha).split("\0")[:-1]
    assert len([line for line in lines if not line.startswith("d")]) == len(raw) - 1
    assert lines >= {
        f"- {b'deep/ident.txt'} {b'$Id$' + bytes([10]) + b'line' + bytes([13, 10]) + b'line' + bytes([10])}",
        f"- {b'link'} {b'/etc/passwd'}",
        f"d {b'sub'} {b''}",
        f"x {b'hooks/post-checkout'} {b'#!/bin/sh' + bytes([10]) + b'touch ran' + bytes([10])}",
    }
    names = {line.split(" ", 1)[1] for line in lines}
    for name in (b"--help", b"-rf", b"$(touch ran)", b'line\nbreak "quoted"\\ \xff', b".gitattributes"):
        assert any(found.startswith(f"{name!r} ") for found in names)
    assert not any(line.startswith("l") or "'ran'" in line for line in lines)


@at_each_level
async def test_t_r3_a_git_folder_in_a_commit_is_not_written(author: Author, level: int) -> None:
    """GitHub takes no such commit; git writes no such path."""
    blob = author.git("hash-object", "-w", "--stdin", stdin=b"[core]\n\tfsmonitor = touch ran\n")
    inner = author.git("mktree", stdin=f"100644 blob {blob}\tconfig\n".encode())
    tree = author.git("mktree", stdin=f"040000 tree {inner}\t.git\n".encode())
    author.git("push", "-q", str(author.remote), f"{author.git('commit-tree', tree, '-m', 'x')}:refs/heads/evil")
    with pytest.raises(CodeAccessError, match="invalid path"):
        async with checkout_of(author, level, sha=author.git("-C", str(author.remote), "rev-parse", "refs/heads/evil")):
            pytest.fail("it was written")
