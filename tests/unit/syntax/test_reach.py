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
    ("a_spec.rb", 'describe A do\n  it "a" do\n    open("|sh")\n  end\nend\n'),
]
STAYS = [
    (
        "test_a.py",
        "import app\n\n\ndef test_b(tmp_path):\n    (tmp_path / 'a').write_text('b')\n    assert app.f(1) == 2\n",
    ),
    ("a.test.js", "const { f } = require('./f');\nit('a', () => { expect(f(1)).toBe(2); });\n"),
    (
        "test_a.py",
        "import os\n\n\ndef test_b(tmp_path):\n    assert os.path.exists(tmp_path)\n",
    ),
    (
        "test_a.py",
        "import re\n\n\ndef test_b():\n    assert re.compile('a')\n    assert x.eval('y')\n",
    ),
    ("a.test.js", "it('a', () => { expect(re.exec('a')).toBe(1); expect(f.eval(2)).toBe(2); });\n"),
    ("a.test.ts", "import { f } from './f';\nit('a', async () => { expect(await f()).toBe(1); });\n"),
    ("a_test.go", GO.format('"net/http/httptest"', "r := httptest.NewRecorder()\n\tF(r)")),
    ("tests/ShopTest.java", 'class ShopTest {\n  @Test void a() { assertEquals(1, f("x")); }\n}\n'),
    ("a_spec.rb", 'describe A do\n  it "a" do\n    expect(f(1)).to eq(2)\n  end\nend\n'),
    (
        "tests/ShopTest.php",
        "<?php\nclass ShopTest extends T {\n  public function testA() { $this->same($a->exec('x')); }\n}\n",
    ),
    ("tests/ShopTests.cs", "class ShopTests {\n  [Fact] public void A() { Assert.Equal(1, F()); }\n}\n"),
    ("a_test.rs", "#[test]\nfn a() { assert_eq!(f(1), 2); }\n"),
    ("a_test.c", "void test_a(void) { assert(f(1) == 2); }\n"),
    ("tests/ShopTest.kt", "class ShopTest {\n  @Test fun a() { assertEquals(1, f()) }\n}\n"),
]

USES = "import subprocess\n\n\ndef test_old():\n    subprocess.run(['a'])\n"


@pytest.mark.parametrize(("path", "text"), REACHES)
def test_what_reaches_out_is_not_harmless(path: str, text: str) -> None:
    assert find_impact(path, find_language(path) or "", None, text) == "behaviour"


@pytest.mark.parametrize(("path", "text"), STAYS)
def test_what_stays_by_itself_is(path: str, text: str) -> None:
    assert find_impact(path, find_language(path) or "", None, text) == "tests"


def test_only_what_is_added_counts() -> None:
    """A file that starts processes may get a test that starts none."""
    added = "\n\ndef test_new():\n    assert f(1) == 2\n"
    assert find_impact("test_a.py", "python", USES, USES + added) == "tests"
    more = "\n\ndef test_new():\n    assert subprocess.run(['b'])\n"
    assert find_impact("test_a.py", "python", USES, USES + more) == "behaviour"
