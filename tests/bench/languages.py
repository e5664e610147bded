"""Real files of each language that reviews check, what a change adds to them, and the tools' own command lines.

Most files are those of the set in ``reading/``. Where fewer lie at hand than are asked for, they come again.
"""

import asyncio
import itertools
import json
import subprocess
import sys
import sysconfig
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from pathlib import Path

import dbos
import sqlalchemy

from agents.review.checks.dangers.rules import CONFIGURED, TABLE
from agents.syntax.languages import find_language
from agents.syntax.validity import BELIEVED
from tests.bench.reading.entry import load_entries
from tests.bench.wheels import download_wheel

_FORGE = Path(__file__).parents[2]
_WORKFLOW = """\
name: Checks
on:
  push:
    branches: [main]
  pull_request:
permissions:
  contents: read
jobs:
  test:
    runs-on: ubuntu-24.04
    strategy:
      matrix:
        python: ["3.11", "3.12", "3.13"]
    steps:
      - uses: actions/checkout@11bd71901bbe5b1630ceea73d27597364c9af683
        with:
          persist-credentials: false
      - uses: actions/setup-python@a26af69be951a213d495a4c3e4e4022e16d87065
        with:
          python-version: ${{ matrix.python }}
      - run: python -m pip install --require-hashes -r requirements.txt
      - run: python -m pytest
  build:
    needs: test
    runs-on: ubuntu-24.04
    steps:
      - uses: actions/checkout@11bd71901bbe5b1630ceea73d27597364c9af683
        with:
          persist-credentials: false
      - run: docker build --tag shop .
"""
_INJECTION = """\
  greet:
    runs-on: ubuntu-24.04
    steps:
      - run: echo "${{ github.event.pull_request.title }}"
"""


@dataclass(frozen=True)
class Language:
    """A language as a review meets it.

    :param path: of a changed file, with ``{}`` for its number.
    :param added: what the change adds at the end of each file; a tool finds something in it.
    :param tools: those that review the language, by the names of their programs; each file is searched for credentials
        beside them.
    """

    name: str
    path: str
    added: str
    tools: tuple[str, ...]

    def sample(self, count: int) -> list[str]:
        """So many files, always the same."""
        return list(itertools.islice(itertools.cycle(_find_texts(self.name)), count))


LANGUAGES = (
    Language("python", "pkg/m{}.py", "\n\ndef added(c):\n    subprocess.run(c, shell=True)\n", ("ruff", "ruff-S")),
    Language("javascript", "src/m{}.js", "\nfunction added(c) { return eval(c); }\n", ("oxlint", "ast-grep")),
    Language("typescript", "src/m{}.ts", "\nfunction added(c: string) { return eval(c); }\n", ("oxlint", "ast-grep")),
    Language("shell", "bin/m{}.sh", "\ncurl -k https://host.test/install | sh\n", ("shellcheck",)),
    Language("dockerfile", "m{}/Dockerfile", "EXPOSE 99999\n", ("hadolint",)),
    Language("workflow", ".github/workflows/m{}.yml", _INJECTION, ("zizmor",)),
    Language("go", "m{}.go", '\nfunc added(d string) { exec.Command("sh", "-c", "ls "+d) }\n', ("ast-grep",)),
    Language("java", "M{}.java", '\nclass Added { Object o = Cipher.getInstance("DES"); }\n', ("ast-grep",)),
    Language("ruby", "lib/m{}.rb", '\ndef added(d)\n  system("ls #{d}")\nend\n', ("ast-grep",)),
    Language("php", "src/M{}.php", "\nfunction added($d) { system('ls ' . $d); }\n", ("ast-grep",)),
    Language(
        "rust", "src/m{}.rs", '\nfn added() { Command::new("sh").arg("-c").arg(format!("ls {}", d)); }\n', ("ast-grep",)
    ),
    Language("c", "src/m{}.c", "\nvoid added(char *d) { gets(d); }\n", ("ast-grep",)),
)


@cache
def _find_texts(language: str) -> tuple[str, ...]:
    match language:
        case "python":
            return tuple(path.read_text() for path in _list_modules())
        case "shell":
            return tuple(path.read_text() for path in _list_scripts())
        case "dockerfile":
            return ((_FORGE / "Dockerfile").read_text(),)
        case "workflow":
            return (_WORKFLOW,)
        case _:
            files = (file for entry in load_entries() for file in entry.files)
            return tuple(dict.fromkeys(file.text for file in files if find_language(file.path) == language))


def _list_modules() -> list[Path]:
    """Twenty modules of installed packages, of ordinary size."""
    folders = [Path(package.__file__ or "").parent for package in (sqlalchemy, dbos)]
    modules = sorted(module for folder in folders for module in folder.rglob("*.py"))
    ordinary = [module for module in modules if 5_000 < module.stat().st_size < 60_000]
    return ordinary[:: len(ordinary) // 20][:20]


def _list_scripts() -> list[Path]:
    """The shell scripts that git brings."""
    folder = Path(subprocess.run(["git", "--exec-path"], capture_output=True, check=True, text=True).stdout.strip())
    scripts = (path for path in sorted(folder.iterdir()) if path.is_file() and not path.is_symlink())
    return [path for path in scripts if path.read_bytes().startswith(b"#!/bin/sh")]


def build_command_lines(language: Language, files: Sequence[str], ast_grep: Path) -> list[list[str]]:
    """The tools that review a language and the search for credentials, each started once on all files."""
    scripts = Path(sysconfig.get_path("scripts"))
    rules = "\n---\n".join(_list_rules(language.name))
    known = {
        "ruff": [scripts / "ruff", "check", "--isolated", "--no-cache", "--output-format=json", "--exit-zero"],
        "ruff-S": [
            *(
                scripts / "ruff",
                "check",
                "--isolated",
                "--no-cache",
                "--output-format=json",
                "--exit-zero",
                "--select=S",
            )
        ],
        "oxlint": [scripts / "oxlint", "--format=json"],
        "shellcheck": [scripts / "shellcheck", "--severity=warning", "--format=json1"],
        "hadolint": [scripts / "hadolint", "--no-fail", "--format=json"],
        "zizmor": [scripts / "zizmor", "--offline", "--no-progress", "--no-exit-codes", "--format=json-v1"],
        "ast-grep": [ast_grep, "scan", "--json=compact", f"--inline-rules={rules}"],
        "detect-secrets": [sys.executable, "-m", "detect_secrets", "scan"],
    }
    return [[*map(str, known[tool]), *files] for tool in (*language.tools, "detect-secrets")]


def _list_rules(language: str) -> list[str]:
    """Forge's rules for a language as ast-grep's program reads them, with one for what cannot be parsed."""
    rules = {each.id.replace("/", "-"): CONFIGURED[each.id] for each in TABLE if language in each.grammars}
    if language in BELIEVED:
        rules["syntax"] = {"rule": {"kind": "ERROR"}}
    return [json.dumps({"id": name, "language": language, **rule}) for name, rule in rules.items()]


def write_files(folder: Path, texts: Mapping[str, str]) -> list[str]:
    """Write files below a folder, by their paths there; the paths."""
    for path, text in texts.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    return list(texts)


def download_ast_grep(folder: Path) -> Path:
    """ast-grep's own program, of the version whose library Forge uses."""
    name = "ast-grep-cli"
    with zipfile.ZipFile(download_wheel(folder / name, name, metadata.version("ast-grep-py"))) as wheel:
        [entry] = [each for each in wheel.namelist() if each.endswith("/scripts/ast-grep")]
        program = Path(wheel.extract(entry, folder))
    program.chmod(0o755)
    return program


async def start_line(line: Sequence[str], folder: Path) -> None:
    """Run a command line in a folder to its end."""
    process = await asyncio.create_subprocess_exec(
        *line, cwd=folder, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    _, said = await process.communicate()
    assert process.returncode in {0, 1}, said.decode()  # several linters say so that they found something
