"""Which changes of a file cannot alter the program, and which only look so."""

import pytest

from agents.syntax.impact import assess, find_impact
from agents.syntax.languages import find_language
from domain.review.reading import Impact

PYTHON = "import os\n\n\ndef f(a):\n    # This adds.\n    return a + 1\n\n\ndef g():\n    return 2\n"
SCRIPT = "function f(a) {\n  return a + 1; // this adds\n}\nfunction g() { return 2; }\n"
GO = "package a\n\n// F does add.\nfunc F(a int) int {\n\treturn a + 1\n}\n\nfunc G() int { return 2 }\n"
HARMLESS = [
    ("a.py", PYTHON, PYTHON.replace("# This adds.", "# This adds one to it.")),
    ("a.py", PYTHON, PYTHON.replace("return a + 1", "return a  +  1")),
    ("a.py", PYTHON, PYTHON.replace("return a + 1", "return a + \\\n        1")),
    ("a.py", "f(a, b)\n", "f(\n    a,\n    b,\n)\n"),
    ("a.js", SCRIPT, SCRIPT.replace(" // this adds", "").replace("return a", "return  a")),
    ("a.go", GO, GO.replace("// F does add.", "// F does add one.")),
    ("a.java", "class A {\n  int f() { return 1; }\n}", "class A {\n  /** Only one. */\n  int f()  { return 1; }\n}"),
    ("a.rb", "def f(a)\n  a + 1\nend\n", "# It adds.\ndef f(a)\n\n    a + 1\nend\n"),
    ("a.rs", "fn f() -> u8 { 1 }\n", "// only one\nfn f() -> u8  { 1 }\n"),
    ("a.c", "int f(void) { return 1; }\n", "/* only one */\nint f(void)   { return 1; }\n"),
    ("a.cs", "\ufeffclass A { int F() { return 1; } }", "\ufeffclass A  { int F() { return 1; } }\n"),
    ("a.yml", "a:  b\n# the old\n", "a: b\n# the new\n"),
    ("a.yml", "a:\n- b: c\n  d: |\n    e\n", "a:\n  - b: c\n    d: |\n        e\n"),
    ("a.json", '{"a": 1}', '{\n  "a": 1\n}\n'),
    ("a.php", "<?php\na( 1);\n", "<?php\n# It is one.\na(1);\n"),
]

RUBY = "# frozen_string_literal: true\n\n# See A::B#c\ndef f(a)\n  a + 1\nend\n"
GENERATED = "package a\n\n//go:generate stringer\n\n// F is x.y().\nfunc F() {}\n"
TYPED = "<?php\n/**\n * @param string $a\n */\nfunction f($a) {}\n"
SHOWN = 'def g():\n    """Give two.\n\n    >>> g()\n    2\n    """\n    return 2\n'
READING = 'def a():\n    """{}."""\n\n\n{}\n'
EXAMPLE = "<?php\n/** An example:\n * <?php a(); ?>\n */\nfunction a() {}\n// It is\n"
COMMENT = [
    ("a.py", SHOWN, SHOWN.replace("Give two.", "Give two at once.\n\n    .. versionadded:: 2")),
    ("a.py", SHOWN, SHOWN.replace("    >>>", "        >>>").replace("    2\n", "        2\n\n")),
    *(
        ("a.py", READING.format("One", code), READING.format("Two", code))
        for code in (
            "b.__doc__ = a.__doc__",
            "property(f, doc=a.__doc__)",
            "x = {'doc': a.__doc__}",
            "# as __doc__ has it",
        )
    ),
    ("a.php", EXAMPLE, EXAMPLE.replace("An example", "Some example")),
    ("a.py", "# -*- coding: utf-8 -*-\nf()\n", "f()\n"),
    ("a.py", "import os  # noqa: F401\n", "import os\n"),
    ("a.go", "package a\n\nvar a = f() //nolint:all\n", "package a\n\nvar a = f()\n"),
    ("a.go", GENERATED, GENERATED.replace("x.y()", "x.y() or x == 1")),
    ("a.go", GENERATED, GENERATED.replace("// F", "// See https://example.org/a.\n//\n// F")),
    ("a.rb", RUBY, RUBY.replace("# See A::B#c", "# See A::B#d\n#\n# @param [Integer] a")),
    ("a.php", TYPED, TYPED.replace("string $a", "string|null $a it is the name")),
    ("a.py", PYTHON, PYTHON.replace("def g():\n", 'def g():\n    """Two."""\n')),
    ("a.py", 'class A:\n    "One."\n\n    x = 1\n', 'class A:\n    """One and `a`."""\n\n    x = 1\n'),
    ("a.py", "import os  # noqa: F401\nx = f('a',\n  b)\n", 'import os  # noqa: F401\n\nx = f(\n    "a",\n    b,\n)\n'),
]

BEHAVIOUR = [
    ("a.yml", "a:\n  b: 1\nc: 2\n", "a:\n  b: 1\n  c: 2\n"),
    ("a.yml", "a:\n  - b\n", "a:\n  b:\n"),
    ("a.yml", "a: |\n  b\n   c\n", "a: |\n  b\n  c\n"),
    ("a.py", PYTHON, PYTHON.replace("def g():\n", 'def g():\n    """Two.\n\n    >>> g()\n    """\n')),
    ("a.py", 'def g():\n    """\n    >>> g()\n    1\n    """\n', 'def g():\n    """\n    >>> g()\n    2\n    """\n'),
    ("a.js", "let a = 1;\n", "/* eslint-disable all, eqeqeq, eval */\nlet a = 1;\n"),
    ("a.py", "a = 1\n", "# pyre-ignore in all\na = 1\n"),
    ("a.ts", "// @ts-ignore\nf(a);\n", "f(a);\n"),
    *(
        (("a.py", PYTHON, f"{line}\n{PYTHON}"))
        for line in ("# nosemgrep", "# nosec the", "# codeql[py/x]", "# >>> evil()")
    ),
    *(
        ("a.js", "f();\n", f"{line}\nf();\n")
        for line in ("// deno-lint-ignore no-eval", "/* global evil */", "// knip")
    ),
    ("a.rs", "fn a() {}\n", "/// ```\n/// std::process::Command::new(1);\n/// ```\nfn a() {}\n"),
    *(
        (path, before, before.replace("HERE", f"HERE{end}evil()"))
        for end in ("\\u000a", "\\u002a\\u002f")
        for path, before in (
            ("a.cs", "class A { int x; // HERE\n}\n"),
            ("a.py", "x = 1  # HERE\n"),
            ("a.js", "f(); // HERE\n"),
        )
    ),
    ("a.py", PYTHON, PYTHON.replace("a + 1", "a - 1")),
    ("a.py", PYTHON, PYTHON.replace("    return a + 1", "    if a:\n        a = 2\n    return a + 1")),
    ("a.py", "if a:\n    b()\n    c()\n", "if a:\n    b()\nc()\n"),  # the same words
    ("a.py", 'x = "a b"\n', 'x = "a  b"\n'),
    ("a.py", "x = f'{a} b'\n", "x = f'{a}  b'\n"),
    ("a.py", PYTHON, "# coding: latin-1\n" + PYTHON),
    ("a.py", "import os\n", "import os  # noqa: F401\n"),
    ("a.py", "import os  # noqa: F401\nf()  # x: 1\n", "import os\nf()  # x: 2\n"),
    ("a.py", "f()  # pylint: enable=all\n", "f()\n"),
    ("a.py", SHOWN, SHOWN.replace("2", "3")),
    ("a.py", SHOWN, SHOWN.replace(">>> g()", ">>> g()  # doctest: +SKIP")),
    ("a.py", SHOWN, SHOWN.replace("    >>> g()", "    >>> g( 1)\n    2\n    >>> g()")),
    ("a.py", "# coding: latin-1\nf()\n", "f()\n"),
    ("a.py", READING.format("One", "print(a.__doc__)"), READING.format("Two", "print(a.__doc__)")),
    ("a.py", READING.format("One", "f(text=a.__doc__)"), READING.format("Two", "f(text=a.__doc__)")),
    ("a.py", READING.format("One", "getattr(a, '__doc__')"), READING.format("Two", "getattr(a, '__doc__')")),
    ("a.php", EXAMPLE, EXAMPLE.replace("// It is", "// It ?> is")),
    ("a.php", EXAMPLE.replace("/**", "//"), EXAMPLE.replace("/**", "//").replace("An", "The")),
    ("a.py", "def f(a=g()):\n    pass\n\n\ndef h():\n    pass\n", "def h():\n    pass\n\n\ndef f(a=g()):\n    pass\n"),
    ("a.py", "@a\ndef f():\n    pass\n\n\ndef g():\n    pass\n", "def g():\n    pass\n\n\n@a\ndef f():\n    pass\n"),
    ("a.py", "def f():\n    1\n\n\ndef f():\n    2\n", "def f():\n    2\n\n\ndef f():\n    1\n"),  # the last one wins
    ("a.py", "def f():\n    pass\n\n\nf()\n", "f()\n\n\ndef f():\n    pass\n"),
    ("a.py", PYTHON, "def (\n"),
    ("a.py", None, PYTHON),
    ("tests/test_a.py", None, "def test_a():\n    assert 1\n"),
    ("tests/test_a.py", "", "def test_a():\n    assert 1\n"),
    ("a.py", PYTHON, "import os\n\n\ndef g():\n    return 2\n\n\ndef f(a):\n    # This adds.\n    return a + 1\n"),
    ("a.rs", "#[cfg(test)]\nfn a() {}\nfn b() {}\n", "#[cfg(test)]\nfn b() {}\nfn a() {}\n"),
    ("a.kt", "fun f(u: U) {\n    require(u)\n}\n", "fun f(u: U) {\n    require\n    (u)\n}\n"),
    ("a.kt", "fun f() {\n    a[0]\n}\n", "fun f() {\n    a\n    [0]\n}\n"),
    ("a.scala", "def f = {\n  a - b\n}\n", "def f = {\n  a\n  - b\n}\n"),
    ("a.sh", "[ a ]\n", "[ a\n]\n"),
    ("a.js", "let a = b /* it is */ + c\n", "let a = b /* it\nis */ + c\n"),
    ("a.yml", "a: |+\n  b\n\n\nc: 1\n", "a: |+\n  b\nc: 1\n"),
    ("a.php", "<?php a();\n", " <?php a();\n"),
    ("a.php", "<?php a(); ?>\n", "<?php a(); ?>\n\n"),
    ("a.json", '{"a": 1}\n', '{"a": 1 /* it is this */}\n'),
    ("a.json", '{"a": 1}\n', '\ufeff{"a": 1}\n'),
    ("a.json", '{"a": 1, "a": 2}\n', '{"a": 2}\n'),
    ("a.ts", "abstract class A {}\n", "abstract\nclass A {}\n"),
    (
        "a_test.go",
        "package a\nfunc ExampleA(){\n\tA()\n\t// Output:\n\t// it is this\n}\n",
        "package a\nfunc ExampleA(){\n\tA()\n\t// Output:\n\t// it is that\n}\n",
    ),
    ("a.py", 'def f():\n    """One."""\n    return "a"\n', 'def f():\n    """One."""\n    return "b"\n'),
    ("a.py", 'x = 1\n"""One."""\n', 'x = 1\n"""Two."""\nf()\n'),
    (
        "a.go",
        "package a\n\n//go:embed a\nvar a string\nvar b string\n",
        "package a\n\nvar a string\n//go:embed a\nvar b string\n",
    ),
    ("a.py", '"""Usage: a [-v]"""\nmain(__doc__)\n', '"""Usage: a [-q]"""\nmain(__doc__)\n'),
    ("a.js", "function f() {\n  return a;\n}\n", "function f() {\n  return\n  a;\n}\n"),
    ("a.js", "const a = `x ${b} y`;", "const a = `x ${b}  y`;"),
    ("a.js", "a\n(b)\n", "a;\n(b)\n"),
    ("a.go", "//go:build linux\n\npackage a\n", "//go:build windows\n\npackage a\n"),
    ("a.go", 'package a\n\n// int f();\nimport "C"\n', 'package a\n\n// long f();\nimport "C"\n'),
    ("a.rb", "f -1\n", "f - 1\n"),
    ("a.rb", "# frozen_string_literal: true\na = ''\n", "a = ''\n"),
    ("a.php", "<?php\n/** @Route('/a') */\nfunction f() {}\n", "<?php\n/** @Route('/b') */\nfunction f() {}\n"),
    ("a.sh", "cat <<EOF\n a\nEOF\n", "cat <<EOF\n  a\nEOF\n"),
    ("a.sh", "#!/bin/sh\nf\n", "#!/bin/bash\nf\n"),
    ("a.yml", "a: |2\n  b\n", "a: |2\n   b\n"),
    ("a.yml", "a:\n  b: 1\n  c: 2\n", "a:\n  b: 1\nc: 2\n"),
    ("conftest.py", None, "def pytest_collection_modifyitems(items):\n    items.clear()\n"),
    ("tests/test_hooks.py", None, "def load_tests(*_):\n    return None\n"),
    *(
        (path, before, before.replace("HERE", f"HERE{end}evil()"))
        for end in ("\r", "\v", "\f", "\x85", "\u2028", "\u2029")
        for path, before in (
            ("a.java", "class A { int x; /* HERE */ }\n"),
            ("a.cs", "class A { int x; // HERE\n}\n"),
            ("a.py", "x = 1  # HERE\n"),
            ("a.js", "f(); // HERE\n"),
        )
    ),
    ("a.java", "class A { int x; /* HERE */ }\n", "class A { int x; /* HERE\\u002a\\u002fevil() */ }\n"),
    ("a.java", "class A { int x; /* HERE */ }\n", "class A { int x; /* HERE\\u000aevil() */ }\n"),
    *(
        ("a.py", PYTHON, f"{line}\n{PYTHON}")
        for line in (
            "# /// script\n# dependencies = ['evil-pkg']\n# ///",
            "# checkov:skip=CKV_1: it is fine",
            "# cython: boundscheck=False",
            "# type: (int) -> int",
        )
    ),
    *(("a.js", "f();\n", f"{line}\nf();\n") for line in ("//= require evil", "//export the")),
    ("a.c", "int x;\n// the\nint y;\n", "int x;\n// the \\\nint y;\n"),
    ("a.py", "# type: ignore\nf()\ng()\n", "f()\n# type: ignore\ng()\n"),
    ("a.sh", "#!/bin/sh\nf\n", "# It is here.\n#!/bin/sh\nf\n"),
    ("a.py", PYTHON, PYTHON + "x = 1" + " " * 3_000 + "\n"),  # too long a line to be parsed
    ("a.py", PYTHON, PYTHON + "x = " + "(" * 900 + ")" * 900 + "\n"),
]


def _find(path: str, base: str | None, head: str) -> Impact:
    return find_impact(find_language(path) or "", base, head)


def test_harmless() -> None:
    assert [row for row in HARMLESS if _find(*row) is not Impact.layout] == []


def test_comments_that_tools_may_read() -> None:
    """The program is the same, but nobody knows every tool."""
    assert [row for row in COMMENT if _find(*row) is not Impact.comment] == []


def test_behaviour() -> None:
    assert [row for row in BEHAVIOUR if _find(*row) is not Impact.behaviour] == []


PAGE = "/*\nPackage a is of a kind.\n\n\tr := a.New()\n\tHost: one\n*/\npackage a\n"
POM = "<?xml version='1.0'?>\n<!-- Of 2020 -->\n<project>\n  <a>1</a>\n</project>\n"
_NOTED, _NOTE = '[package]\nversion = "', '" # remember the link'
CARGO = '[package]\nname = "a"\nversion = "1.0.0"\n\n[dependencies]\nb = "1"\n'


@pytest.mark.parametrize(
    ("path", "base", "head", "impact"),
    [
        ("doc.go", PAGE, PAGE.replace("a.New()", "a.Other()\n\tx = 1").replace("one", "two"), Impact.comment),
        ("doc.go", PAGE, f"// +build linux\n\n{PAGE}", Impact.behaviour),
        ("doc.go", PAGE, PAGE.replace("one", "one\n//go:generate stringer"), Impact.behaviour),
        ("doc.go", PAGE, f"{PAGE}\n//nolint\nvar b = 1\n", Impact.behaviour),
        ("pom.xml", POM, POM.replace("Of 2020", "Of 2024, and the licence"), Impact.comment),
        ("pom.xml", POM, POM.replace("<a>", "<!-- It is one. -->\n\n    <a>"), Impact.comment),
        ("pom.xml", POM, POM.replace("<a>", "<!-- suppress all -->\n  <a>"), Impact.behaviour),
        ("pom.xml", POM, POM.replace("<a>", "<?run it?><a>"), Impact.behaviour),
        ("pom.xml", POM, POM.replace("<a>1", "<a>2"), Impact.behaviour),
        ("pom.xml", POM, POM.replace("1.0'", "1.0' encoding='utf-7'"), Impact.behaviour),
        ("a.xml", f"<!DOCTYPE a>{POM}", f"<!DOCTYPE a>{POM}<!-- b -->", Impact.behaviour),
        ("a.xml", None, POM, Impact.behaviour),
        ("Cargo.toml", CARGO, CARGO.replace("[dep", "# It needs this.\n[dep"), Impact.behaviour),
        ("Cargo.toml", CARGO, CARGO.replace("1.0.0", "1.1.0-rc.1"), Impact.version),
        ("Cargo.toml", f"{_NOTED}1.0.0{_NOTE}", f"{_NOTED}1.1.0{_NOTE}", Impact.version),
        ("Cargo.toml", f"{_NOTED}1.0.0{_NOTE}", f"{_NOTED}1.1.0{_NOTE} more", Impact.behaviour),
        ("Cargo.toml", CARGO, CARGO.replace('b = "1"', 'b = "2"'), Impact.behaviour),
        ("Cargo.toml", CARGO.replace("version", "edition"), CARGO, Impact.behaviour),
        (
            "Cargo.toml",
            '[dependencies.b]\nversion = "1.0"\n',
            '[dependencies.b]\nversion = "1.1"\n',
            Impact.behaviour,
        ),
        ("a/__init__.py", '__version__ = "1.0"\nf()\n', '__version__ = "1.1.dev0"\nf()\n', Impact.version),
        ("a/__init__.py", '__version__ = "1.0"\nf()\n', '__version__ = "1.1"\ng()\n', Impact.behaviour),
        ("a/__init__.py", '__version__ = "1.0"\n', '__version__ = "1.1"  # noqa\n', Impact.behaviour),
        ("a.py", 'version = "1.0"\n', 'version = "1.1"\n', Impact.behaviour),
        (
            "docs/conf.py",
            "version = '1.0'\nrelease = '1.0.1'\n",
            "version = '1.1'\nrelease = '1.1.0'\n",
            Impact.version,
        ),
        ("setup.py", "setup(\n    version='1.0',\n)\n", "setup(\n    version='1.1',\n)\n", Impact.version),
        ("setup.cfg", "[metadata]\nversion = 1.0\n", "[metadata]\nversion = 1.1\n", Impact.version),
        ("package.json", '{\n  "version": "1.0.0"\n}\n', '{\n  "version": "1.0.1"\n}\n', Impact.version),
        (
            "package.json",
            '{\n  "engines": {\n    "version": "1.0.0"\n  }\n}\n',
            '{\n  "engines": {\n    "version": "1.0.1"\n  }\n}\n',
            Impact.behaviour,
        ),
    ],
)
def test_nothing_is_left_to_read(path: str, base: str | None, head: str, impact: Impact) -> None:
    assert assess(path, find_language(path), base, head) is impact
