"""A configured linter finds its configuration of the merge base, whatever the pull request makes of it."""

import shlex
from dataclasses import replace

import pytest

from agents.review.checks.linters import MOST_FILES
from agents.toolbox import Toolbox
from domain.config.sections import Linter
from domain.review.findings import Layer
from tests.unit.checks.building import Versions
from tests.unit.checks.checking import check_files, sarif
from workspace.safe_copy import temporary_folder

pytestmark = pytest.mark.asyncio(loop_scope="session")

# A real linter of a repository's own: it forbids the word that its configuration names.
LINT = r"""
word=$(cat rules.txt) || exit 2
results=
for file; do
    for line in $(grep -n "$word" "$file" | cut -d: -f1); do
        place="{\"artifactLocation\":{\"uri\":\"$file\"},\"region\":{\"startLine\":$line}}"
        found="{\"ruleId\":\"word\",\"message\":{\"text\":\"$word\"},\"locations\":[{\"physicalLocation\":$place}]}"
        results="$results${results:+,}$found"
    done
done
echo "{\"version\":\"2.1.0\",\"runs\":[{\"tool\":{\"driver\":{\"name\":\"words\"}},\"results\":[$results]}]}"
"""
BASE = {"tools/lint.sh": LINT.encode(), "rules.txt": b"forbidden\n", "other.txt": b"not asked for\n"}
LINTER = Linter(name="words", run="sh tools/lint.sh", paths=("**/*.js",), files=("tools/**", "rules.txt"))


async def test_it_runs_with_what_it_needs_of_the_merge_base(toolbox: Toolbox) -> None:
    files: Versions = {
        "web/a.js": ("forbidden()\nx()\n", "forbidden()\nx()\nmore(forbidden)\n"),
        "b.js": (None, "fine()\n"),
    }
    result = await check_files(toolbox, files, linters=(LINTER,), linter_files=BASE)
    assert [tool.problem for tool in result.layers[0].tools if tool.problem] == []
    assert [(f.rule, f.path, f.line) for f in result.findings] == [("words/word", "web/a.js", 3)]
    assert {path for path, by in result.read_by.items() if "words" in by} == {"web/a.js", "b.js"}


async def test_without_these_files_it_cannot_run_and_says_so(toolbox: Toolbox) -> None:
    alone = LINTER.model_copy(update={"files": ()})
    result = await check_files(toolbox, {"a.js": (None, "forbidden()\n")}, linters=(alone,), linter_files=BASE)
    assert any("tools/lint.sh" in (tool.problem or "") for tool in result.layers[0].tools)


async def test_t_r6_what_the_change_makes_of_its_configuration_decides_nothing(toolbox: Toolbox) -> None:
    everything = LINTER.model_copy(update={"paths": ("**", "**/*.js")})
    files: Versions = {
        "a.js": (None, "forbidden()\n"),
        "rules.txt": ("forbidden\n", "nothing\n"),
        "tools/lint.sh": (LINT, "echo\n"),
        "tools/new.js": (None, "forbidden()\n"),
        ".eslintrc.json": (None, "forbidden\n"),
    }
    result = await check_files(toolbox, files, linters=(everything,), linter_files=BASE)
    assert [(f.rule, f.path) for f in result.findings if f.rule.startswith("words/")] == [("words/word", "a.js")]
    assert {path for path, by in result.read_by.items() if "words" in by} == {"a.js"}


async def test_t_r6_a_module_of_the_change_does_not_take_the_place_of_one_of_the_linter(toolbox: Toolbox) -> None:
    said = {"report.json": sarif(("word", "a.py", 1)).encode()}
    program = "sh -c 'python3 -m json.tool report.json'"  # it prints the report of the merge base
    linter = Linter(name="words", run=program, paths=("**/*.py",), files=("report.json",))
    mute = f"print({sarif()!r})\nraise SystemExit\n"
    files: Versions = {"a.py": (None, "x = 1\n"), "json/__init__.py": (None, mute), "argparse.py": (None, mute)}
    result = await check_files(toolbox, files, linters=(linter,), linter_files=said)
    assert [(f.rule, f.path) for f in result.findings if f.rule.startswith("words/")] == [("words/word", "a.py")]


@pytest.mark.parametrize(
    ("run", "script", "hides"),
    [
        ("python3 -m lint.words", "lint/words.py", "json.py"),
        ("python3 -m lint.words", "lint/words.py", "json/__init__.py"),
        ("python3 lint/words.py", "lint/words.py", "lint/json.py"),
        ("python3 words.py", "words.py", "json.py"),
    ],
)
async def test_t_r6_a_script_beside_the_files_takes_no_module_of_the_change(
    toolbox: Toolbox, run: str, script: str, hides: str
) -> None:
    beside = {script: f"import json\nprint(json.dumps({sarif(('word', 'a.py', 1))}))\n".encode()}
    linter = Linter(name="words", run=run, paths=("**/*.py",), files=(script,))
    files: Versions = {"a.py": (None, "x = 1\n"), "web/json.py": (None, "y = 1\n"), hides: (None, "raise SystemExit\n")}
    result = await check_files(toolbox, files, linters=(linter,), linter_files=beside)
    assert [(f.rule, f.path) for f in result.findings] == [("words/word", "a.py")]
    assert {path for path, by in result.read_by.items() if "words" in by} == {"a.py", "web/json.py"}


async def test_its_program_is_found_in_the_folders_of_the_operator(toolbox: Toolbox) -> None:
    with temporary_folder("tools") as folder:
        (folder / "bin").mkdir()
        (folder / "bin/words").write_text(f"#!/bin/sh\necho {shlex.quote(sarif(('word', 'a.js', 1)))}\n")
        for each in (folder, folder / "bin", folder / "bin/words"):
            each.chmod(0o755)
        linter = Linter(name="words", run="words", paths=("**/*.js",))
        operated = replace(toolbox, reads=(folder,))
        result = await check_files(operated, {"a.js": (None, "fine()\n")}, linters=(linter,))
    assert [f.rule for f in result.findings if f.layer is Layer.static] == ["words/word"]


async def test_too_many_files_are_a_problem_of_that_linter(toolbox: Toolbox) -> None:
    many = {f"tools/{number}": b"" for number in range(MOST_FILES + 1)}
    result = await check_files(toolbox, {"a.js": (None, "a();\n")}, linters=(LINTER,), linter_files=many)
    assert any("more than 500 files" in (tool.problem or "") for tool in result.layers[0].tools)


async def test_a_program_whose_folder_the_sandbox_does_not_show_says_what_to_do(toolbox: Toolbox) -> None:
    with temporary_folder("tools") as folder:
        program = folder / "words"
        program.write_text(f"#!/bin/sh\n. {folder}/part\n")
        (folder / "part").write_text("echo\n")
        for each in (folder, program):
            each.chmod(0o755)
        linter = Linter(name="words", run=str(program), paths=("**/*.js",))
        result = await check_files(toolbox, {"a.js": (None, "fine()\n")}, linters=(linter,))
    [told] = [tool.problem for tool in result.layers[0].tools if tool.problem]
    assert told.endswith(f"What belongs to {program} cannot be read there: name its folder in FORGE_SANDBOX_TOOLS.")
