"""Both layers as the reviewer meets them: real tools on both versions of a change."""

import base64
import json
import shlex
from hashlib import sha512

import pytest

from agents.review.checks.credentials import search_commits
from agents.toolbox import Toolbox
from domain.config.sections import Linter
from domain.github.pull_requests import DependencyChange, Vulnerability
from domain.review.findings import Finding, Fix, Layer, Severity
from safety.containment import CodeOrigin
from tests.unit.checks.building import Versions
from tests.unit.checks.checking import check_files, sarif
from workspace.sandbox.sandbox import Sandbox
from workspace.transient_commits import TransientFile

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def find_by_rule(toolbox: Toolbox, files: Versions, **given: object) -> dict[str, Finding]:
    result = await check_files(toolbox, files, **given)
    assert not [tool.problem for layer in result.layers for tool in layer.tools if tool.problem]
    return {finding.rule: finding for finding in result.findings}


BASE = "import os\n\n\ndef cwd():\n    return os.getcwd()\n"


async def test_only_what_the_change_introduced(toolbox: Toolbox) -> None:
    old = "import re\nimport subprocess\n\n\ndef run(c):\n    return subprocess.run(c, shell=True)\n"
    new = "import sys\n" + old + "\n\ndef more(c):\n    return subprocess.run(c, shell=True, check=True)\n"
    result = await check_files(toolbox, {"a.py": (old, new)})
    assert [(f.rule, f.line) for f in result.findings] == [("ruff/F401", 1), ("ruff/S602", 11)]


async def test_an_import_that_lost_its_use_is_new(toolbox: Toolbox) -> None:
    rules = await find_by_rule(toolbox, {"a.py": (BASE, BASE.replace("os.getcwd()", "'/'"))})
    assert rules["ruff/F401"].line == 1
    assert rules["ruff/F401"].fix == Fix(start_line=1, end_line=1, replacement="")
    assert rules["ruff/F401"].severity is Severity.warning


async def test_an_import_that_only_type_comments_use_is_used(toolbox: Toolbox) -> None:
    used = "import numpy as np\nfrom typing import Dict, List as L\n\nx = []  # type: L[np.int8]\n"
    signed = "\n\ndef f(a):\n    # type: (int) -> Dict\n    return a  # type: ignore[Any]\n"
    assert await find_by_rule(toolbox, {"a.py": (None, used + signed)}) == {}
    unused = "from typing import Any\n" + used + signed
    assert (await find_by_rule(toolbox, {"a.py": (None, unused)}))["ruff/F401"].line == 1
    together = used.replace("Dict, ", "Any, Dict, ") + signed
    assert (await find_by_rule(toolbox, {"a.py": (None, together)}))["ruff/F401"].fix is None
    before, now = (f"import re\n\nx = None{comment}\n" for comment in ("  # type: re.Pattern", ""))
    assert (await find_by_rule(toolbox, {"a.py": (before, now)}))["ruff/F401"].line == 1


async def test_errors_ask_for_changes(toolbox: Toolbox) -> None:
    rules = await find_by_rule(
        toolbox, {"a.py": (None, "def f():\n    return undefined\n"), "b.py": (None, "def f(:\n  x\n")}
    )
    assert rules["ruff/F821"].severity is Severity.error
    assert rules["ruff/invalid-syntax"].severity is Severity.error
    assert "undefined" in rules["ruff/F821"].message


_TASTELESS = (
    "import os, sys\nl = 1\nif l == True: print(f'x' , os,sys)\n" + "x = 1;" + "# " + "y" * 200 + "\n"
    "try:\n    pass\nexcept:\n    raise\nassert l\nimport random\nrandom.random()\n"
)
_RAISES = "import sys\n\n\ndef again(error):\n    if error is sys.exc_info()[1]:\n        raise\n    raise error\n"
_LOADS = "import yaml\n\n\ndef test_x():\n    assert yaml.load(open('/tmp/x')) == 1\n"
_TYPED = "def test_type() -> None:\n    reveal_type(1)  # R: int\n"
_OTHER_PYTHON = """try:
    from itertools import izip, ifilter
    xrange = xrange
except ImportError:
    from functools import reduce

    izip = zip
"""
_CATCHES = "def read(text):\n    try:\n        return unicode(text)\n    except {}:\n        return None\n"
_ASKS = (
    "def is_here():\n    try:\n        {}\n    except NameError:\n        return False\n"
    "    shell = get_ipython().__class__\n    return shell is not None\n"
)
_LOSES = "def read(a):\n    {}\n    return a\n"
_UNPARSED = "import os\n\ntry:\n    f()\nexcept A, e:\n    pass\nexcept B, e:\n    pass\nelse g\n"
_EMBEDDED = "from IPython.terminal.embed import InteractiveShellEmbed\n\nshell = InteractiveShellEmbed()\n"
SAID_OF_PYTHON: dict[str, tuple[str, str, set[str]]] = {  # path, text, rules
    "taste that nobody asked for": ("a.py", _TASTELESS, set()),
    "a bare raise may be for the handler that calls": ("a.py", _RAISES, set()),
    "tests may do what programs should not": ("tests/test_x.py", _LOADS, set()),
    "programs may not": ("x.py", _LOADS, {"ruff/S108", "ruff/S506"}),
    "a test of types has the names of type checkers": ("tests/test_types.py", _TYPED, set()),
    "other code has not": ("types.py", _TYPED, {"ruff/F821"}),
    "a name that another python lacks": ("a.py", _OTHER_PYTHON, set()),
    "a name that no python has": (
        "a.py",
        "try:\n    print(xrang)\nexcept ImportError:\n    print(izi)\n",
        {"ruff/F821"},
    ),
    "a name of python 2 where that is written": ("a.py", _CATCHES.format("ValueError, error"), set()),
    "a name of python 2 elsewhere": ("a.py", _CATCHES.format("ValueError"), {"ruff/F821"}),
    "a name is used behind a line that asks for it": ("a.py", _ASKS.format("get_ipython  # type: ignore"), set()),
    "or that calls it": ("a.py", _ASKS.format("shell = get_ipython()"), set()),
    "but not behind any other": ("a.py", _ASKS.format("pass"), {"ruff/F821"}),
    "a shell of ipython need not be started": ("a.py", _EMBEDDED, set()),
    "a debugger starts": ("a.py", "breakpoint()\n", {"ruff/T100"}),
    "reading an attribute may do something": ("a.py", _LOSES.format("a.b.c"), set()),
    "also of what a call gives": ("a.py", _LOSES.format("a.get(1).b  # made"), set()),
    "reading a name does nothing": ("a.py", _LOSES.format("a"), {"ruff/B018"}),
    "rules are silent about a file that does not parse": ("a.py", _UNPARSED, {"ruff/invalid-syntax"}),
}


@pytest.mark.parametrize("told", SAID_OF_PYTHON)
async def test_which_rules_speak_of_new_python(toolbox: Toolbox, told: str) -> None:
    path, text, rules = SAID_OF_PYTHON[told]
    assert set(await find_by_rule(toolbox, {path: (None, text)})) == rules


@pytest.mark.parametrize(
    ("before", "is_said"), [("class A(unicode):\n    pass\n", False), ("class A:\n    pass\n", True)]
)
async def test_a_name_of_python_2_is_no_news_where_the_file_had_it(
    toolbox: Toolbox, before: str, *, is_said: bool
) -> None:
    found = await find_by_rule(toolbox, {"a.py": (before, f"{before}\n\ndef f(a):\n    return unicode(a)\n")})
    assert ("ruff/F821" in found) is is_said


async def test_a_base_that_could_not_be_parsed_excuses_the_rest_of_the_file(toolbox: Toolbox) -> None:
    old = "import os\nimport re\n\n\ndef f(:\n    pass\n"
    new = "import os\nimport re\n\n\ndef f():\n    return missing\n"
    assert set(await find_by_rule(toolbox, {"a.py": (old, new)})) == {"ruff/F821"}


async def test_what_another_linter_was_told_is_not_said_again(toolbox: Toolbox) -> None:
    text = "def f():\n    try:\n        g()\n    finally:\n        return 1{}\n\n\ndef g():\n    return None\n"
    assert "ruff/B012" in await find_by_rule(toolbox, {"a.py": (None, text.format(""))}, origin=CodeOrigin.member)
    told: Versions = {"a.py": (None, text.format("  # pylint: disable=return-in-finally"))}
    assert await find_by_rule(toolbox, told, origin=CodeOrigin.member) == {}
    silenced = "def f():\n    return missing  # pylint: disable=undefined-variable\n"
    assert "ruff/F821" in await find_by_rule(toolbox, {"a.py": (None, silenced)}, origin=CodeOrigin.member)


SHELL = "import subprocess\nimport sys\n\n"


@pytest.mark.parametrize(
    "newer",
    [
        "type Ids = list[int]\n",
        'd = {"k": 1}\ntext = f"{d["k"]}"\n',
        "class Box[T = int]:\n    pass\n",
        'name = "x"\ngreeting = t"hello {name}"\n',
        "try:\n    pass\nexcept ValueError, TypeError:\n    pass\n",
    ],
)
async def test_python_newer_than_that_of_forge_is_checked(toolbox: Toolbox, newer: str) -> None:
    insecure = f"{SHELL}{newer}subprocess.run(sys.argv[1], shell=True)\n"
    result = await check_files(toolbox, {"a.py": (None, insecure)})
    assert [(f.rule, f.severity) for f in result.findings] == [("ruff/S602", Severity.error)]
    assert result.read_by == {"a.py": ("ruff",)}
    assert all(tool.problem is None for layer in result.layers for tool in layer.tools)


INSECURE_PYTHON: list[tuple[str, Severity | None]] = [
    ('subprocess.run("gzip " + c, shell=True)', Severity.error),
    ('subprocess.run(\n        f"gzip {c}",\n        shell=True,\n    )', Severity.error),
    ('os.system("gzip %s" % c)', Severity.error),
    ("subprocess.run(sys.argv[1], shell=True)", Severity.error),
    ("subprocess.run(c, shell=True)", Severity.warning),  # may be put together with care
    ('subprocess.run("ls *", shell=True)', None),  # nothing comes from outside
    ("line = '/sbin/' + NAME\n    os.popen(line)", Severity.info),
    ("os.system(MAKE)", Severity.info),
    ('os.system(f"black {PLACE}")', Severity.info),
    ('os.system(f"black {place}")', Severity.warning),
    ("line = 'gzip ' + c\n    os.system(line)", Severity.warning),
    ("line = (\n        'gzip ' + c\n    )\n    os.system(line)", Severity.warning),
    ("line = build(c)\n    os.system(line)", Severity.warning),
    ("os.chmod(c, 0o777)", Severity.warning),
    ("os.chmod(c, 0o770)", Severity.warning),
    ("eval(c)", Severity.error),
    ("eval('1 + 1')", Severity.info),
    ("exec(c, {})", Severity.error),
    ('exec(open("version.py").read())', Severity.info),
    ("code = compile(SOURCE, 'a', 'exec')\n    exec(code)", Severity.info),
    ('exec(base64.b64decode("cHJpbnQoKQ=="))', Severity.warning),
    ("code = bytes.fromhex(WORD)\n    exec(code)", Severity.warning),
    ("code = settings['code']\n    exec(code)", Severity.warning),
    ("eval(row.get('code'))", Severity.warning),
    ("code = request.args['x']\n    eval(code)", Severity.error),
    ("pickle.loads(c)", Severity.error),
    ("pickle.loads(\n        c\n    )", Severity.error),
    ("pickle.loads(pickle.dumps(c))", None),
    ("pickle.loads(self.cache)", Severity.info),
    ("yaml.load(c, Loader=OwnLoader)", Severity.info),
    ("yaml.load(c)", Severity.error),
    ('pickle.load(open("own", "rb"))', Severity.info),
    ("yaml.load(c, Loader=yaml.Loader)", Severity.error),
    ("yaml.load(\n        c,\n        Loader=yaml.Loader,\n    )", Severity.error),
    ("yaml.load(request.data, Loader=yaml.Loader)", Severity.error),
    ("with open('own') as f:\n        yaml.load(f, Loader=yaml.Loader)", Severity.info),
    ("etag = hashlib.sha1(c).hexdigest()", Severity.info),
    ("password = c\n    return hashlib.md5(password.encode())", Severity.warning),
    ("return mark_safe(c)", Severity.warning),
    ("return mark_safe('<p>' + request.GET['a'])", Severity.warning),
    ("return mark_safe(self.rendered)", Severity.info),
    ("text = '<b>%s</b>' % cursor.name\n    return mark_safe(text)", Severity.warning),
    ("text = format_html('<b>{}</b>', cursor.name)\n    return mark_safe(text)", Severity.info),
    ("return Markup(c)", Severity.warning),
    ("return Markup(concat(self.stream))", Severity.info),
    ("yaml.load(c, Loader=yaml.SafeLoader)", None),
    ("tarfile.open(c).extractall()", Severity.warning),
    ("tarfile.open(c).extractall(members=c)", None),
    ('tarfile.open(c).extractall(filter="data")', None),
    ("urllib.request.urlopen(c)", None),
    ("assert c", None),
]


async def test_insecure_python(toolbox: Toolbox) -> None:
    head = "import base64, hashlib, os, pickle, subprocess, sys, tarfile, urllib.request, yaml\n"
    head += "from django.utils.safestring import mark_safe\nfrom markupsafe import Markup\n\n\ndef f(c, cursor):\n    "
    files = {f"a{number}.py": (None, f"{head}{line}\n") for number, (line, _) in enumerate(INSECURE_PYTHON)}
    findings = (await check_files(toolbox, files)).findings
    for number, (line, expected) in enumerate(INSECURE_PYTHON):
        found = [f.severity for f in findings if f.path == f"a{number}.py" and f.layer is Layer.security]
        assert found == ([expected] if expected else []), line


async def test_a_repository_cannot_switch_its_security_off(toolbox: Toolbox) -> None:
    settings = {"pyproject.toml": b'[tool.ruff]\nexclude = ["*"]\n[tool.ruff.lint]\nignore = ["S", "ALL"]\n'}
    insecure = f"{SHELL}subprocess.run(sys.argv[1], shell=True)\n"
    result = await check_files(toolbox, {"a.py": (None, insecure)}, project=settings)
    assert "ruff/S602" in {f.rule for f in result.findings}


async def test_syntax_newer_than_the_default_is_fine_unless_the_project_says_otherwise(toolbox: Toolbox) -> None:
    text = "type A = int\n\n\ndef f[T](x: T) -> T:\n    match x:\n        case _:\n            return x\n"
    result = await check_files(toolbox, {"a.py": (None, text)})
    assert result.findings == ()
    old = {"pyproject.toml": b'[project]\nrequires-python = ">=3.9"\n'}
    result = await check_files(toolbox, {"a.py": (None, text)}, project=old)
    assert [f.rule for f in result.findings] == ["ruff/invalid-syntax"]


@pytest.mark.parametrize(
    ("python", "line", "severity"),
    [
        ('[project]\nrequires-python = ">=3.9"\n', "print 'x'", Severity.error),
        ("", "print 'x'", Severity.warning),
        ("", '"""\n    print a\n    """\n    (', Severity.error),
    ],
)
async def test_code_of_python_2_blocks_where_the_project_names_python_3(
    toolbox: Toolbox, python: str, line: str, severity: Severity
) -> None:
    old = "def show(text):\n    return text\n"
    files: Versions = {"a.py": (old, old.replace("return", f"{line}\n    return"))}
    result = await check_files(toolbox, files, project={"pyproject.toml": python.encode()})
    assert [(each.rule, each.severity) for each in result.findings] == [("ruff/invalid-syntax", severity)]
    assert [each.reason for each in result.not_read] == ["ruff cannot parse it"]


@pytest.mark.parametrize(
    ("path", "old", "tool"),
    [
        ("a.py", "from asyncio import async\n\nONE = 1\n", "ruff"),
        ("a.sh", "#!/bin/bash\nif [[ a $b c ]]; then\n  echo 1\nfi\n", "shellcheck"),
    ],
)
async def test_a_file_that_could_not_be_parsed_before_either_is_named(
    toolbox: Toolbox, path: str, old: str, tool: str
) -> None:
    result = await check_files(toolbox, {path: (old, old.replace("1", "2"))})
    assert result.findings == ()
    assert [(each.path, each.reason) for each in result.not_read] == [(path, f"{tool} cannot parse it")]


CONFIGURED = {
    "pyproject.toml": b"""
[tool.ruff]
line-length = 40
[tool.ruff.lint]
select = ["E", "F", "UP", "I", "INP", "D1"]
ignore = ["F841"]
[tool.ruff.lint.per-file-ignores]
"scripts/*" = ["E501", "D1"]
[tool.ruff.lint.pydocstyle]
convention = "google"
"""
}


async def test_what_a_test_logs_is_what_it_is_about(toolbox: Toolbox) -> None:
    text = "import logging\n\n\ndef test_f():\n    logging.exception('a')\n"
    files: Versions = {"a.py": (None, text), "tests/test_a.py": (None, text)}
    told = {"pyproject.toml": b'[tool.ruff.lint]\nselect = ["LOG004"]\n'}
    result = await check_files(toolbox, files, project=told, origin=CodeOrigin.member)
    assert [(found.path, found.rule) for found in result.findings] == [("a.py", "ruff/LOG004")]


MEANT = {  # what merged changes of others had
    "loop.py": "def f(some):\n    for one in some:\n        yield lambda: one\n",
    "init.py": "class A(dict):\n    def __init__(self):\n        return super(A, self).__init__()\n",
    "copied.py": "class A:\n    def __deepcopy__(self, memo={}):\n        return self\n",
    "pair.py": "def f(a, b):\n    a, b = a, 2\n    return a, b\n",
    "executed.py": "exec(open('version.py').read())\nprint(__version__)\n",
    "apart.py": "import sys\n\nif sys.version_info[0] == 2:\n    text = unicode\nelse:\n    text = str\n",
    "tried.py": "try:\n    numbers = xrange\nexcept:\n    numbers = range\n",
    "tests/requests/one.py": 'request = {"uri": uri("/a")}\n',
    "test_raises.py": "def test_f(raises, query):\n    with raises(ValueError):\n        query == 2\n",
    "test_zero.py": "def bad():\n    1 / 0\n",
    "test/a.js": "app.enabled('view cache').should.be.true;\nDate = none;\n",
    "set.js": "if (IE) {\n  a.now = a.now;\n}\n",
    "test/_files/data.js": "({\n  length: 'hello'\n});\n",
    "test/given.js": "export function f(made) {\n  var pre;\n  eval('var pre = made');\n  return pre();\n}\n",
    "lib/built.js": 'Object.defineProperty(exports, "__esModule", {});\ntry { g(); } finally { if (a) throw a; }\n',
    "spec/fixtures/config.rb": "class <%= @klass %>; end\n",
    "empty.sh": '#!/bin/bash\nPGHOST= psql -d "$PGHOST"\n',
}


async def test_what_others_do_on_purpose_is_no_warning(toolbox: Toolbox) -> None:
    result = await check_files(toolbox, {path: (None, text) for path, text in MEANT.items()})
    assert [(f.path, f.rule) for f in result.findings if f.severity is not Severity.info] == []


MISTAKEN = {
    "pair.py": "def f(a):\n    a = a\n    return a\n",
    "executed.py": "print(__versio__)\nexec(open('version.py').read())\n",
    "apart.py": "import sys\n\nif sys.version_info[0] == 2:\n    text = unicod\n",
    "tests/test_one.py": 'request = {"uri": uri("/a")}\n',
    "tests/helper.py": 'def f():\n    return uri("/a")\n',
    "test_raises.py": "def test_f(raises, query):\n    with raises(ValueError):\n        query()\n    query == 2\n",
    "test/a.js": "app.enabled;\n",
    "set.js": "let a = 1;\na = a;\nexport { a };\n",
    "config.rb": "class <%= @klass %>; end\n",
}


async def test_what_only_looks_like_it_is_one(toolbox: Toolbox) -> None:
    result = await check_files(toolbox, {path: (None, text) for path, text in MISTAKEN.items()})
    assert {f.path for f in result.findings if f.severity is not Severity.info} == set(MISTAKEN)


@pytest.mark.parametrize(("line", "rule"), [("print(xrange(3))", "ruff/F821"), ('print >> out, "a"', "ruff/F633")])
async def test_what_only_python_2_has_is_said_so(toolbox: Toolbox, line: str, rule: str) -> None:
    """As an error where something names the Python of the code, else as a warning."""
    files: Versions = {"a.py": (None, f"import sys\n\nout = sys.stderr\n{line}\n")}
    named = {"pyproject.toml": b'[project]\nname = "a"\nrequires-python = ">=3.11"\n'}
    found = await find_by_rule(toolbox, files)
    assert "Python 3" in found[rule].message
    assert found[rule].severity is Severity.warning
    assert (await find_by_rule(toolbox, files, project=named))[rule].severity is Severity.error


async def test_rules_the_team_chose(toolbox: Toolbox) -> None:
    text = '"""Doc."""\n\nx = "a text that is much longer than forty"\n\n\ndef f():\n    """Doc."""\n    y = 1\n'
    files: Versions = {"pkg/a.py": (None, text), "scripts/a.py": (None, text)}
    result = await check_files(toolbox, files, project=CONFIGURED)
    assert [(f.rule, f.path) for f in result.findings] == [("ruff/E501", "pkg/a.py")]
    assert result.findings[0].severity is Severity.info


async def test_order_of_imports_only_when_we_know_whose_they_are(toolbox: Toolbox) -> None:
    text = '"""Doc."""\n\nimport requests\n\nimport ours\n\nprint(ours, requests)\n'
    files: Versions = {"scripts/a.py": (None, text)}
    assert await find_by_rule(toolbox, files, project=CONFIGURED) == {}
    assert await find_by_rule(toolbox, files, project=CONFIGURED, first_party=["ours"]) == {}
    assert set(await find_by_rule(toolbox, files, project=CONFIGURED, first_party=["theirs"])) == {"ruff/I001"}
    for source, rules in (('[".", "./src/"]', {"ruff/I001"}), ('["lib"]', set[str]())):  # there nobody looked
        elsewhere = CONFIGURED["pyproject.toml"].replace(b"[tool.ruff]", f"[tool.ruff]\nsrc = {source}".encode())
        given: dict[str, object] = {"project": {"pyproject.toml": elsewhere}, "first_party": ["theirs"]}
        assert set(await find_by_rule(toolbox, files, **given)) == rules


async def test_a_python_that_the_change_gives_up_does_not_order_its_imports(toolbox: Toolbox) -> None:
    """`zoneinfo` belongs to Python since 3.9."""
    text = (
        "from enum import Enum\nfrom zoneinfo import ZoneInfo\n\nimport requests\n\nprint(Enum, ZoneInfo, requests)\n"
    )
    old = '[project]\nrequires-python = ">=3.8"\n[tool.ruff]\ntarget-version = "py38"\nlint.select = ["I"]\n'
    given: dict[str, object] = {"project": {"pyproject.toml": old.encode()}, "first_party": ["ours"]}
    assert set(await find_by_rule(toolbox, {"a.py": (None, text)}, **given)) == {"ruff/I001"}
    for version, rules in (("3.9", set[str]()), ("3.7", {"ruff/I001"})):
        files: Versions = {"a.py": (None, text), "pyproject.toml": (old, old.replace(">=3.8", f">={version}"))}
        assert set(await find_by_rule(toolbox, files, **given)) == rules


async def test_formatting_is_mentioned_once_where_it_was_kept(toolbox: Toolbox) -> None:
    files: Versions = {"a.py": ("x = 1\n", "x = 1\ny=2\nz=3\n"), "b.py": ("x=1\n", "x=1\ny=2\n")}
    plain = {"ruff.toml": b"line-length = 100\n"}
    settings = {"ruff.toml": plain["ruff.toml"] + b"[format]\nquote-style = 'single'\n"}
    for project in (
        settings,
        {**plain, ".pre-commit-config.yaml": b"hooks:\n  - id: ruff-check\n  - id: ruff-format\n"},
    ):
        result = await check_files(toolbox, files, project=project)
        assert [(f.rule, f.path, f.severity) for f in result.findings] == [("ruff/format", "a.py", Severity.info)]
    linted = {**plain, ".pre-commit-config.yaml": b"hooks:\n  - id: black\n  - id: ruff\n"}
    for project in ({}, plain, linted):  # what formats it may be another program
        assert (await check_files(toolbox, files, project=project)).findings == ()


async def test_a_configuration_that_extends_another_is_left_aside_and_said_so(toolbox: Toolbox) -> None:
    extending = {"ruff.toml": b'extend = "base.toml"\n[lint]\nselect = ["D"]\n'}
    result = await check_files(toolbox, {"a.py": (None, "import os\n")}, project=extending)
    assert [f.rule for f in result.findings] == ["ruff/F401"]
    assert "extends another file" in (result.layers[0].note or "")


WORKFLOW = """name: x
on: [pull_request_target]
permissions: {}
jobs:
  a:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/setup-python@v5
      - uses: someone/thing@main
      - run: echo "${{ github.event.pull_request.title }}"
"""


async def find_in_workflow(toolbox: Toolbox, workflow: str, before: str | None = None) -> dict[str, Finding]:
    return await find_by_rule(toolbox, {".github/workflows/a.yml": (before, workflow)})


async def test_workflows(toolbox: Toolbox) -> None:
    rules = await find_in_workflow(toolbox, WORKFLOW)
    assert set(rules) == {"zizmor/template-injection", "zizmor/dangerous-triggers", "zizmor/unpinned-uses"}
    assert rules["zizmor/template-injection"].severity is Severity.error
    assert rules["zizmor/template-injection"].line == 10
    assert rules["zizmor/unpinned-uses"].line == 9


@pytest.mark.parametrize("trigger", ["push", "pull_request_target"])
async def test_a_value_of_a_matrix_is_a_danger_where_strangers_start_the_workflow(
    toolbox: Toolbox, trigger: str
) -> None:
    matrix = "    strategy:\n      matrix:\n        v: ${{ fromJson(needs.b.outputs.v) }}\n    steps:\n"
    workflow = WORKFLOW.replace("pull_request_target", trigger).replace("    steps:\n", matrix)
    workflow = workflow.replace("github.event.pull_request.title", "matrix.v")
    rules = await find_in_workflow(toolbox, workflow)
    assert ("zizmor/template-injection" in rules) is (trigger == "pull_request_target")


RIGHTS = "zizmor/excessive-permissions"
TWO_JOBS = "  b:\n    runs-on: ubuntu-latest\n    permissions: {}\n    steps:\n      - run: make\n"
OWN_JOB = """name: x
on: push
permissions: {}
jobs:
  a:
    runs-on: ubuntu-latest
    steps:
      - run: make
"""


_EVERY = ("permissions: {}", "permissions: write-all")
_USUAL = ("permissions: {}\n", "")


@pytest.mark.parametrize(
    ("workflow", "found"),
    [
        (OWN_JOB, None),
        (OWN_JOB.replace("permissions: {}", "permissions: read-all"), None),
        (OWN_JOB.replace("permissions: {}", "permissions:\n  contents: write"), None),
        (OWN_JOB.replace(*_USUAL), (Severity.info, 4)),
        (OWN_JOB.replace(*_EVERY), (Severity.warning, 3)),
        (OWN_JOB.replace(*_EVERY) + TWO_JOBS, (Severity.warning, 3)),
        (OWN_JOB.replace("    steps", "    permissions: write-all\n    steps"), (Severity.warning, 7)),
        (WORKFLOW.replace(*_EVERY), (Severity.warning, 3)),
        (WORKFLOW.replace(*_USUAL), (Severity.warning, 4)),
        (WORKFLOW.replace(*_USUAL).replace("pull_request_target", "issue_comment"), (Severity.warning, 4)),
    ],
)
async def test_every_right_or_usual_ones_for_strangers_are_warned_of_and_others_a_remark_at_most(
    toolbox: Toolbox, workflow: str, found: tuple[Severity, int] | None
) -> None:
    told = (await find_in_workflow(toolbox, workflow)).get(RIGHTS)
    assert (told and (told.severity, told.line)) == found
    if told and told.severity is Severity.warning:
        assert told.message.endswith("Name the permissions each job needs in a `permissions:` block.")


async def test_permissions_that_are_taken_away_are_missed(toolbox: Toolbox) -> None:
    """No changed line holds what is said of the job."""
    after = WORKFLOW.replace("permissions: {}\n", "")
    assert set(await find_in_workflow(toolbox, after, WORKFLOW)) == {RIGHTS}


CHECKOUT = """\
      - uses: actions/checkout@v5
        with:
          ref: ${{ github.event.pull_request.head.sha }}
"""


@pytest.mark.parametrize(
    ("steps", "severity"),
    [
        (CHECKOUT + "      - run: npm ci\n", Severity.error),
        (CHECKOUT + "      - uses: ./tools/build\n", Severity.error),
        ("      - run: npm ci\n" + CHECKOUT, Severity.warning),
        (
            CHECKOUT.replace("pull_request.head.sha", "pull_request.base.sha") + "      - run: npm ci\n",
            Severity.warning,
        ),
        (
            CHECKOUT + "  b:\n    environment: checked\n    runs-on: ubuntu-latest\n    steps:\n      - run: npm ci\n",
            Severity.warning,
        ),
        (CHECKOUT + "  b:\n    runs-on: ubuntu-latest\n    steps:\n      - run: npm ci\n", Severity.warning),
        ("      - uses: octo-org/greet@v1\n", Severity.info),  # it brings nothing there
        ("      - uses: actions/download-artifact@v5\n", Severity.warning),
        ("      - run: gh pr diff > all\n", Severity.warning),
    ],
)
async def test_who_runs_the_code_of_strangers_with_secrets_is_stopped(
    toolbox: Toolbox, steps: str, severity: Severity
) -> None:
    workflow = WORKFLOW.partition("      - uses")[0] + steps
    rules = await find_in_workflow(toolbox, workflow)
    assert rules["zizmor/dangerous-triggers"].severity is severity
    assert rules["zizmor/dangerous-triggers"].message.startswith("It checks out") == (severity is Severity.error)


async def test_javascript_in_tests_and_from_requests(toolbox: Toolbox) -> None:
    """What a request sent becomes code; tests pollute on purpose, and expect by naming."""
    sent = "export const f = (req) => new Function('return ' + req.query.expr)();\n"
    own = "export const g = (text) => new Function(text)();\n"
    found = await find_by_rule(toolbox, {"src/a.js": (None, sent)})
    assert found["oxlint/no-new-func"].severity is Severity.error
    found = await find_by_rule(toolbox, {"src/b.js": (None, own)})
    assert found["oxlint/no-new-func"].severity is Severity.warning
    compiled = f'Object.defineProperty(exports, "__esModule", {{}});\n{sent}'
    assert "oxlint/no-new-func" in await find_by_rule(toolbox, {"src/d.js": (None, compiled)})
    polluted = "Object.prototype.x = 1;\nexpect(f()).to.exist;\n"
    assert set(await find_by_rule(toolbox, {"test/a.test.js": (None, polluted)})) == set()
    assert set(await find_by_rule(toolbox, {"src/c.js": (None, polluted)})) == {
        "oxlint/no-extend-native",
        "oxlint/no-unused-expressions",
    }


ONE_JOB = WORKFLOW.replace("permissions: {}", "permissions:\n  pull-requests: write")
OTHER_JOB = "  b:\n    runs-on: ubuntu-latest\n    steps:\n      - run: make\n"
BROKEN_BEFORE = WORKFLOW.replace("      - run", "          - run")


@pytest.mark.parametrize(
    ("before", "after", "found"),
    [
        (ONE_JOB, ONE_JOB + OTHER_JOB, set[tuple[str, int]]()),
        (WORKFLOW.replace("[pull_request_target]", "push"), WORKFLOW, {("zizmor/dangerous-triggers", 2)}),
        (
            BROKEN_BEFORE.replace("permissions: {}\n", ""),
            WORKFLOW.replace("permissions: {}\n", ""),
            set[tuple[str, int]](),
        ),
    ],
)
async def test_what_a_workflow_had_is_not_said_of_a_line_beside(
    toolbox: Toolbox, before: str, after: str, found: set[tuple[str, int]]
) -> None:
    result = await check_files(toolbox, {".github/workflows/a.yml": (before, after)})
    told = {(each.rule, each.line) for each in result.findings if each.rule != "zizmor/template-injection"}
    assert told == found


@pytest.mark.parametrize(
    ("expression", "severity"),
    [
        ("github.event.issue.title", Severity.error),
        ("github.head_ref", Severity.error),
        ("github.event.inputs.version", Severity.info),  # who may start it has rights of their own
        ("github.ref_name", Severity.info),
        ("github.ref_name || github.head_ref", Severity.error),
        ("github.event.release.tag_name", Severity.warning),
    ],
)
async def test_what_strangers_write_is_graver_in_a_script(
    toolbox: Toolbox, expression: str, severity: Severity
) -> None:
    workflow = WORKFLOW.replace("github.event.pull_request.title", expression)
    rules = await find_in_workflow(toolbox, workflow)
    assert rules["zizmor/template-injection"].severity is severity


async def test_workflow_findings_that_were_there_before(toolbox: Toolbox) -> None:
    assert await find_in_workflow(toolbox, WORKFLOW.replace("name: x", "# y\nname: x"), WORKFLOW) == {}
    assert await find_by_rule(toolbox, {"docs/a.yml": (None, WORKFLOW)}) == {}


async def test_scripts(toolbox: Toolbox) -> None:
    old = "FROM python:3.12\nRUN curl -k https://site.org/x -o y\n"
    rules = await find_by_rule(toolbox, {"Dockerfile": (old, old + "RUN chmod -R 777 /app\n")})
    assert {rule: finding.line for rule, finding in rules.items()} == {"shell/world-writable": 3}


async def test_credentials_are_never_quoted(toolbox: Toolbox) -> None:
    token = "gh" + "p_" + "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0dF3hJ6"
    text = f'import os; TOKEN = "{token}"\npassword = "q9Zr4-Tk2w"\n'
    result = await check_files(toolbox, {"a.py": (None, text)})
    assert [(f.rule, f.line) for f in result.findings][:2] == [("secret/github-token", 1), ("secret/keyword", 2)]
    assert result.findings[0].severity is Severity.critical
    assert token not in repr(result)
    assert "q9Zr4" not in repr(result)


async def test_vulnerable_dependencies(toolbox: Toolbox) -> None:
    hole = Vulnerability(
        severity="high",
        advisory_ghsa_id="GHSA-aaaa-bbbb-cccc",
        advisory_summary="It leaks.",
        advisory_url="https://github.com/a",
    )
    added = DependencyChange(
        change_type="added",
        manifest="requirements.txt",
        ecosystem="pip",
        name="thing",
        version="1.0",
        vulnerabilities=(hole,),
    )
    old = added.model_copy(update={"change_type": "removed", "version": "0.9"})
    files: Versions = {"requirements.txt": ("a==1\n", "a==1\nthing-other==1.0\nthing==1.0\n")}
    rules = await find_by_rule(toolbox, files, dependencies=[added])
    assert rules["dependency/GHSA-aaaa-bbbb-cccc"].line == 3
    assert rules["dependency/GHSA-aaaa-bbbb-cccc"].severity is Severity.error
    assert await find_by_rule(toolbox, files, dependencies=[old]) == {}
    assert await find_by_rule(toolbox, files, dependencies=[old, added]) == {}


@pytest.mark.parametrize(
    ("path", "before", "after", "is_said"),
    [
        ("requirements.txt", "a==1\n", "a==2\n", True),
        ("web/package-lock.json", None, "{}\n", True),
        ("go.mod", "module a\n", None, False),
        ("app.py", "x = 1\n", "x = 2\n", False),
    ],
)
async def test_that_dependencies_were_not_compared_is_said_where_there_are_some(
    toolbox: Toolbox, path: str, before: str | None, after: str | None, is_said: bool
) -> None:
    files: Versions = {path: (before, after), "b.txt": (None, "x\n")}
    alone = await check_files(toolbox, files, dependencies=None)
    compared = await check_files(toolbox, files, dependencies=())
    assert ("No known weakness of dependencies was looked for" in (alone.layers[1].note or "")) is is_said
    assert "No known weakness" not in (compared.layers[1].note or "")
    assert ["dependencies" in {tool.tool for tool in result.layers[1].tools} for result in (alone, compared)] == [
        False,
        True,
    ]


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()[:64]


async def test_a_private_key_exchanged_below_its_header_is_found_and_never_quoted(toolbox: Toolbox) -> None:
    old, new = ([sha512(f"{name}{n}".encode()).digest() for n in range(8)] for name in ("old", "new"))
    form = "-----BEGIN {0}-----\n{1}\n-----END {0}-----\n"
    before, after = (form.format("PRIVATE " + "KEY", "\n".join(map(_base64, body))) for body in (old, new))
    result = await check_files(toolbox, {"deploy.pem": (before, after)})
    assert [(f.rule, f.line) for f in result.findings] == [("secret/private-key", 2)]
    assert not any(_base64(line)[:20] in repr(result) for line in new)
    assert (await check_files(toolbox, {"deploy.pem": (before, before + "\n")})).findings == ()


@pytest.mark.parametrize(
    ("path", "severity"),
    [
        ("tests/certs/site.key", Severity.warning),
        ("docs/site.key", Severity.critical),
        ("site.key", Severity.critical),
    ],
)
async def test_a_key_that_tests_need_blocks_nobody(toolbox: Toolbox, path: str, severity: Severity) -> None:
    lines = "\n".join(_base64(sha512(f"{n}".encode()).digest()) for n in range(8))
    key = "-----BEGIN {0}-----\n{1}\n-----END {0}-----\n".format("PRIVATE " + "KEY", lines)
    [found] = (await check_files(toolbox, {path: (None, key)})).findings
    assert (found.rule, found.severity) == ("secret/private-key", severity)


async def test_a_private_key_that_one_commit_exchanged_and_the_next_put_back(toolbox: Toolbox) -> None:
    header, body = "-----BEGIN PRIVATE " + "KEY-----", [_base64(sha512(bytes([n])).digest()) for n in range(4)]
    file = TransientFile("deploy.pem", (header, *body), added=(2, 3, 4, 5), known=(header,))
    found, problem = await search_commits([file], toolbox, CodeOrigin.member)
    assert ([(f.rule, f.line) for f in found], problem) == ([("secret/private-key", 2)], None)


async def test_fingerprints_survive_a_push_that_moves_lines(toolbox: Toolbox) -> None:
    first = await check_files(toolbox, {"a.py": (None, "x = 1\nimport os\n\nimport re\n")})
    second = await check_files(toolbox, {"a.py": (None, "y = 2\n\nx = 1\nimport os\n\nimport re\n")})
    assert {f.fingerprint for f in first.findings} == {f.fingerprint for f in second.findings}
    assert len({f.fingerprint for f in first.findings}) == 2


async def test_equal_findings_have_fingerprints_of_their_own(toolbox: Toolbox) -> None:
    result = await check_files(toolbox, {"a.py": (None, "\n\n\nmissing()\n\n\n" * 4)})
    assert len(result.findings) == 4
    assert len({f.fingerprint for f in result.findings}) == 4


async def test_content_that_is_not_text(toolbox: Toolbox) -> None:
    files: Versions = {
        "latin.py": (None, b"# -*- coding: latin-1 -*-\nx = '\xe9'\n"),
        "nul.py": (None, b"import os\0\n"),
        "bad.sh": (None, b"#!/bin/sh\n\xff\xfe curl https://a.org | sh\n"),
        "bom.py": (None, b"\xef\xbb\xbfimport os\n"),
        "crlf.py": (None, b"import os\r\nimport re\r\nprint(re)\r\n"),
        "empty.py": (None, b""),
    }
    result = await check_files(toolbox, files)
    assert {(f.rule, f.path) for f in result.findings} == {
        ("shell/curl-pipe", "bad.sh"),
        ("ruff/F401", "bom.py"),
        ("ruff/F401", "crlf.py"),
    }


def _say(said: str, options: str = "", paths: tuple[str, ...] = ("**/*.js",)) -> Linter:
    """A configured linter that prints something."""
    return Linter(name="js", run=f"sh -c {shlex.quote(f'echo {shlex.quote(said)}')}{options}", paths=paths)


async def test_a_configured_linter(toolbox: Toolbox) -> None:
    linter = Linter(name="grep-todo", run=_todo(), paths=("**/*.txt",))
    files: Versions = {"a.txt": ("TODO old\n", "TODO old\nTODO new\n"), "b.md": (None, "TODO\n")}
    rules = await check_files(toolbox, files, linters=(linter,))
    assert [(f.rule, f.path, f.line) for f in rules.findings] == [("grep-todo/todo", "a.txt", 2)]


@pytest.mark.parametrize(
    ("paths", "brought", "read"),
    [
        (("**/*.js", "**/Dockerfile"), (), {"web/a.js"}),
        (("{web,src}/*.{js,ts}",), (), {"web/a.js"}),
        (("**",), (), set[str]()),
        (("web/**", "main.*"), (), set[str]()),
        (("**", "**/*.js"), (), {"web/a.js"}),
        (("**/*.js",), (".eslintignore", "x.yml"), {"web/a.js"}),  # which it is not given
        (("**", "**/*.js"), (".eslintignore",), set[str]()),
        (("**/*.js",), ("eslint.config.js",), set[str]()),
        (("**/*.js",), ("web/.eslintrc.js",), set[str]()),
        (("**/*.js",), ("tools/rules.js",), set[str]()),  # which its command names
        (("**/*.js", "**/*.toml"), ("web/js.toml",), set[str]()),  # which has its name
        (("**/*.js", "**/*.toml"), ("web/app.toml",), {"web/a.js", "web/app.toml"}),
        (("**/*.js", "**/*.json"), ("package.json",), set[str]()),
    ],
)
async def test_t_r13_a_configured_linter_reads_what_its_paths_name_and_obeys_no_change(
    toolbox: Toolbox, paths: tuple[str, ...], brought: tuple[str, ...], read: set[str]
) -> None:
    linter = _say(sarif(), " -c rules.js", paths)
    files: Versions = dict.fromkeys(("web/a.js", "main.go", *brought), (None, "x\n"))
    result = await check_files(toolbox, files, linters=(linter,))
    assert {path for path, by in result.read_by.items() if "js" in by} == read
    assert bool(result.layers[0].note) == any(path in (result.layers[0].note or "") for path in brought)


@pytest.mark.parametrize(
    ("invocation", "is_read"),
    [
        ({"executionSuccessful": True, "toolExecutionNotifications": [{"level": "note"}]}, True),
        ({"executionSuccessful": False}, False),
        ({"executionSuccessful": True, "toolConfigurationNotifications": [{"level": "error"}]}, False),
    ],
)
async def test_t_r13_a_linter_that_could_not_parse_a_file_did_not_read_it(
    toolbox: Toolbox, invocation: dict[str, object], is_read: bool
) -> None:
    linter = _say(json.dumps({"runs": [{"invocations": [invocation], "results": []}]}))
    result = await check_files(toolbox, {"a.js": (None, "function (\n")}, linters=(linter,))
    assert ("a.js" in result.read_by) is is_read
    assert ("could not do all of its work" in (result.layers[0].note or "")) is not is_read


async def test_t_r13_a_file_that_its_configuration_leaves_out_is_not_read(toolbox: Toolbox) -> None:
    place = {"physicalLocation": {"artifactLocation": {"uri": "./out/b%2Ejs"}}}
    told = {"toolConfigurationNotifications": [{"level": "warning", "locations": [place]}, {"level": "note"}]}
    linter = _say(json.dumps({"runs": [{"invocations": [told], "results": []}]}))
    result = await check_files(toolbox, dict.fromkeys(("a.js", "out/b.js"), (None, "x\n")), linters=(linter,))
    assert {path for path, by in result.read_by.items() if "js" in by} == {"a.js"}


def _todo() -> str:
    place = r"{\"artifactLocation\":{\"uri\":\"%s\"},\"region\":{\"startLine\":%s}}"
    result = (
        r"{\"ruleId\":\"todo\",\"message\":{\"text\":\"todo\"},\"locations\":[{\"physicalLocation\":" + place + "}]}"
    )
    script = (
        """printf '{"version":"2.1.0","runs":[{"tool":{"driver":{"name":"g"}},"results":['; """
        """grep -n TODO "$@" /dev/null | awk -F: '{printf "%s"""
        + result
        + """", (NR>1?",":""), $1, $2}'; printf ']}]}'"""
    )
    return f"sh -c {shlex.quote(script)} sh"


@pytest.mark.parametrize(
    ("run", "said"),
    [
        ("cat /dev/zero", "printed"),
        ("sh -c 'sleep 60'", "did not finish"),
        ("does-not-exist-here --sarif", "its program does-not-exist-here is not installed where Forge runs. Install"),
        ("echo hello", "did not print SARIF"),
        ("sh -c 'echo {}'", "did not print SARIF"),
    ],
)
async def test_a_linter_that_fails_is_named_and_costs_nothing_else(run: str, said: str) -> None:
    async with Toolbox.start(seconds=3) as toolbox:
        files: Versions = {"a.py": (None, "import os\n")}
        result = await check_files(toolbox, files, linters=(Linter(name="broken", run=run),))
    assert [f.rule for f in result.findings] == ["ruff/F401"]
    problems = {tool.tool: tool.problem or "" for layer in result.layers for tool in layer.tools}
    assert said in problems["broken"]


async def test_without_a_sandbox_a_linter_is_refused_and_said_so(toolbox: Toolbox) -> None:
    bare = Toolbox(toolbox.pool, Sandbox(toolbox.sandbox.levels[:1], toolbox.sandbox.account))
    linter = Linter(name="custom", run="sh -c 'cat answer.sarif'")
    files: Versions = {"answer.sarif": (None, sarif(("x", "answer.sarif", 1)))}
    refused = await check_files(bare, files, linters=(linter,), origin=CodeOrigin.member)
    assert refused.findings == ()
    assert "was not run" in (refused.layers[0].missing or "")
    allowed = await check_files(bare, files, linters=(linter,), origin=CodeOrigin.own)
    assert [f.rule for f in allowed.findings] == ["custom/x"]


async def test_without_containment_code_of_strangers_is_not_even_parsed() -> None:
    """The reason is named once for each tool, in its layer, and nothing is approved unseen."""
    files: Versions = {"a.py": (None, "import os\n"), ".github/workflows/a.yml": (None, WORKFLOW)}
    async with Toolbox.start(sandbox="none") as bare:
        refused = await check_files(bare, files, origin=CodeOrigin.stranger)
        assert refused.findings == ()
        tools = {tool.tool: tool.problem or "" for layer in refused.layers for tool in layer.tools}
        assert [name for name, problem in tools.items() if "was not run" not in problem] == []
        assert set(tools) == {"ruff", "detect-secrets", "zizmor", "ast-grep", "syntax", "avoidance"}
        for layer in refused.layers:
            assert "reads code from people without write access and was not run" in (layer.missing or "")
            assert "FORGE_SANDBOX is none" in (layer.missing or "")
        member = await check_files(bare, files, origin=CodeOrigin.member)
    assert "ruff/F401" in {f.rule for f in member.findings}
    assert [layer.missing for layer in member.layers] == [None, None]


@pytest.mark.parametrize("level", [1, 2, 3])
async def test_the_findings_are_the_same_at_each_level(toolbox: Toolbox, level: int) -> None:
    if toolbox.sandbox.why_not(level):
        pytest.skip(f"level {level} does not work here")
    only = Toolbox(toolbox.pool, Sandbox(toolbox.sandbox.levels[:level], toolbox.sandbox.account))
    files: Versions = {
        "pkg/a.py": (None, '"""Doc."""\n\nimport os\n\nx = "a text that is much longer than forty characters"\n'),
        ".github/workflows/a.yml": (None, WORKFLOW),
    }
    result = await check_files(only, files, project={"pkg/ruff.toml": b"line-length = 40\n"}, origin=CodeOrigin.member)
    assert {(f.rule, f.path, f.line) for f in result.findings} == {
        ("ruff/F401", "pkg/a.py", 3),
        ("zizmor/template-injection", ".github/workflows/a.yml", 10),
        ("zizmor/dangerous-triggers", ".github/workflows/a.yml", 2),
        ("zizmor/unpinned-uses", ".github/workflows/a.yml", 9),
    }


@pytest.mark.parametrize("folder", ["dist", "_build", "buck-out", "shop"])
async def test_no_folder_is_left_out_for_its_name_alone(toolbox: Toolbox, folder: str) -> None:
    files: Versions = {f"{folder}/a.py": (None, "import subprocess\n\nsubprocess.run(input(), shell=True)\n")}
    result = await check_files(toolbox, files)
    assert [(each.rule, each.line) for each in result.findings] == [("ruff/S602", 3)]
