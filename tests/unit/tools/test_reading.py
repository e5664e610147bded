"""An agent reads what a commit holds: all that it may see, and nothing else."""

import asyncio
import os
import time
from dataclasses import replace

import pytest

from agents.loop.tools.tool import LONGEST_ANSWER
from tests.unit.tools.conftest import Opened
from tests.unit.workspace.remotes import Author, Remote
from workspace.mirror import Mirror
from workspace.snapshot import BOUNDS

FILES = {
    "src/app.py": "import os\n\ndef main():\n    return os\n",
    "src/deep/er/x.py": "x = 1\n",
    "README.md": "Read\n",
}
TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
KEY = (
    "-----BEGIN RSA PRIVATE KEY-----\n"
    + "MIIEowIBAAKCAQEAx7Vqk3Zt9fXw2Lr8Yb5Nc1Hs6Jd4Gp0Mu7Qe3Ta9Ov2Ki5Rz8\n" * 3
    + "-----END RSA PRIVATE KEY-----\n"
)


# --- read_file ---------------------------------------------------------------------------------------------


async def test_a_file_is_shown_with_numbers(author: Author, opened: Opened) -> None:
    call = await opened(author.commit(FILES))
    outcome = await call("read_file", path="src/app.py")
    assert not outcome.is_error
    assert outcome.text == ("src/app.py, lines 1-4 of 4.\n1\timport os\n2\t\n3\tdef main():\n4\t    return os")


async def test_a_part_says_how_to_go_on(author: Author, opened: Opened) -> None:
    call = await opened(author.commit(FILES))
    outcome = await call("read_file", path="./src/app.py", first_line=2, lines=2)
    assert outcome.text == "src/app.py, lines 2-3 of 4. Go on with first_line=4.\n2\t\n3\tdef main():"
    assert "ends with line 4" in (await call("read_file", path="src/app.py", first_line=5)).text


async def test_a_long_file_is_read_to_its_end_in_pages(author: Author, opened: Opened) -> None:
    call = await opened(author.commit({"long": "".join(f"{i} {'y' * 90}\n" for i in range(1, 1001))}))
    first, seen = 1, list[str]()
    while first:
        text = (await call("read_file", path="long", first_line=first, lines=2000)).text
        assert len(text) < LONGEST_ANSWER
        head, *lines = text.split("\n")
        seen += [line.split("\t")[0] for line in lines]
        first = int(head.rpartition("=")[2].rstrip(".")) if "=" in head else 0
    assert seen == [str(i) for i in range(1, 1001)]


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("../x", "could lead elsewhere"),
        ("/etc/passwd", "absolute"),
        (".git/config", "leads into .git"),
        ("src", "It is a folder"),
        ("app.py", "Of the same name there is: src/app.py"),
        ("nothing", "Find it with glob"),
        ("", "is empty"),
        ("a\0b", "control character"),
        ("link", "symbolic link"),
        ("module", "submodule"),
        ("binary", "binary file"),
        ("large", "too large"),
        ("odd\\nname", "control characters"),
    ],
)
async def test_what_cannot_be_read_is_refused_with_a_reason(
    author: Author, opened: Opened, path: str, says: str
) -> None:
    (author.tree / "link").symlink_to("/etc/passwd")
    author.git("update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},module")
    author.write({**FILES, "binary": b"\x89PNG\0\0", "large": "z\n" * 600_000, "odd\nname": "x\n"})
    author.git("add", "link", "src", "binary", "large", "odd\nname")
    author.git("commit", "-q", "-m", "x")
    call = await opened(author.publish("refs/heads/main"))

    outcome = await call("read_file", path=path)

    assert outcome.is_error
    assert says in outcome.text


async def test_bytes_that_are_not_utf8_and_hidden_characters(author: Author, opened: Opened) -> None:
    call = await opened(author.commit({"a": b"caf\xe9 \xe2\x80\xaeabc\r\n\xe2\x80\xa8two\n"}))
    assert (await call("read_file", path="a")).text == "a, lines 1-2 of 2.\n1\tcaf� abc\n2\t two"
    assert (await call("grep", pattern="abc")).text == "a:1:caf� abc"


async def test_an_empty_file(author: Author, opened: Opened) -> None:
    call = await opened(author.commit({"a": ""}))
    assert (await call("read_file", path="a")).text == "a is empty."


# --- glob --------------------------------------------------------------------------------------------------


async def test_glob_lists_in_order(author: Author, opened: Opened) -> None:
    call = await opened(author.commit(FILES))
    assert (await call("glob", pattern="**/*.py")).text == "src/app.py\nsrc/deep/er/x.py"
    assert (await call("glob", pattern="src/*")).text == "src/app.py"
    assert (await call("glob", pattern="src/**/e*/**/x.p?")).text == "src/deep/er/x.py"
    assert (await call("glob", pattern="README.md")).text == "README.md"
    assert "No path that is shown matches *.rs" in (await call("glob", pattern="*.rs")).text
    assert (await call("glob", pattern="*.{py,md}")).text == "README.md"
    assert (await call("glob", pattern="{src/[ab]pp,README}.*")).text == "README.md\nsrc/app.py"


async def test_many_paths_are_bounded_and_counted(author: Author, opened: Opened) -> None:
    call = await opened(author.commit({f"f{i:04}": "x" for i in range(600)}))
    lines = (await call("glob", pattern="**")).text.split("\n")
    assert (lines[0], lines[499], lines[500]) == ("f0000", "f0499", "[100 files more. Use a narrower pattern.]")


@pytest.mark.parametrize("pattern", ["../*", "/etc/*", "!a", "a\\b", ""])
async def test_a_glob_that_is_none(author: Author, opened: Opened, pattern: str) -> None:
    call = await opened(author.commit(FILES))
    assert (await call("glob", pattern=pattern)).is_error


async def test_names_that_are_made_to_confuse(author: Author, opened: Opened) -> None:
    names = ['quo"te', ":(top)x", "-O", "--open-files-in-pager", "a:3:b", "sp ace", "*", "new\nline", b"\xff"]
    call = await opened(author.commit({os.fsencode(name): "needle\n" for name in names}))
    odd = "a file with control characters or no UTF-8 in its name"
    ordinary = ["*", "--open-files-in-pager", "-O", ":(top)x", "a:3:b", 'quo"te', "sp ace"]

    listed = (await call("glob", pattern="**")).text.split("\n")
    found = (await call("grep", pattern="needle")).text.split("\n")

    assert sorted(listed) == sorted([*ordinary, f"new\\nline ({odd})", f"\\xff ({odd})"])
    assert found == [*(f"{name}:1:needle" for name in ordinary), "[2 files left out: links, submodules, or odd names.]"]
    for name in ordinary:
        assert (await call("read_file", path=name)).text.endswith("1\tneedle")


# --- grep --------------------------------------------------------------------------------------------------


async def test_grep_finds_lines(author: Author, opened: Opened) -> None:
    call = await opened(author.commit(FILES))
    assert (await call("grep", pattern="os$")).text == "src/app.py:1:import os\nsrc/app.py:4:    return os"
    assert (await call("grep", pattern="READ", ignore_case=True)).text == "README.md:1:Read"
    assert (await call("grep", pattern="main()", fixed=True)).text == "src/app.py:3:def main():"
    assert (await call("grep", pattern="[a-z]", glob="src/deep/**")).text == "src/deep/er/x.py:1:x = 1"
    assert (await call("grep", pattern="nowhere")).text == "No line matches in 3 files."
    assert "No path" in (await call("grep", pattern="x", glob="*.rs")).text


async def test_an_empty_line_is_found_where_there_is_one(author: Author, opened: Opened) -> None:
    call = await opened(author.commit({"a": "1\n\n2\n", "b": "1\n", "c": "1", "d": ""}))
    assert (await call("grep", pattern="^$")).text == "a:2:"
    assert (await call("grep", pattern="x*")).text.split("\n") == ["a:1:1", "a:2:", "a:3:2", "b:1:1", "c:1:1"]


@pytest.mark.parametrize("fixed", [True, False])
@pytest.mark.parametrize("text", ["--open-files-in-pager=touch pwned", "-O", "--", "-e", "--no-index", "HEAD"])
async def test_a_pattern_is_never_an_option(author: Author, opened: Opened, text: str, fixed: bool) -> None:
    call = await opened(author.commit({"a": f"1\n{text}\n"}))
    assert (await call("grep", pattern=text, fixed=fixed)).text == f"a:2:{text}"


@pytest.mark.parametrize(
    "pattern",
    ["(a+)+$", "(a|a)*b", "(.*)(.*)(.*)(.*)x", "((((a{1,255}){1,255}){1,255}){1,255})", "(" * 240 + ")" * 240],
)
async def test_a_hostile_pattern_ends_in_time(author: Author, opened: Opened, pattern: str) -> None:
    files = {"long": "a" * 900_000 + "!\n", "short": "needle\n"}
    call = await opened(author.commit(files), bounds=replace(BOUNDS, seconds=2))
    started = time.monotonic()

    outcome = await call("grep", pattern=pattern)

    assert time.monotonic() - started < 15
    assert outcome.text
    assert (await call("grep", pattern="needle")).text == "short:1:needle"


@pytest.mark.parametrize(
    ("pattern", "says"),
    [
        ("(", "unclosed group"),
        ("[", "fixed=true"),
        ("(a)\\1", "backreferences are not supported"),
        ("a{1000}{20}\\W{1000}", "size limit"),
        ("a\nb", "line"),
        ("", "least"),
    ],
)
async def test_a_pattern_that_is_none(author: Author, opened: Opened, pattern: str, says: str) -> None:
    call = await opened(author.commit(FILES))
    outcome = await call("grep", pattern=pattern)
    assert outcome.is_error
    assert says in outcome.text


async def test_many_matches_are_bounded_and_counted(author: Author, opened: Opened) -> None:
    call = await opened(author.commit({f"f{i}": "x\n" * 60 for i in range(6)}))
    lines = (await call("grep", pattern="x")).text.split("\n")
    assert sum(line.endswith(":x") for line in lines) == 200
    assert "f0: 10 more matching lines" in lines
    assert lines[-1] == "[Too many matches to show. Also in: f4 (60), f5 (60). Use a narrower pattern or glob.]"


async def test_long_lines_and_binary_and_large_files(author: Author, opened: Opened) -> None:
    files = {"a": "x" * 3000 + "\n", "b": b"x\0", "c": "x\n" * 600_000}
    call = await opened(author.commit(files))
    lines = (await call("grep", pattern="x")).text.split("\n")
    assert lines == ["a:1:" + "x" * 500 + "… [2,500 more characters]", "[1 file left out: too large to be searched.]"]


async def test_too_much_to_search_is_refused_with_advice(author: Author, opened: Opened) -> None:
    commit = author.commit({"d/a": "x\n" * 50, "b": "x \n" * 50})
    for bounds in (replace(BOUNDS, files=1), replace(BOUNDS, bytes=150)):
        call = await opened(commit, bounds=bounds)
        assert "Narrow it with a glob" in (await call("grep", pattern="x")).text
        assert not (await call("grep", pattern="x", glob="d/**")).is_error


async def test_attributes_of_the_repository_do_not_apply(author: Author, opened: Opened) -> None:
    call = await opened(author.commit({".gitattributes": "* binary diff=evil\n", "a": "needle\n"}))
    assert (await call("grep", pattern="needle")).text == "a:1:needle"


# --- what must not leave -----------------------------------------------------------------------------------


async def test_never_send(author: Author, opened: Opened) -> None:
    call = await opened(author.commit({**FILES, "billing/plan.py": "planted\n"}), never_send=["billing/**"])
    left_out = "[1 file left out: the repository keeps them from models (review.never_send).]"

    outcomes = [
        await call("read_file", path="billing/plan.py"),
        await call("read_file", path="./billing/plan.py"),
        await call("read_file", path="plan.py"),
        await call("glob", pattern="**"),
        await call("grep", pattern="planted"),
        await call("grep", pattern="planted", glob="billing/*"),
    ]

    assert all("planted" not in outcome.text for outcome in outcomes)
    assert "review.never_send" in outcomes[0].text
    assert "billing" not in "".join(outcome.text for outcome in outcomes[2:5])
    assert all(outcome.text.endswith(left_out) for outcome in outcomes[3:])
    assert left_out not in (await call("grep", pattern="x", glob="src/**")).text


async def test_secrets_are_redacted(author: Author, opened: Opened) -> None:
    call = await opened(author.commit({"a": f"token = '{TOKEN}'\nplain\n{KEY}after\n", TOKEN: "x\n"}))
    shown = [
        (await call("read_file", path="a")).text,
        (await call("read_file", path="a", first_line=4, lines=2)).text,
        (await call("grep", pattern="token|MII|plain")).text,
        (await call("glob", pattern="**")).text,
        (await call("read_file", path=f"{TOKEN}/x")).text,
    ]
    assert not [text for text in shown if TOKEN in text]
    assert all("MIIE" not in text for text in shown)
    assert "2\tplain" in shown[0]
    assert "8\tafter" in shown[0]
    assert "a:2:plain" in shown[2]


# --- a partial clone ---------------------------------------------------------------------------------------


async def test_tools_used_side_by_side_bring_blobs_once(author: Author, opened: Opened, remote: Remote) -> None:
    call = await opened(author.commit(FILES))
    remote.requests.clear()
    outcomes = await asyncio.gather(*(call("grep", pattern="x = 1") for _ in range(5)))
    assert {outcome.text for outcome in outcomes} == {"src/deep/er/x.py:1:x = 1"}
    assert len(remote.requests) == 2


async def test_only_what_is_asked_for_is_brought(author: Author, opened: Opened, remote: Remote) -> None:
    call = await opened(author.commit(FILES))
    remote.requests.clear()
    await call("glob", pattern="**")
    assert not remote.requests
    await call("read_file", path="README.md")
    assert len(remote.requests) == 2


async def test_the_answer_does_not_depend_on_what_is_here(author: Author, opened: Opened) -> None:
    commit = author.commit({"a": "x\n", "b": "x\n" * 600_000, "c": b"x\0"})
    fresh = await opened(commit)
    before = await fresh("grep", pattern="x")
    await fresh("read_file", path="b")
    assert await (await opened(commit))("grep", pattern="x") == before


async def test_a_blob_that_is_too_large_to_be_brought_is_asked_for_once(
    author: Author, opened: Opened, mirror: Mirror, remote: Remote
) -> None:
    call = await opened(author.commit({"noise": os.urandom(300_000), "a": "needle\n"}))
    mirror.blob_pack_bytes = 100_000
    first = await call("grep", pattern="needle")
    remote.requests.clear()

    again = await call("grep", pattern="needle")

    assert first == again
    assert first.text == "a:1:needle\n[1 file left out: too large to be searched.]"
    assert "too large" in (await call("read_file", path="noise")).text
    assert not remote.requests
