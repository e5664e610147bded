"""A repository's own eslint, as docs/review.md sets it up: installed outside, configured by the default branch."""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.cli.main import cli
from workspace.safe_copy import temporary_folder

PACKAGES = ("eslint@10", "@eslint/js@10", "@microsoft/eslint-formatter-sarif@3")
CONFIGURATION = """
import { createRequire } from "node:module";
const js = createRequire("%s/")("@eslint/js");
export default [js.configs.recommended, { rules: { eqeqeq: "error" } }, { ignores: ["made/**"] }];
"""
SHADOWS = {
    "src/eslint.config.js": 'export default [{ ignores: ["**"] }];\n',
    "src/eslint.config.mjs": 'export default [{ ignores: ["**"] }];\n',
    "src/.eslintrc.json": '{"root": true, "rules": {"eqeqeq": "off"}}\n',
    ".eslintignore": "src\n",
    "src/package.json": '{"eslintIgnore": ["*"], "type": "commonjs"}\n',
    "node_modules/@eslint/js/index.js": "module.exports = { configs: { recommended: {} } };\n",
}
LOOSE = "export const same = (a, b) => a == b;\n"


@pytest.fixture(scope="module")
def tools() -> Iterator[Path]:
    """A folder with eslint, from what npm downloaded before."""
    if shutil.which("npm") is None:
        pytest.skip("npm is not installed here")
    quiet = ("--offline", "--no-audit", "--no-fund", "--ignore-scripts")
    with temporary_folder("eslint") as folder:
        folder.chmod(0o755)  # a sandbox of another account reads it
        done = subprocess.run(["npm", "install", *quiet, *PACKAGES], cwd=folder, capture_output=True, check=False)
        if done.returncode:
            pytest.skip(f"npm did not download eslint before: run `npm install {' '.join(PACKAGES)}` somewhere once")
        yield folder


def test_eslint_obeys_the_default_branch_only(tools: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    os.environ["FORGE_SANDBOX_TOOLS"] = str(tools)
    bin_, sarif = (
        f"{tools}/node_modules/.bin/eslint",
        f"{tools}/node_modules/@microsoft/eslint-formatter-sarif/sarif.js",
    )
    linter = {"name": "eslint", "run": f"{bin_} -f {sarif}", "paths": ["**/*.js"], "files": ["eslint.config.js"]}
    _write(
        tmp_path,
        {
            ".github/forge.yml": json.dumps({"review": {"linters": [linter]}}),
            "eslint.config.js": CONFIGURATION % tools,
            "src/old.js": LOOSE,
        },
    )
    for command in (["init", "-q", "-b", "main"], ["add", "."], ["commit", "-qm", "x"]):
        subprocess.run(
            ["git", "-c", "user.name=a", "-c", "user.email=a@example.com", *command], cwd=tmp_path, check=True
        )
    _write(
        tmp_path,
        SHADOWS
        | {
            "eslint.config.js": "export default [];\n",
            "src/old.js": LOOSE + "export const one = 1;\n",
            "src/new.js": LOOSE,
            "src/fine.js": "export const two = 2;\n",
            "made/new.js": LOOSE,
        },
    )
    cli(["review", str(tmp_path), "--json"], standalone_mode=False)
    told = json.loads(capsys.readouterr().out)
    assert [tool for layer in told["layers"] for tool in layer["tools"] if tool["problem"]] == []
    found = [(f["rule"], f["path"], f["line"]) for f in told["findings"] if f["rule"].startswith("eslint/")]
    assert found == [("eslint/eqeqeq", "src/new.js", 1)]
    assert {"src/old.js", "src/new.js", "src/fine.js"} <= {
        path for path, by in told["read_by"].items() if "eslint" in by
    }
    assert "eslint" not in told["read_by"]["made/new.js"]  # its configuration leaves it out


def _write(folder: Path, files: dict[str, str]) -> None:
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
