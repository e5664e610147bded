"""One table says how grave a danger is, so that equal dangers are equally grave, whatever tool and language."""

import re
from pathlib import Path

import pytest

import agents.review.checks
from agents.review.checks import rule_texts
from agents.review.checks.dangers.rules import FILE
from agents.review.checks.rule_texts import Danger
from agents.toolbox import Toolbox
from domain.review.findings import Layer, Severity
from tests.unit.checks.checking import check_files

GRAVE = {
    "a.py": "def f(db, c):\n    sql = f\"SELECT * FROM a WHERE b = '{c}'\"\n    return db.execute(sql).fetchall()\n",
    "b.py": "def f(text):\n    return eval(text)\n",
    "c.py": "import pickle\n\n\ndef f(b):\n    return pickle.loads(b)\n",
    "d.py": "import yaml\n\n\ndef f(t):\n    return yaml.load(t, Loader=yaml.Loader)\n",
    "e.py": 'import subprocess\n\n\ndef f(path):\n    subprocess.run("gzip " + path, shell=True)\n',
    "a.rb": "def f\n  eval(params[:filter])\nend\n",
    "b.rb": "def f\n  render inline: params[:body]\nend\n",
    "c.rb": "def f\n  Marshal.load(cookies[:a])\nend\n",
    "a.js": "export function f(text) {\n  return eval(text);\n}\n",
    "b.ts": "export function f(a: string) {\n  exec(`gzip ${a}`);\n}\n",
    "a.php": "<?php\nfunction f() {\n    return unserialize($_COOKIE['a']);\n}\n",
    "b.php": "<?php\neval($_POST['x']);\n",
    "A.cs": "class A { object F(Stream s) { return new BinaryFormatter().Deserialize(s); } }\n",
    "a.sh": "#!/bin/sh\ncurl http://site.org/install.sh | sh\n",
}
OWN = {
    "setup.py": 'exec(open("settings.py").read())\n',
    "a.py": "import pickle\n\n\ndef f():\n    return pickle.load(open('own.pickle', 'rb'))\n",
    "b.py": "import hashlib\n\n\ndef f(text):\n    return hashlib.md5(text).hexdigest()\n",
    "a.rb": 'def f\n  class_eval("def x; @#{name}; end")\nend\n',
    "a.js": "export const all = eval('this');\n",
    "a.sh": "#!/bin/sh\nsetup='cd /srv'\neval \"$setup\"\n",
}
HARMLESS = {
    "a.py": 'def f(db, c, table):\n    return db.execute(f"SELECT * FROM {table} WHERE b = ?", [c])\n',
    "c.py": "import subprocess\n\n\ndef f(command):\n    subprocess.run(command, shell=True)\n",
    "d.py": "import subprocess\n\n\ndef f():\n    path = str(f)\n    subprocess.run(f'gzip {path}', shell=True)\n",
    "a.js": "export const all = (timer) => eval(timer.func);\n",
    "b.php": "<?php\nfunction f($code) {\n    eval($code);\n}\n",
    "a.sh": '#!/bin/sh\neval "$@"\n',
    "Dockerfile": "FROM a:1\nRUN curl -fsSL https://deb.site.org/setup | bash -\n",
}


@pytest.mark.asyncio(loop_scope="session")
async def test_injection_evaluation_unsafe_loading_and_open_scripts_block(toolbox: Toolbox) -> None:
    result = await check_files(toolbox, {path: (None, text) for path, text in GRAVE.items()})
    assert {f.path for f in result.findings if f.severity is Severity.error} == set(GRAVE)


@pytest.mark.parametrize(("files", "severity"), [(HARMLESS, Severity.warning), (OWN, Severity.info)])
@pytest.mark.asyncio(loop_scope="session")
async def test_what_honest_programs_do_is_a_warning_at_most_and_a_remark_with_what_is_their_own(
    toolbox: Toolbox, files: dict[str, str], severity: Severity
) -> None:
    result = await check_files(toolbox, {path: (None, text) for path, text in files.items()})
    mine = [f for f in result.findings if f.layer is Layer.security or f.rule == "oxlint/no-eval"]
    assert {f.severity for f in mine} == {severity}
    assert {f.path for f in mine} == set(files)


@pytest.mark.asyncio(loop_scope="session")
async def test_what_builds_a_package_may_run_the_file_of_its_version_and_nothing_else(toolbox: Toolbox) -> None:
    opened = 'meta = {}\nwith open("shop/_version.py") as f:\n    exec(f.read(), meta)\n'
    foreign = 'import os\n\nwith open("shop/_version.py") as f:\n    exec(os.environ["A"] + input(), {})\n'
    files = {
        "setup.py": 'exec(open("./shop/version.py").read())\n',
        "docs/source/conf.py": opened,
        "b/setup.py": foreign,
        "c/setup.py": opened.replace("f.read()", "base64.b64decode(f.read())"),
        "d/setup.py": opened.replace("f.read()", "given"),
        "shop/a.py": opened,
    }
    result = await check_files(toolbox, {path: (None, text) for path, text in files.items()})
    assert {f.path for f in result.findings if f.rule == "ruff/S102"} == {
        "b/setup.py",
        "c/setup.py",
        "d/setup.py",
        "shop/a.py",
    }


def test_no_kind_of_danger_has_a_severity_of_its_own_elsewhere() -> None:
    folder = Path(agents.review.checks.__file__).parent
    rated = [*(folder / "dangers").glob("*.py"), folder / "patterns.py", folder / "own_rules.py"]
    assert [path.name for path in rated if re.search(r"Severity\.\w+", path.read_text())] == []


def test_every_kind_is_used_and_rated() -> None:
    folder = Path(agents.review.checks.__file__).parent
    text = "".join(path.read_text() for path in folder.rglob("*.py") if path.name != "rule_texts.py")
    named = set(re.findall(r"\bDanger\.(\w+)", text)) | {each.metadata.danger.name for each in FILE.rules}
    assert {danger.name for danger in Danger} - named == set()
    assert {rule_texts.rate(danger) for danger in Danger} == {Severity.error, Severity.warning, Severity.info}
