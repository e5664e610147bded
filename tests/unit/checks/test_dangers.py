"""Every rule for dangerous code finds its bad examples and leaves its good ones alone, in each of its languages."""

import pytest

from agents.review.checks.dangers.rule import DangerRule
from agents.review.checks.dangers.scanner import BY_RULE, TABLE, scan
from agents.review.checks.gravity import Danger
from agents.toolbox import Toolbox
from tests.unit.checks.building import Versions
from tests.unit.checks.checking import check_files

BAD = [(rule.rule, grammar, text) for rule in TABLE for grammar in rule.grammars for text in rule.bad]
GOOD = [(rule.rule, grammar, text) for rule in TABLE for grammar in rule.grammars for text in rule.good]


def enclose(grammar: str, text: str) -> str:
    """Statements of Go, Java and C# need a function around them."""
    if grammar == "go":
        return f"package a\n\nfunc f() {{\n{text}\n}}\n"
    if grammar in ("java", "csharp") and not text.startswith("class "):
        return f"class A {{ void F() {{\n{text}\n}} }}\n"
    return text + "\n"


@pytest.mark.parametrize(("rule", "grammar", "text"), BAD)
def test_finds(rule: str, grammar: str, text: str) -> None:
    assert rule in {hit.rule for hit in scan(grammar, enclose(grammar, text))}


@pytest.mark.parametrize(("rule", "grammar", "text"), GOOD)
def test_leaves_alone(rule: str, grammar: str, text: str) -> None:
    assert rule not in {hit.rule for hit in scan(grammar, enclose(grammar, text))}


@pytest.mark.parametrize("rule", TABLE, ids=lambda rule: rule.rule)
def test_every_entry_is_complete(rule: DangerRule) -> None:
    assert len(BY_RULE) == len(TABLE)
    assert len(rule.bad) >= 2
    assert len(rule.good) >= 2
    assert rule.message.endswith(".")


SQL = {
    "python": (
        "def f(d):\n    q = f\"SELECT a FROM b WHERE c = '{d}'\"\n    log(q)\n    db.execute(q)",
        "def f(d):\n    db.execute(f'SELECT a FROM {TABLE} WHERE c = ?', d)",
    ),
    "javascript": (
        "async function f(d) { const q = `SELECT a FROM b WHERE c = '${d}'`;\nawait db.query(q); }",
        "function f(table) { db.query(`SELECT a FROM ${table}`) }",
    ),
    "typescript": (
        'const f = (d: string) => { const q: string = "SELECT a FROM b WHERE c = \'" + d + "\'";\ndb.all(q); }',
        "function f(columns: string) { db.all(`SELECT ${columns} FROM b`) }",
    ),
    "ruby": (
        "def f(d)\n  q = \"SELECT a FROM b WHERE c = '#{d}'\"\n  c.select_all(q)\nend",
        'def f(table)\n  c.select_all("SELECT a FROM #{table}")\nend',
    ),
    "php": (
        "<?php function f($d) { $q = \"SELECT a FROM b WHERE c = '$d'\"; $db->query($q); }",
        '<?php function f($table) { $db->query("SELECT a FROM $table"); }',
    ),
    "go": (
        "package a\nfunc f(d string) {\nq := fmt.Sprintf(\"SELECT a FROM b WHERE c = '%s'\", d)\ndb.Query(q)\n}",
        'package a\nfunc f(table string) {\ndb.Query(fmt.Sprintf("SELECT a FROM %s", table))\n}',
    ),
    "java": (
        'class A { void f(String d) { String q = "SELECT a FROM b WHERE c = \'" + d + "\'"; s.executeQuery(q); } }',
        'class A { void f(String d) { s.executeQuery("SELECT a FROM " + TABLE); } }',
    ),
    "csharp": (
        "class A { void F(string d) { var q = $\"SELECT a FROM b WHERE c = '{d}'\"; cmd.CommandText = q; } }",
        'class A { void F(string table) { db.Query($"SELECT a FROM {table}"); } }',
    ),
    "rust": (
        "fn f(d: &str) { let q = format!(\"SELECT a FROM b WHERE c = '{}'\", d); c.execute(&q, []); }",
        'fn f(table: &str) { c.execute(&format!("SELECT a FROM {table}"), []); }',
    ),
}


@pytest.mark.parametrize("grammar", SQL)
def test_a_value_in_sql_is_grave_also_by_way_of_a_variable_and_a_name_is_less(grammar: str) -> None:
    grave, less = ([hit.danger for hit in scan(grammar, text)] for text in SQL[grammar])
    assert (grave, less) == ([Danger.sql_value], [Danger.sql_text])


@pytest.mark.parametrize(
    ("put_in", "danger"),
    [
        ("'{name}'", Danger.sql_value),
        ("LIKE '%{name}%'", Danger.sql_value),
        ("IN ('{a}', '{b}')", Danger.sql_value),
        ("= {request.args['id']}", Danger.sql_value),
        ("= {int(request.args['id'])}", Danger.sql_text),
        ("= {row_id}", Danger.sql_text),
        ("= '{made_here}'", Danger.sql_text),
        ("= {sent}", Danger.sql_text),
        ("= '{sent}'", Danger.sql_value),
        ("= '{request.args['checked']}'", Danger.sql_text),
        ("= '{self.name}'", Danger.sql_text),
        ("= '{KIND}'", Danger.sql_text),
        ("= '{escape(name)}'", Danger.sql_text),
        ("= {t}.id", Danger.sql_text),
        ("IN ({placeholders})", Danger.sql_text),
        ("IN ({', '.join('?' * len(names))})", Danger.sql_text),
        ("= ? ORDER BY {column}", Danger.sql_text),
    ],
)
def test_what_is_put_in_and_where_decides(put_in: str, danger: Danger) -> None:
    condition = put_in if put_in[:1] in "=LI" else f"= {put_in}"
    text = f"""
def find(self, name, a, b, row_id, t, names, column):
    sent = request.args["x"]
    validate(request.args, "checked")
    return db.execute(f"SELECT a FROM b WHERE c {condition}")
"""
    assert [hit.danger for hit in scan("python", text)] == [danger]


def test_the_type_of_a_parameter_is_no_value() -> None:
    put_in = "sprintf(trans('x %s', array()), 1)"
    text = f'<?php function f(array $a) {{ $db->execute("INSERT INTO a VALUES (\'" . {put_in} . "\')"); }}'
    assert [hit.danger for hit in scan("php", text)] == [Danger.sql_text]


def test_text_that_nobody_hands_to_a_database_is_no_statement() -> None:
    text = "q = f\"SELECT a FROM b WHERE c = '{d}'\"\nprint(q)\nlog.info(f\"Delete from x where y = '{z}'\")\n"
    assert scan("python", text) == []


@pytest.mark.parametrize(
    ("text", "danger"),
    [
        ('system("convert #{params[:file]}")', Danger.command),
        ('system("convert #{name}.png")', Danger.command),
        ('system("#{binary} --version")', Danger.command_text),
        ('system("make #{options}")', Danger.command_text),
        ('system("kill #{child.pid}")', None),
        ("`git log #{branch}`", Danger.command),
    ],
)
def test_a_value_in_a_command_is_graver_than_its_program(text: str, danger: Danger | None) -> None:
    found = [hit.danger for hit in scan("ruby", f"def f(name, branch, binary, options, child)\n  {text}\nend\n")]
    assert found == ([danger] if danger else [])


@pytest.mark.asyncio(loop_scope="session")
async def test_only_new_dangers_outside_tests_are_said_and_nothing_counts_as_read(toolbox: Toolbox) -> None:
    old = "package a\n\nfunc f() {\n\tc.InsecureSkipVerify = true\n}\n"
    files: Versions = {
        "a.go": (old, old.replace("}\n", '\tdb.Query("SELECT a FROM b WHERE c = " + d)\n}\n')),
        "a_test.go": (None, old),
        "b.c": (None, "MACRO(a)\nvoid f() { gets(b); }\n"),
    }
    result = await check_files(toolbox, files)
    assert [(f.rule, f.path, f.line) for f in result.findings] == [
        ("c/gets", "b.c", 2),
        ("go/sql-from-text", "a.go", 5),
    ]
    assert result.read_by == {}
    assert not [tool.problem for layer in result.layers for tool in layer.tools if tool.problem]
