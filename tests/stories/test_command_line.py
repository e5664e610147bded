"""`forge review` as scripts and CI use it: by its exit code."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from bot.cli import cli
from tests.databases import fresh

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


@pytest.mark.parametrize(("files", "code"), CODES)
def test_the_exit_code_is_the_decision(files: Mapping[str, str], code: int, repository: Path) -> None:
    for name, content in files.items():
        (repository / name).write_text(content)
    done = _review(repository)
    assert done.returncode == code, done.stdout


def test_wrong_input_is_not_a_verdict(repository: Path) -> None:
    assert _review(repository, "--base", "nope").returncode == 2
    assert _review(repository, "--json", "--sarif").returncode == 2


def test_a_mistake_of_forge_is_not_a_verdict(repository: Path) -> None:
    broken = "from bot import cli, local_review; local_review.run = None; cli.main()"
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
    assert (done.returncode, done.stderr) == (2, "forge: Standard output could not be written: Broken pipe.\n")


def test_output_that_is_closed(repository: Path) -> None:
    closed = ["sh", "-c", 'exec "$@" >&-', "sh", *FORGE, "review", str(repository)]
    done = subprocess.run(closed, check=False, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (2, "forge: Standard output is closed, so nothing can be printed.\n")


@pytest.mark.parametrize("delay", [0.4, 1.2])
def test_an_interrupt_leaves_no_traceback(delay: float, repository: Path) -> None:
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
    time.sleep(delay)
    os.killpg(process.pid, signal.SIGINT)
    assert process.communicate(timeout=60)[1] == ""
    # To a shell both are 130; the interpreter itself dies of the signal while it starts or ends.
    assert process.returncode in {130, -signal.SIGINT}


def test_every_way_to_start_it() -> None:
    for module in ("bot", "bot.cli"):
        done = subprocess.run([sys.executable, "-m", module, "--help"], check=False, capture_output=True, text=True)
        assert "Forge reviews pull requests" in done.stdout, module


def _review(folder: Path, *arguments: str, stdout: int = subprocess.PIPE) -> subprocess.CompletedProcess[str]:
    command = [*FORGE, "review", str(folder), *arguments]
    return subprocess.run(command, stdout=stdout, stderr=subprocess.PIPE, text=True, check=False)


def test_a_configuration_is_checked_before_a_push(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "forge.yml"
    assert _config_check("review: {drafts: true}\n", file, capsys) == (0, [f"{file} is valid"])
    idle = f"{file}:1:19: warning: `execution.mode` is not available yet, so agents work as `deterministic` says."
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
    assert (done.returncode, done.stderr) == (
        2,
        "forge: FORGE_PRIVATE_KEY is not an RSA private key in PEM, as GitHub hands it out.\n",
    )
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "command", ["runs", "deliveries", "audit", "costs", "metrics", "gates", "memory list", "migrate", "halt", "resume"]
)
def test_the_database_is_all_that_looking_needs(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith("FORGE_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("FORGE_DATABASE_URL", fresh("sqlite", tmp_path))
    cli(command.split(), standalone_mode=False)
    assert "FORGE_" not in capsys.readouterr().err
