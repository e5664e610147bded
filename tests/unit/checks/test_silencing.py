"""Comments that silence a tool: heeded for people who may write and said aloud, not heeded in code of strangers."""

import json
import shlex

import pytest

from agents.review.checks import suppressions
from agents.review.checks.inputs import list_checked_files
from agents.toolbox import Toolbox
from domain.config.sections import Linter
from domain.review.findings import Layer
from safety.containment import CodeOrigin
from tests.unit.checks.building import Versions, change_of
from tests.unit.checks.checking import check_files, sarif

pytestmark = pytest.mark.asyncio(loop_scope="session")

KEY = "AKIA" + "Z7QW3ERT5YUI9OPL"
FLAWED = f"""\
import os{{noqa}}
import subprocess

KEY = "{KEY}"{{pragma}}


def main(command):
    try:
        subprocess.run("ls " + command, shell=True){{nosec}}
    finally:
        return 1{{pylint}}
"""
PLAIN = FLAWED.format(noqa="", pragma="", nosec="", pylint="")
SILENT = FLAWED.format(
    noqa="  # noqa: F401",
    pragma="  # pragma: allowlist secret",
    nosec="  # nosec B602",
    pylint="  # pylint: disable=lost-exception",
)
WORKFLOW = """\
name: x
on: [pull_request_target]{comment}
permissions: {{}}
jobs:
  a:
    runs-on: ubuntu-latest
    steps:
      - run: echo hello
"""
SAID = {"ruff/F401", "ruff/B012", "ruff/S602"}


async def rules(toolbox: Toolbox, files: Versions, origin: CodeOrigin, **given: object) -> set[str]:
    return {finding.rule for finding in (await check_files(toolbox, files, origin=origin, **given)).findings}


def find_suppressions(old: str | None, new: str) -> tuple[suppressions.Suppression, ...]:
    return suppressions.find_added(list_checked_files(*change_of({"a.py": (old, new)})))


@pytest.mark.parametrize("origin", CodeOrigin)
async def test_without_comments_everything_is_said(toolbox: Toolbox, origin: CodeOrigin) -> None:
    result = await check_files(toolbox, {"a.py": (None, PLAIN)}, origin=origin)
    assert {finding.rule for finding in result.findings} == {*SAID, "secret/aws-access-key"}
    assert result.silencing == 0
    assert not any("silence" in (layer.note or "") for layer in result.layers)


@pytest.mark.parametrize("origin", [CodeOrigin.own, CodeOrigin.member])
async def test_people_who_may_write_silence_all_but_credentials_and_it_is_said(
    toolbox: Toolbox, origin: CodeOrigin
) -> None:
    result = await check_files(toolbox, {"a.py": (None, SILENT)}, origin=origin)
    assert {finding.rule for finding in result.findings} == {"secret/aws-access-key"}
    assert result.silencing == 3
    static, security = (layer.note or "" for layer in result.layers)
    assert static == "2 added lines silence findings (`noqa`, `pylint: disable`): a.py:1, a.py:11."
    assert security.endswith("1 added line silences findings (`nosec`): a.py:9.")


async def test_the_first_lines_are_named() -> None:
    found = find_suppressions(None, 5 * "import os  # noqa\n")
    note = suppressions.build_note(found, Layer.static, CodeOrigin.own)
    assert note == "5 added lines silence findings (`noqa`): a.py:1, a.py:2, a.py:3 and 2 more."


async def test_a_stranger_silences_nothing(toolbox: Toolbox) -> None:
    result = await check_files(toolbox, {"a.py": (None, SILENT)}, origin=CodeOrigin.stranger)
    assert {finding.rule for finding in result.findings} == {*SAID, "secret/aws-access-key"}
    assert result.silencing == 0
    assert "would silence findings" in (result.layers[0].note or "")
    assert "in code from a fork that does not count" in (result.layers[0].note or "")


@pytest.mark.parametrize("comment", ["# ruff: noqa", "# flake8: noqa", "# ruff: disable[F401]"])
async def test_a_whole_file(toolbox: Toolbox, comment: str) -> None:
    files: Versions = {"a.py": (None, comment + "\nimport os\n")}
    assert await rules(toolbox, files, CodeOrigin.member) == set()
    assert await rules(toolbox, files, CodeOrigin.stranger) == {"ruff/F401"}
    assert (await check_files(toolbox, files, origin=CodeOrigin.member)).silencing == 1


@pytest.mark.parametrize(
    ("above", "beside", "said"),
    [
        ("", "  # noqa", True),
        ("# ruff: noqa\n", "", True),
        ("# ruff: disable[S602]\n", "", True),
        ("", "  # noqa: E501", True),
        ("", "  # noqa: S605", True),
        ("", "  # noqa: E501, S602", False),
        ("", "  # nosec", False),
    ],
)
async def test_dangers_are_silenced_by_name_only(toolbox: Toolbox, above: str, beside: str, said: bool) -> None:
    text = f"{above}import subprocess\n\n\ndef main(c):\n    subprocess.call(c, shell=True){beside}\n"
    result = await check_files(toolbox, {"a.py": (None, text)}, origin=CodeOrigin.member)
    assert ("ruff/S602" in {finding.rule for finding in result.findings}) is said
    assert said or "1 added line silences findings" in (result.layers[1].note or "")
    assert "ruff/S602" in await rules(toolbox, {"a.py": (None, text)}, CodeOrigin.stranger)


@pytest.mark.parametrize("comment", ["# type: ignore", "#type:ignore[attr-defined]", "# noqa: F401 # type: ignore"])
async def test_a_type_checker_on_added_lines(comment: str) -> None:
    line = f"import os.path  {comment}\n"
    assert "type: ignore" in {one.comment.word for one in find_suppressions(None, line)}
    assert find_suppressions(line, line + "VALUE = 1\n") == ()
    assert find_suppressions(line, line.replace("os.path", "os")) == ()
    assert find_suppressions(line, "import os.path\n") == ()


async def test_workflows(toolbox: Toolbox) -> None:
    silent = WORKFLOW.format(comment=" # zizmor: ignore[dangerous-triggers]")
    files: Versions = {".github/workflows/a.yml": (None, silent)}
    member = await check_files(toolbox, files, origin=CodeOrigin.member)
    assert (member.findings, member.silencing) == ((), 1)
    assert "(`zizmor: ignore`)" in (member.layers[1].note or "")
    assert await rules(toolbox, files, CodeOrigin.stranger) == {"zizmor/dangerous-triggers"}
    loud: Versions = {".github/workflows/a.yml": (None, WORKFLOW.format(comment=""))}
    assert await rules(toolbox, loud, CodeOrigin.member) == {"zizmor/dangerous-triggers"}


@pytest.mark.parametrize("origin", CodeOrigin)
async def test_what_was_silenced_before_is_not_new(toolbox: Toolbox, origin: CodeOrigin) -> None:
    """Both versions are read the same way, so a stranger's unrelated line brings up nothing old."""
    old_python = SILENT.replace(KEY, "from the environment")
    old_workflow = WORKFLOW.format(comment=" # zizmor: ignore[dangerous-triggers]")
    files: Versions = {
        "a.py": (old_python, old_python + "\n\nVALUE = 1\n"),
        ".github/workflows/a.yml": (old_workflow, old_workflow + "      - run: echo more\n"),
    }
    result = await check_files(toolbox, files, origin=origin)
    assert (result.findings, result.silencing) == ((), 0)


async def test_taking_a_comment_away_brings_the_remark_back(toolbox: Toolbox) -> None:
    files: Versions = {"a.py": (SILENT, SILENT.replace("  # nosec B602", ""))}
    assert await rules(toolbox, files, CodeOrigin.member) == {"ruff/S602"}


@pytest.mark.parametrize(
    "line",
    [
        "noqa = 1",
        "x = 'nosec'",
        "# nothing of noqa here",
        "# see zizmor: ignore",
        "# pragma: no cover",
        "# type: ignored",
        "x: Type  # ignore",
    ],
)
async def test_lines_that_silence_nothing(toolbox: Toolbox, line: str) -> None:
    assert (await check_files(toolbox, {"a.py": (None, line + "\n")}, origin=CodeOrigin.member)).silencing == 0
    assert (await check_files(toolbox, {"a.txt": (None, "# noqa\n")}, origin=CodeOrigin.member)).silencing == 0


@pytest.mark.parametrize(
    ("kind", "member", "stranger"),
    [("inSource", set[str](), {"sh/rule"}), ("external", set[str](), set[str]())],
)
async def test_configured_linters(toolbox: Toolbox, kind: str, member: set[str], stranger: set[str]) -> None:
    document = sarif(("rule", "a.txt", 1), suppressions=[{"kind": kind}])
    assert json.loads(document)["runs"][0]["results"][0]["suppressions"]
    linter = Linter(name="sh", run=f"sh -c {shlex.quote(f'echo {shlex.quote(document)}')}", paths=("**/*.txt",))
    files: Versions = {"a.txt": (None, "x\n")}
    assert await rules(toolbox, files, CodeOrigin.member, linters=(linter,)) == member
    assert await rules(toolbox, files, CodeOrigin.stranger, linters=(linter,)) == stranger


async def test_the_note_is_of_the_layer_it_silences(toolbox: Toolbox) -> None:
    result = await check_files(toolbox, {"a.py": (None, "x = 1  # nosec\n")}, origin=CodeOrigin.member)
    assert {layer.layer: "`nosec`" in (layer.note or "") for layer in result.layers} == {
        Layer.static: False,
        Layer.security: True,
    }


async def test_a_reworked_line_that_was_silenced_counts_as_before() -> None:
    old = "from typing import Dict, List  # noqa: F401\n"
    new = "from typing import Dict, List, Set  # noqa: F401\n"
    assert suppressions.find_added(list_checked_files(*change_of({"a.py": (old, new)}))) == ()
    [more] = suppressions.find_added(list_checked_files(*change_of({"a.py": (old, new + "import os  # noqa\n")})))
    assert more.comment.word == "noqa"


async def test_a_line_that_moves_to_another_file_is_no_new_silence() -> None:
    line = "    return decode(text)  # type: ignore\n"
    files: Versions = {
        "a.py": (f"def f(text):\n{line}", "def f(text):\n    return text\n"),
        "b.py": (None, f"def f(text):\n{line}    return 1  # noqa\n"),
    }
    assert [each.comment.word for each in suppressions.find_added(list_checked_files(*change_of(files)))] == ["noqa"]
