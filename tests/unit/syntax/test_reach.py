"""Which new tests reach beyond themselves: processes, sockets, the environment, text that becomes code."""

import pytest

from agents.syntax.impact import find_impact
from agents.syntax.languages import find_language

GO = 'package a\n\nimport (\n\t{}\n\t"testing"\n)\n\nfunc TestA(t *testing.T) {{\n\t{}\n}}\n'
REACHES = [
    ("test_a.py", "import subprocess\n\n\ndef test_b():\n    subprocess.run('x', shell=True)\n"),
    ("test_a.py", "import os as o\n\n\ndef test_b():\n    o.system('x')\n"),
    ("test_a.py", "from os import system as s\n\n\ndef test_b():\n    s('x')\n"),
    ("test_a.py", "import urllib.request\n\n\ndef test_b():\n    urllib.request.urlopen('x')\n"),
    ("test_a.py", "from urllib import request as r\n\n\ndef test_b():\n    r.urlopen('x')\n"),
    ("test_a.py", "import base64\n\n\ndef test_b():\n    exec(base64.b64decode('eA=='))\n"),
    ("test_a.py", "import os\n\n\ndef test_b():\n    assert dict(os.environ)\n"),
    ("test_a.py", "def test_b():\n    __import__('os').system('x')\n"),
    ("test_a.py", "def test_b():\n    open('/proc/self/environ')\n"),
    ("a.test.js", "import { execSync as run } from 'node:child_process';\n\nit('a', () => { run('x'); });\n"),
    ("a.test.js", "const cp = require('child_process');\nit('a', () => { cp.exec('x'); });\n"),
    ("a.test.js", "it('a', async () => { const cp = await import('child_process'); });\n"),
    ("a.test.js", "it('a', () => { expect(process.env.A).toBe(1); });\n"),
    ("a.test.ts", "it('a', () => { new Function('return 1')(); });\n"),
    ("a_test.go", GO.format('"os/exec"', 'exec.Command("x").Run()')),
    ("a_test.go", GO.format('e "os/exec"', 'e.Command("x").Run()')),
    ("a_test.go", GO.format('"os"', 'if os.Getenv("X") != "" {\n\t\tt.Fatal()\n\t}')),
    ("tests/ShopTest.java", 'class ShopTest {\n  @Test void a() { Runtime.getRuntime().exec("x"); }\n}\n'),
    ("tests/ShopTest.java", 'class ShopTest {\n  @Test void a() { new ProcessBuilder("x").start(); }\n}\n'),
    ("a_spec.rb", 'describe A do\n  it "a" do\n    system("x")\n  end\nend\n'),
    ("a_spec.rb", 'describe A do\n  it "a" do\n    `ls`\n  end\nend\n'),
    ("a_spec.rb", 'describe A do\n  it "a" do\n    ENV["x"]\n  end\nend\n'),
    ("tests/ShopTest.php", "<?php\nclass ShopTest extends T {\n  public function testA() { shell_exec('x'); }\n}\n"),
    ("tests/ShopTest.php", "<?php\nclass ShopTest extends T {\n  public function testA() { $a = `ls`; }\n}\n"),
    (
        "tests/ShopTests.cs",
        'class ShopTests {\n  [Fact] void A() { System.Diagnostics.Process.Start("x"); }\n}\n',
    ),
    ("a_test.rs", '#[test]\nfn a() { std::process::Command::new("x").spawn().unwrap(); }\n'),
    ("a_test.rs", 'use std::process::Command as C;\n#[test]\nfn a() { C::new("x").spawn().unwrap(); }\n'),
    ("a_test.c", 'void test_a(void) { system("x"); }\n'),
    ("a_test.sh", "test_a() { curl x | sh; }\n"),
    ("tests/ShopTest.kt", 'class ShopTest {\n  @Test fun a() { Runtime.getRuntime().exec("x") }\n}\n'),
    ("a_test.lua", 'function test_a() os.execute("x") end\n'),
    ("tests/ShopTest.swift", "class ShopTest: XCTestCase {\n  func testA() { let p = Process(); p.run() }\n}\n"),
    ("test_a.py", 'import os\n\n\ndef test_b():\n    getattr(os, "system")(1)\n'),
    ("test_a.py", 'import os\n\n\ndef test_b():\n    os.__dict__["system"](1)\n'),
    ("test_a.py", "import os\n\n\ndef test_b():\n    o = os\n    o.system(1)\n"),
    ("test_a.py", "from os import *\n\n\ndef test_b():\n    assert 1\n"),
    ("test_a.py", "import posix\n\n\ndef test_b():\n    assert 1\n"),
    ("test_a.py", 'import timeit\n\n\ndef test_b():\n    timeit.timeit("x")\n'),
    ("test_a.py", "import pytest\n\n\ndef test_b():\n    pytest.main([])\n"),
    ("test_a.py", 'def test_b():\n    open("conftest.py", "w")\n'),
    ("test_a.py", 'import shutil\n\n\ndef test_b():\n    shutil.rmtree("x")\n'),
    ("test_a.py", "import app\n\napp.check = lambda *a: True\n\n\ndef test_b():\n    assert 1\n"),
    ("a.test.js", "it(1, () => { process.getBuiltinModule(1); });\n"),
    ("a.test.js", "const {env} = process;\nit(1, () => {});\n"),
    ("a.test.js", 'it(1, () => { process["env"]; });\n'),
    ("a.test.js", 'it(1, () => { require("child" + "_process"); });\n'),
    ("a.test.js", 'it(1, () => { (() => {}).constructor("x")(); });\n'),
    ("a.test.js", 'export {execSync} from "child_process";\n'),
    ("a_test.go", GO.format('"net/http"', "c := &http.Client{}\n\tc.Get(a)")),
    ("a_test.go", GO.format('. "os"', "F()")),
    ("a_test.go", GO.format('"a"', "F()") + "\n//go:linkname a b\nfunc a()\n"),
    ("test_a.py", "import pytest\n\n\ndef test_b():\n    pytest.importorskip('os').system('x')\n"),
    ("test_a.py", "import pathlib\n\n\ndef test_b():\n    pathlib.os.system('x')\n"),
    ("test_a.py", "from glob import os as g\n\n\ndef test_b():\n    g.system('x')\n"),
    ("test_a.py", "from app import os\n\n\ndef test_b():\n    os.system('x')\n"),
    ("test_a.py", "import app\n\n\ndef test_b():\n    app.subprocess.run('x')\n"),
    ("test_a.py", "import asyncio\n\n\ndef test_b():\n    asyncio.new_event_loop().subprocess_shell(1, 'x')\n"),
    ("test_a.py", "import logging.config\n\n\ndef test_b():\n    logging.config.dictConfig({'()': 'os.system'})\n"),
    ("test_a.py", "import pydoc\n\n\ndef test_b():\n    pydoc.pipepager('', 'x')\n"),
    ("test_a.py", "def test_b():\n    print.__self__.eval('1')\n"),
    ("test_a.py", "import app\n\n\ndef test_b():\n    (lambda: 0).gi_frame.f_builtins['ev' + 'al']('1')\n"),
    ("test_a.py", "def test_b():\n    match print:\n        case object(x=f):\n            f('os')\n"),
    ("test_a.py", "import pandas as pd\n\n\ndef test_b():\n    pd.read_csv('x')\n"),
    ("test_a.py", "import yaml\n\n\ndef test_b():\n    yaml.unsafe_load('x')\n"),
    ("test_a.py", "import app\n\nif True:\n    app.main = lambda *a: True\n\n\ndef test_b():\n    assert 1\n"),
    ("test_a.py", "import app\n\n\ndef test_b():\n    assert app.read('https://evil.example')\n"),
    ("test_a.py", "import app\n\n\ndef test_b():\n    assert app.load('~/.netrc')\n"),
    ("test_a.py", "def test_b(pytester):\n    pytester.runpython('x')\n"),
    ("test_a.py", "def test_b(tmp_path):\n    (tmp_path.home() / '.bashrc').write_text('x')\n"),
    ("test_a.py", "import app\n\n\ndef test_b():\n    tmp = app.home()\n    (tmp / '.bashrc').write_text('x')\n"),
    ("test_a.py", "import pytest\n\n\n@pytest.mark.skipif('x()')\ndef test_b():\n    assert 1\n"),
    ("test_a.py", "# /// script\n# dependencies = ['evil']\n# ///\ndef test_b():\n    assert 1\n"),
    ("a.test.js", "it('a', () => { require(`child_${'process'}`).exec('x'); });\n"),
    ("a.test.js", "it('a', () => { [].filter['const' + 'ructor']('x')(); });\n"),
    ("a.test.js", "it('a', () => { const { constructor: c } = f; c('x')(); });\n"),
    ("a.test.js", "it('a', () => { globalThis['ev' + 'al']('1'); });\n"),
    ("a.test.js", "it('a', () => { cy.exec('x'); });\n"),
    ("a.test.js", "it('a', () => { \\u0065val('1'); });\n"),
    ("a.test.js", "it('a', () => { setTimeout('x', 1); });\n"),
    ("a.test.js", "it('a', () => { jest.requireActual('child_' + 'process'); });\n"),
    ("a.test.js", "import * as v from 'vitest';\nit('a', () => { v.vi.importActual('fs'); });\n"),
    ("a.test.js", "import evil from 'evil';\nit('a', () => { evil(); });\n"),
    ("a.test.js", "it('a', () => { (() => fetch)()('x'); });\n"),
    ("a_test.go", GO.format('h "net/http"', 'h.Get("x")')),
    ("a_test.go", GO.format('"crypto/tls"', 'tls.Dial("tcp", "x", nil)')),
    ("a_test.go", GO.format('"host.example/eve/shop"', "shop.F()")),
    ("a_test.go", GO.format('"fmt"', "fmt.Sprint(1)") + "\nfunc init() {\n\tF()\n}\n"),
    # No list is worked out for these languages: a person looks at them.
    ("tests/ShopTest.java", 'class ShopTest {\n  @Test void a() { assertEquals(1, f("x")); }\n}\n'),
    ("a_spec.rb", 'describe A do\n  it "a" do\n    expect(f(1)).to eq(2)\n  end\nend\n'),
    ("a_test.rs", "#[test]\nfn a() { assert_eq!(f(1), 2); }\n"),
    ("a_test.c", "void test_a(void) { assert(f(1) == 2); }\n"),
]
OWN = ("app", "host.example/ada/shop")
STAYS = [
    (
        "test_a.py",
        "import app\n\n\ndef test_b(tmp_path):\n    (tmp_path / 'a').write_text('b')\n    assert app.f(1) == 2\n",
    ),
    (
        "test_a.py",
        "import re\nfrom app.shop import Shop, sell\n\n\ndef test_b():\n    assert re.match('a', sell(Shop(1)))\n",
    ),
    (
        "test_a.py",
        (
            "import pytest\nfrom app import Wrong, f\n\n\n@pytest.mark.parametrize('a', [1, 2])\ndef test_b(a):\n"
            "    with pytest.raises(Wrong) as found:\n        f(a)\n    assert str(found.value) == 'no'\n"
        ),
    ),
    (
        "tests/test_a.py",
        (
            "from unittest import TestCase, mock\n\nfrom app import Shop\n\n\nclass TestShop(TestCase):\n"
            "    def setUp(self):\n        self.shop = Shop(mock.Mock(return_value=1))\n\n"
            "    def test_b(self):\n        self.assertEqual(self.shop.sell(), 1)\n"
        ),
    ),
    (
        "test_a.py",
        (
            "import app\n\n\ndef test_b(tmp_path, monkeypatch):\n    monkeypatch.setattr(app, 'rate', 2)\n"
            "    path = tmp_path / 'a.txt'\n    path.write_text('b')\n    assert app.load(path) == {'a': [1]}\n"
        ),
    ),
    ("a.test.js", "const { f } = require('./f');\nit('a', () => { expect(f(1)).toBe(2); });\n"),
    (
        "a.test.ts",
        (
            "import { describe, expect, it, vi } from 'vitest';\nimport { f } from './f';\n\ndescribe('f', () => {\n"
            "  it('a', async () => {\n    const g = vi.fn();\n    const found = [1, 2].map((x) => x + 1);\n"
            "    expect(await f(found[0], g)).toEqual({ a: 1 });\n  });\n});\n"
        ),
    ),
    ("a_test.go", GO.format('"strings"', 'a, b := F(1), strings.ToUpper("a")\n\tif a != b {\n\t\tt.Fatal(a)\n\t}')),
    ("a_test.go", GO.format('"host.example/ada/shop/price"', "price.Of(1)")),
]

USES = "import subprocess\n\nfrom app import f\n\n\ndef test_old():\n    subprocess.run(['a'])\n"


@pytest.mark.parametrize(("path", "text"), REACHES)
def test_what_reaches_out_is_not_harmless(path: str, text: str) -> None:
    assert find_impact(path, find_language(path) or "", None, text, OWN) == "behaviour"


@pytest.mark.parametrize(("path", "text"), STAYS)
def test_what_stays_by_itself_is(path: str, text: str) -> None:
    assert find_impact(path, find_language(path) or "", None, text, OWN) == "tests"


def test_only_what_is_added_counts() -> None:
    """A file that starts processes may get a test that starts none."""
    added = "\n\ndef test_new():\n    assert f(1) == 2\n"
    assert find_impact("test_a.py", "python", USES, USES + added, OWN) == "tests"
    more = "\n\ndef test_new():\n    assert subprocess.run(['b'])\n"
    assert find_impact("test_a.py", "python", USES, USES + more, OWN) == "behaviour"
