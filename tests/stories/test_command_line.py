"""`forge review` as scripts and CI use it: by its exit code."""

import io
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

import pytest
import typer
from rich.console import Console

from bot.cli.main import cli
from bot.cli.review_output import print_review
from domain.errors import ConfigurationError, ForgeError
from domain.review.review import Conclusion, Decision, Review, Risk, RiskLevel
from tests.databases import create_database
from tests.unit.checks.findings import FINDINGS

FORGE = [sys.executable, "-m", "bot"]
FLAW = "import subprocess\n\n\ndef run(text):\n    return eval(text)\n"
RISKY = "import os\n\n\ndef f():\n    try:\n        return os.getenv('A')\n    except:\n        pass\n"
CODES = [
    ({"app.py": "x = 2\n"}, 0),
    ({"settings.py": 'KEY = "AKIA' + 'Q3EGRZ7VJX2MNB5T"\n'}, 1),
    ({f"f{number}.py": RISKY for number in range(60)}, 0),  # of medium risk, and nothing that blocks
    ({f"f{number}.py": RISKY for number in range(60)} | {"auth.py": 3 * RISKY, "CODEOWNERS": "* @a\n" * 20}, 3),
]


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with one commit on main."""
    (tmp_path / "app.py").write_text("x = 1\n")
    for command in (
        ["init", "-q", "-b", "main"],
        ["add", "."],
        ["-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-qm", "x"],
    ):
        subprocess.run(["git", *command], cwd=tmp_path, check=True)
    return tmp_path


class Shown(NamedTuple):
    """What a command answered and printed."""

    code: int
    told: str
    errors: str


Reviewed = Callable[..., Shown]


@pytest.fixture
def reviewed(capsys: pytest.CaptureFixture[str]) -> Reviewed:
    """`forge review` in this process: starting one takes longer than most reviews."""

    def review(folder: Path, *arguments: str) -> Shown:
        code: int = cli(["review", str(folder), *arguments], standalone_mode=False)
        told, errors = capsys.readouterr()
        return Shown(code, told, errors)

    return review


@pytest.mark.parametrize(("files", "code"), CODES)
def test_the_exit_code_is_the_decision(
    files: Mapping[str, str], code: int, repository: Path, reviewed: Reviewed
) -> None:
    for name, content in files.items():
        (repository / name).write_text(content)
    done = reviewed(repository)
    assert done.code == code, done.told


def test_wrong_input_is_not_a_verdict(repository: Path) -> None:
    assert _review(repository, "--base", "nope").returncode == 2
    assert _review(repository, "--json", "--sarif").returncode == 2


def test_a_command_that_is_imported_late_is_suggested_too(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        cli(["memry"])
    assert "Did you mean 'memory'?" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("module", "heavy"),
    [
        ("bot.cli.main", {"pydantic", "sqlalchemy", "structlog"}),
        ("agents.worker_jobs", {"genai_prices", "pydantic_ai", "sqlalchemy"}),
        ("bot.cli.review, bot.cli.review_output", {"pydantic_settings", "sqlalchemy", "structlog"}),
        ("bot.cli.serve", {"alembic", "pygal"}),
    ],
)
def test_what_starts_often_or_stays_loads_no_library_that_it_does_not_need(module: str, heavy: set[str]) -> None:
    """The help is there at once, so are the workers for which a review waits, and an idle server is small."""
    code = f"import sys, {module}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert not heavy & {*done.stdout.split()}


def test_a_mistake_of_forge_is_not_a_verdict(repository: Path) -> None:
    broken = "from bot.cli import local_review, main; local_review.run = None; main.main()"
    done = subprocess.run(
        [sys.executable, "-c", broken, "review", str(repository)], check=False, capture_output=True, text=True
    )
    assert done.returncode == 2
    assert "a mistake of its own" in done.stderr


@pytest.mark.parametrize("shown", ["--json", ""])
def test_output_that_cannot_be_written(shown: str, repository: Path) -> None:
    with Path("/dev/full").open("w") as full:
        done = _review(repository, *filter(None, [shown]), stdout=full.fileno())
    assert (done.returncode, done.stderr) == (
        2,
        "forge: Standard output could not be written: No space left on device.\n",
    )


def test_output_that_nobody_reads(repository: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = _review(repository, stdout=writer)
    os.close(writer)
    assert (done.returncode, done.stderr) == (141, "")


def test_output_that_is_closed(repository: Path) -> None:
    closed = ["sh", "-c", 'exec "$@" >&-', "sh", *FORGE, "review", str(repository)]
    done = subprocess.run(closed, check=False, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (2, "forge: Standard output is closed, so nothing can be printed.\n")


@pytest.mark.parametrize("catches", [False, True], ids=["while it imports", "while it works"])
def test_an_interrupt_leaves_no_traceback(catches: bool, repository: Path) -> None:
    for number in range(250):  # enough to be busy for seconds
        (repository / f"flaw{number}.py").write_text(FLAW)
    process = subprocess.Popen(
        # what runs the tests may ignore interrupts, as a shell has its background jobs do, and that is inherited
        ["env", "--default-signal=INT", *FORGE, "review", str(repository)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    while not (_has_loaded(process.pid, "pydantic_core") and _catches_interrupts(process.pid) is catches):
        assert process.poll() is None
        time.sleep(0.005)
    os.killpg(process.pid, signal.SIGINT)
    assert process.communicate(timeout=60)[1] == ""
    # To a shell both are 130; the interpreter itself dies of the signal while it starts or ends.
    assert process.returncode in {130, -signal.SIGINT}


def _has_loaded(process_id: int, library: str) -> bool:
    return library in Path(f"/proc/{process_id}/maps").read_text()


def _catches_interrupts(process_id: int) -> bool:
    status = Path(f"/proc/{process_id}/status").read_text()
    [caught] = re.findall(r"^SigCgt:\s*(\w+)$", status, re.MULTILINE)
    return bool(int(caught, 16) >> signal.SIGINT - 1 & 1)


def test_one_line_per_finding_where_no_terminal_is(repository: Path, reviewed: Reviewed) -> None:
    long = repository / ("very_long_folder_name_" * 4) / "deeper"
    long.mkdir(parents=True)
    (long / "app.py").write_text("import os\nimport yaml\n\n\nprint(yaml.load(input(), Loader=yaml.Loader))\n")
    told = reviewed(repository).told.splitlines()
    where = long.relative_to(repository) / "app.py"
    found = [line for line in told if line.startswith(str(where))]
    pattern = rf"{where}:(\d+): (info|warning|error|critical) [a-z]+/\S+: .+ \[F-[A-Z2-7]{{6}}(, --fix corrects it)?\]"
    assert all(re.fullmatch(pattern, line) for line in found), told
    assert [line for line in found if f"{where}:1: warning ruff/F401" in line and "--fix corrects it" in line]
    assert [line for line in found if f"{where}:5: " in line and "--fix" not in line]
    assert [line for line in told if line.startswith("note: ")] == [
        "note: No model read this: --model asks the one of FORGE_FAST_MODEL."
    ]
    assert "note: " not in reviewed(repository, "--quiet").told
    assert any(" · 1 file, +5 -0 · " in line for line in told)


def test_on_a_terminal_findings_are_grouped_and_whole(repository: Path) -> None:
    (repository / "app.py").write_text("import os\n\n\nprint(eval(input()))\n")
    ours, theirs = os.openpty()
    done = _review(repository, stdout=theirs)
    os.close(theirs)
    told = _read(ours)
    assert done.returncode == 1, told
    assert re.search(r"\r\n\S*app\.py\S*\r\n  app\.py:\d: ", told), told
    assert "fix: remove lines 1 to 2 (--fix does it)" in told or "fix: remove line 1 (--fix does it)" in told
    assert "1 file, " in told


def _read(terminal: int) -> str:
    told = b""
    try:
        while part := os.read(terminal, 65536):
            told += part
    except OSError:  # the other side is closed and everything was read
        pass
    os.close(terminal)
    return told.decode()


def test_a_credential_in_a_file_that_is_not_reviewed(repository: Path, reviewed: Reviewed) -> None:
    """As on GitHub: what is certain by its form is found in minified code, too; what is only named so is not."""
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    (repository / "app.min.js").write_text(f"const t='{token}';\n")
    (repository / "other.min.js").write_text("const password='Xk29fjQw81zz';\n")
    built = "var e=t(1);function n(r){for(;r.length;)if(r[0]=e(r[0],r[1]))eval(r)}" * 9
    (repository / "built-1a2b.js").write_text(f"{built}const t='{token}',password='Xk29fjQw81zz';\n")
    told = reviewed(repository).told
    assert re.findall(r"^built-1a2b\.js:1: \w+ \S*?([\w-]+):", told, re.MULTILINE) == ["github-token"], told
    assert re.search(r"^app\.min\.js:1: (error|critical) \S*github-token", told, re.MULTILINE), told
    assert "other.min.js:1" not in told
    assert token not in told


def test_what_is_staged(repository: Path, reviewed: Reviewed) -> None:
    (repository / "app.py").write_text("import os\n")
    subprocess.run(["git", "add", "app.py"], cwd=repository, check=True)
    (repository / "app.py").write_text("x = 1\n")
    (repository / "other.py").write_text("import sys\n")
    told = reviewed(repository, "--staged").told
    assert "app.py:1: warning ruff/F401" in told
    assert "other.py" not in told


def test_a_broken_configuration_is_told_to_programs_too(repository: Path, reviewed: Reviewed) -> None:
    (repository / ".github").mkdir()
    (repository / ".github" / "forge.yml").write_text("review: {drafts: perhaps}\n")
    for command in (["add", "."], ["-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-qm", "x"]):
        subprocess.run(["git", *command], cwd=repository, check=True)
    said = "`.github/forge.yml` on the default branch is not used"
    as_json = reviewed(repository, "--json")
    assert json.loads(as_json.told)["problem"].startswith(said)
    as_sarif = reviewed(repository, "--sarif")
    [invocation] = json.loads(as_sarif.told)["runs"][0]["invocations"]
    assert invocation["toolConfigurationNotifications"][0]["message"]["text"].startswith(said)
    assert as_json.errors == as_sarif.errors
    assert as_sarif.errors.startswith(f"forge: {said}")


def test_a_linter_that_is_not_installed_is_told_once(repository: Path, reviewed: Reviewed) -> None:
    forge_yml = "review: {linters: [{name: notes, run: no-such-linter --sarif, paths: ['**/*.md']}]}\n"
    (repository / ".github").mkdir()
    (repository / ".github" / "forge.yml").write_text(forge_yml)
    for command in (["add", "."], ["-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-qm", "x"]):
        subprocess.run(["git", *command], cwd=repository, check=True)
    (repository / "notes.md").write_text("# Notes\n")
    told = reviewed(repository).told
    assert told.count("its program no-such-linter is not installed where Forge runs. Install it there, or") == 1
    assert "did not print SARIF" not in told


def test_a_message_that_wraps_keeps_its_indent() -> None:
    message = "word " * 40
    finding = FINDINGS[0].model_copy(update={"message": message})
    review = Review.model_construct(
        merge_base="0" * 40,
        head_sha="1" * 40,
        conclusion=Conclusion.success,
        findings=(finding,),
        layers=(),
        reasons=(),
        not_looked_at=(),
        decision=Decision.approve,
        risk=Risk(score=0, level=RiskLevel.low, parts=()),
        files=1,
        additions=1,
        deletions=0,
        seconds=0.0,
    )
    printed = io.StringIO()
    print_review(Console(file=printed, width=60), review, None, whole=True)
    wrapped = [line for line in printed.getvalue().splitlines() if "word" in line]
    assert len(wrapped) > 1
    assert all(line.startswith("      word") for line in wrapped)


@pytest.fixture
def hooked(repository: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """`git commit` in a repository whose hook is what Forge ships for pre-commit."""
    hooks = (Path(__file__).parents[2] / ".pre-commit-hooks.yaml").read_text()
    [shipped] = re.findall(r"^  entry: (forge review --staged.*)$", hooks, re.MULTILINE)
    hook = repository / ".git" / "hooks" / "pre-commit"
    hook.parent.mkdir(exist_ok=True)
    command = shlex.join(FORGE) + shipped.removeprefix("forge")
    hook.write_text(f"#!/bin/sh\nPYTHONPATH={shlex.quote(str(Path(__file__).parents[2]))} {command}\n")
    hook.chmod(0o755)

    def commit(*arguments: str) -> subprocess.CompletedProcess[str]:
        who = ("-c", "user.name=a", "-c", "user.email=a@example.com")
        return subprocess.run(
            ["git", *who, "commit", "-m", "x", *arguments], cwd=repository, capture_output=True, text=True, check=False
        )

    return commit


@pytest.mark.parametrize("arguments", [["-a"], ["--only", "app.py"]])
def test_the_hook_reads_what_is_about_to_be_committed(
    arguments: list[str], repository: Path, hooked: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    (repository / "other.py").write_text("x = 3\n")
    subprocess.run(["git", "add", "other.py"], cwd=repository, check=True)
    (repository / "app.py").write_text('KEY = "AKIA' + 'Q3EGRZ7VJX2MNB5T"\n')
    done = hooked(*arguments)
    assert done.returncode == 1, done.stderr
    assert "app.py:1:" in done.stderr
    subprocess.run(["git", "checkout", "-q", "app.py"], cwd=repository, check=True)
    assert hooked().returncode == 0


def test_the_hook_stops_no_commit_of_what_only_a_model_would_read(
    repository: Path, hooked: Callable[..., subprocess.CompletedProcess[str]], reviewed: Reviewed
) -> None:
    (repository / "app.lua").write_text("x = 1\n")
    subprocess.run(["git", "add", "app.lua"], cwd=repository, check=True)
    assert reviewed(repository, "--staged").code == 4
    done = hooked()
    assert done.returncode == 0, done.stdout
    assert "app.lua" in done.stderr  # it is named all the same


def test_what_is_simple_is_corrected(repository: Path, reviewed: Reviewed) -> None:
    (repository / "app.py").write_text("import os\nimport sys\n\nprint(eval(sys.argv[1]))\n")
    (repository / "app.py").chmod(0o755)
    (repository / "top.py").write_text("import os\nimport sys\n\n\nX = 1\n")
    (repository / "outside").mkdir()
    (repository / "link.py").symlink_to("outside/real.py")
    (repository / "outside" / "real.py").write_text("import os\n")
    done = reviewed(repository, "--fix")
    assert "ruff/S307" in done.told  # eval is no matter of form
    assert (repository / "app.py").read_text() == "import sys\n\nprint(eval(sys.argv[1]))\n"
    assert (repository / "app.py").stat().st_mode & 0o777 == 0o755
    assert (repository / "top.py").read_text() == "X = 1\n"
    assert (repository / "link.py").is_symlink()
    assert sorted(done.errors.splitlines()) == [
        f"corrected {where}: ruff/F401" for where in ("app.py:1", "outside/real.py:1", "top.py:1", "top.py:2")
    ]
    assert "ruff/F401" not in done.told
    with pytest.raises(ForgeError, match="Choose one of them"):
        reviewed(repository, "--fix", "--staged")


@pytest.mark.parametrize("name", ["main", "master", "trunk"])
def test_the_default_branch_is_found(name: str, repository: Path, reviewed: Reviewed) -> None:
    subprocess.run(["git", "branch", "-m", "main", name], cwd=repository, check=True)
    if name == "trunk":
        with pytest.raises(ForgeError, match="none of origin/HEAD, main, master"):
            reviewed(repository)
        subprocess.run(["git", "update-ref", "refs/remotes/origin/HEAD", "trunk"], cwd=repository, check=True)
    assert reviewed(repository).code == 0


def test_a_file_is_no_folder(repository: Path, reviewed: Reviewed) -> None:
    with pytest.raises(ForgeError, match="is a file"):
        reviewed(repository / "app.py")


@pytest.mark.parametrize("arguments", [["--help"], ["review", "--help"], ["gates", "--help"]])
def test_help_that_cannot_be_written_is_told_in_one_sentence(arguments: list[str], tmp_path: Path) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run([*FORGE, *arguments], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr) == (
        2,
        "forge: Standard output could not be written: No space left on device.\n",
    )


def test_the_version_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli(["--version"], standalone_mode=False) == 0
    assert re.fullmatch(r"forge \d+\.\d+\.\d+\n", capsys.readouterr().out)


def test_a_wrong_choice_is_told_in_our_words() -> None:
    with pytest.raises(typer.BadParameter) as caught:
        cli(["runs", "--state", "done"], standalone_mode=False)
    assert caught.value.message.startswith("'done' is not one of 'pending'")


def test_every_way_to_start_it() -> None:
    for module in ("bot", "bot.cli.main"):
        done = subprocess.run([sys.executable, "-m", module, "--help"], check=False, capture_output=True, text=True)
        assert "Forge reviews pull requests" in done.stdout, module


def _review(folder: Path, *arguments: str, stdout: int = subprocess.PIPE) -> subprocess.CompletedProcess[str]:
    command = [*FORGE, "review", str(folder), *arguments]
    return subprocess.run(command, stdout=stdout, stderr=subprocess.PIPE, text=True, check=False)


def test_a_configuration_is_checked_before_a_push(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "forge.yml"
    assert _config_check("review: {drafts: true}\n", file, capsys) == (0, [f"{file} is valid"])
    idle = (
        f"{file}:1:19: warning: `execution.mode` needs `execution.commands`; "
        "without them Forge's agent works as with `deterministic`."
    )
    assert _config_check("execution: {mode: interactive}\n", file, capsys) == (0, [idle, f"{file} is valid"])
    code, told = _config_check("paths:\n  protected: ['infra/*.{tf', x/]\nreview: {draft: true}\n", file, capsys)
    assert code == 1
    assert [line.split(" ")[:2] for line in told] == [
        [f"{file}:2:15:", "error:"],
        [f"{file}:2:30:", "error:"],
        [f"{file}:3:10:", "error:"],
        [f"{file}:", "3"],
    ]


def test_a_configuration_that_is_not_there(tmp_path: Path) -> None:
    done = subprocess.run([*FORGE, "config", "check", str(tmp_path)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"forge: {tmp_path} cannot be read: Is a directory. Name a configuration file")


def _config_check(content: str, file: Path, capsys: pytest.CaptureFixture[str]) -> tuple[int, list[str]]:
    file.write_text(content)
    done = cli(["config", "check", str(file)], standalone_mode=False)
    return done, capsys.readouterr().out.splitlines()


def test_a_wrong_key_is_told_before_anything_is_made(tmp_path: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("FORGE_")}
    environment |= {"FORGE_APP_ID": "1", "FORGE_WEBHOOK_SECRET": "a-webhook-secret", "FORGE_PRIVATE_KEY": "nope"}
    done = subprocess.run(
        [*FORGE, "serve"],
        cwd=tmp_path,
        env=environment | {"PYTHONPATH": str(Path(__file__).parents[2])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert done.stderr.startswith("forge: FORGE_PRIVATE_KEY is not an RSA private key in PEM, as GitHub hands it out. ")
    assert done.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "command",
    [
        "runs",
        "deliveries",
        "audit",
        "costs",
        "metrics",
        "gates",
        "memory list",
        "migrate",
        "halt",
        "resume",
    ],
)
def test_the_database_is_all_that_looking_needs(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    os.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith("FORGE_")]:
        del os.environ[name]
    os.environ["FORGE_DATABASE_URL"] = create_database("sqlite", tmp_path)
    cli(command.split(), standalone_mode=False)
    assert "FORGE_" not in capsys.readouterr().err


@pytest.mark.parametrize("damage", [b"buy milk\n" * 1000, b""], ids=["another file", "damaged"])
def test_what_is_no_database_is_told_in_one_sentence(damage: bytes, tmp_path: Path) -> None:
    url = create_database("sqlite", tmp_path)
    file = tmp_path / "forge.db"
    file.write_bytes(damage or _spoil(file.read_bytes()))
    os.environ["FORGE_DATABASE_URL"] = url
    with pytest.raises(ConfigurationError, match=r"forge\.db cannot be used: .*(not a database|malformed)\."):
        cli(["runs"], standalone_mode=False)


def _spoil(content: bytes, page: int = 4096) -> bytes:
    """The file with the beginning of each page but the first two made unreadable."""
    pages = [content[start : start + page] for start in range(0, len(content), page)]
    return b"".join([*pages[:2], *(b"\xff" * 200 + each[200:] for each in pages[2:])])
