"""The wheel, which every image and unit installs, holds all that Forge reads, and serves without the checkout."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import aiohttp
import pytest

from simulator import Simulator
from tests.install.page import ROOT
from tests.stories.driver import SECRET
from tests.structure import PACKAGES


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Forge's wheel, built of what an image is built of."""
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"
    kept = [line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")]
    for file in _list_tracked(*kept):
        (source / file).parent.mkdir(parents=True, exist_ok=True)
        (source / file).write_bytes((ROOT / file).read_bytes())
    pip = (sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir")
    subprocess.run([*pip, str(folder / "dist"), "."], cwd=source, check=True)
    [built] = (folder / "dist").glob("*.whl")
    return built


@pytest.fixture(scope="module")
def forge(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`forge` in an environment of its own, which has the wheel and the locked requirements and no checkout."""
    folder = tmp_path_factory.mktemp("installed")
    venv.create(folder, symlinks=True, with_pip=False)
    library = next(folder.glob("lib/python*/site-packages"))
    # A path in a .pth adds the requirements, and not what their own .pth files name: this checkout.
    (library / "requirements.pth").write_text(f"{sysconfig.get_path('purelib')}\n")
    pip = (sys.executable, "-m", "pip", "--python", str(folder / "bin" / "python"))
    subprocess.run([*pip, "install", "--quiet", "--no-deps", "--no-index", str(wheel)], check=True)
    return folder / "bin" / "forge"


def test_it_has_every_file_of_the_packages(wheel: Path) -> None:
    wanted = set(_list_tracked(*PACKAGES, "app.yml"))
    names = zipfile.ZipFile(wheel).namelist()
    assert {name for name in names if ".dist-info/" not in name} == wanted


def test_it_answers_and_reviews(forge: Path, tmp_path: Path) -> None:
    assert _run(forge, tmp_path, "--version").stdout.startswith("forge ")
    (tmp_path / "app.py").write_text("import os\n")
    for git in (["init", "-q", "-b", "main"], ["add", "."], ["-c", "user.name=a", "-c", "user.email=a@b.c", *_COMMIT]):
        subprocess.run(["git", *git], cwd=tmp_path, check=True)
    (tmp_path / "app.py").write_text("import os\n\n\ndef run(text):\n    return eval(text)\n")
    found = json.loads(_run(forge, tmp_path, "review", ".", "--json").stdout)["findings"]
    assert any(each["path"] == "app.py" and each["line"] == 5 for each in found)


async def test_it_serves(forge: Path, tmp_path: Path) -> None:
    """Migrations, pages and the account of what is ready come out of the wheel."""
    async with Simulator(tmp_path / "github", webhook_secret=SECRET) as github:
        environment = _environment(
            FORGE_GITHUB_API_URL=github.api_url,
            FORGE_GITHUB_WEB_URL=github.url,
            FORGE_APP_ID=str(github.app.id),
            FORGE_PRIVATE_KEY=github.app.private_key_pem,
            FORGE_WEBHOOK_SECRET=SECRET,
            FORGE_PORT="0",
            FORGE_LOG_FORMAT="json",
        )
        process = await asyncio.create_subprocess_exec(
            str(forge), "serve", cwd=tmp_path, env=environment, stderr=asyncio.subprocess.PIPE
        )
        assert process.stderr is not None
        said: list[bytes] = []
        async for line in process.stderr:
            said.append(line)
            if b'"event": "serving"' in line:
                break
        else:
            pytest.fail(b"".join(said).decode())
        port = json.loads(said[-1])["port"]
        async with aiohttp.ClientSession() as session:
            for path in ("healthz", "readyz", "metrics"):
                async with session.get(f"http://127.0.0.1:{port}/{path}") as answer:
                    assert answer.status == 200, path
        process.send_signal(signal.SIGTERM)
        await process.communicate()
        assert process.returncode == 0


_COMMIT = ["commit", "-q", "-m", "Begin"]


def _run(forge: Path, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [forge, *arguments], cwd=folder, env=_environment(), capture_output=True, text=True, check=False
    )
    assert "Traceback" not in done.stderr, done.stderr
    return done


def _environment(**more: str) -> dict[str, str]:
    """Nothing of this checkout: the tools of the requirements are found by their path."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("FORGE_", "PYTHON"))}
    return clean | {"PATH": f"{sysconfig.get_path('scripts')}:{os.environ['PATH']}"} | more


def _list_tracked(*paths: str) -> list[str]:
    git = subprocess.run(["git", "ls-files", "--", *paths], cwd=ROOT, capture_output=True, text=True, check=True)
    return git.stdout.split()
