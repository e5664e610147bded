"""Every rule for dangerous code finds its bad examples and leaves its good ones alone, in each of its languages."""

import re
from typing import Any, cast

import pytest
from ast_grep_py import SgRoot

from agents.review.checks.dangers.rules import BY_RULE, FILE, TABLE, RuleFile, read_rules, scan
from agents.review.checks.rule_texts import Danger
from agents.toolbox import Toolbox
from tests.unit.checks.building import Versions
from tests.unit.checks.checking import check_files
from tests.unit.checks.examples import DANGERS

BAD = [(rule.id, grammar, text) for rule in TABLE for grammar in rule.grammars for text in DANGERS[rule.id].bad]
GOOD = [(rule.id, grammar, text) for rule in TABLE for grammar in rule.grammars for text in DANGERS[rule.id].good]


def enclose(grammar: str, text: str) -> str:
    """Statements of Go, Java and C# need a function around them."""
    if grammar == "go":
        return f"package a\n\nfunc f() {{\n{text}\n}}\n"
    if grammar in ("java", "csharp") and not text.startswith("class "):
        return f"class A {{ void F() {{\n{text}\n}} }}\n"
    return text + "\n"


def _is_found(rule: str, grammar: str, text: str) -> bool:
    return rule in {hit.rule for hit in scan(grammar, enclose(grammar, text))}


def test_finds() -> None:
    assert [row for row in BAD if not _is_found(*row)] == []


def test_leaves_alone() -> None:
    assert [row for row in GOOD if _is_found(*row)] == []


RULES = """\
utils: {any: {named: {regex: a}}}
rules:
  - id: go/a
    message: It is one.
    metadata: {danger: command, grade: command}
    rule: {kind: identifier, matches: named}
"""


def _list_mistakes(file: RuleFile) -> list[str]:
    """What ast-grep says against rules."""
    found: list[str] = []
    for rule in file.rules:
        for grammar in rule.grammars:
            try:
                SgRoot("", grammar).root().find_all(cast(Any, file.configure(rule)))
            except Exception as error:  # ast-grep raises no narrower one
                found.append(f"{rule.id} in {grammar}: {str(error).partition('Stack backtrace')[0]}")
    return found


@pytest.mark.parametrize(
    ("right", "wrong", "said"),
    [
        ("danger: command", "danger: comand", "rules.0.metadata.danger\n  Value error, 'comand' is none of sql_value"),
        ("grade: command", "grade: best", "rules.0.metadata.grade\n  Value error, 'best' is none of code, command"),
        ("message", "mesage", "rules.0.message\n  Field required"),
        ("rule:", "rule: {}\n    rules:", "rules.0.rules\n  Extra inputs are not permitted"),
    ],
)
def test_an_entry_that_nobody_understands_is_refused_with_its_place(right: str, wrong: str, said: str) -> None:
    with pytest.raises(ValueError, match=re.escape(said)):
        read_rules(RULES.replace(right, wrong))


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ("{kind: identifyer}", "Kind `identifyer` is invalid"),
        ("{kinds: identifier}", "unknown field `kinds`"),
        ("{kind: identifier, matches: other}", "Rule `other` is not defined"),
        ("{kind: identifier, regex: '('}", "unclosed group"),
    ],
)
def test_a_rule_that_ast_grep_does_not_take_is_named(wrong: str, said: str) -> None:
    [mistake] = _list_mistakes(read_rules(RULES.replace("{kind: identifier, matches: named}", wrong)))
    assert mistake.startswith("go/a in go: ")
    assert said in mistake


def test_every_rule_is_one_of_ast_grep() -> None:
    assert _list_mistakes(read_rules(RULES)) == []
    assert _list_mistakes(FILE) == []


def test_every_entry_is_complete() -> None:
    assert len(BY_RULE) == len(TABLE)
    assert DANGERS.keys() == BY_RULE.keys()
    assert all(len(each.bad) >= 2 and len(each.good) >= 2 for each in DANGERS.values())
    assert all(rule.message.endswith(".") for rule in TABLE)


SQL = {
    "python": (
        "def f(d):\n    q = f\"SELECT a FROM b WHERE c = '{d}'\"\n    log(q)\n    db.execute(q)",
        "def f(table, d):\n    db.execute(f'SELECT a FROM {table} WHERE c = ?', d)",
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
        'class A { void f(String d) { s.executeQuery("SELECT a FROM " + d); } }',
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
    assert (grave, less) == ([Danger.sql_value], [Danger.sql_name])


@pytest.mark.parametrize(
    ("put_in", "danger"),
    [
        ("= {int(request.args['id'])}", None),
        ("= '{KIND}'", None),
        ("IN ({placeholders})", None),
        ("IN ({', '.join('?' * len(names))})", None),
        ("IN ({', '.join(names)})", Danger.sql_text),
        ("= ? ORDER BY a {'ASC' if a else 'DESC'}", None),
        ("= ? ORDER BY {request.args['order']}", Danger.sql_foreign_name),
        ("= ? LIMIT {request.args['limit']}", Danger.sql_value),
        ("'{name}'", Danger.sql_value),
        ("LIKE '%{name}%'", Danger.sql_value),
        ("IN ('{a}', '{b}')", Danger.sql_value),
        ("= {request.args['id']}", Danger.sql_value),
        ("= {row_id}", Danger.sql_text),
        ("= '{made_here}'", Danger.sql_text),
        ("= {sent}", Danger.sql_value),
        ("= '{sent}'", Danger.sql_value),
        ("= '{request.args['checked']}'", Danger.sql_text),
        ("= '{self.name}'", Danger.sql_text),
        ("= '{escape(name)}'", Danger.sql_text),
        ("= {t}.id", Danger.sql_text),
        ("= ? ORDER BY {column}", Danger.sql_name),
    ],
)
def test_what_is_put_in_and_where_decides(put_in: str, danger: Danger | None) -> None:
    condition = put_in if put_in[:1] in "=LI" else f"= {put_in}"
    text = f"""
def find(self, name, a, b, row_id, t, names, column):
    sent = request.args["x"]
    validate(request.args, "checked")
    return db.execute(f"SELECT a FROM b WHERE c {condition}")
"""
    assert [hit.danger for hit in scan("python", text)] == ([danger] if danger else [])


KEPT = {
    "python": ('def f(d):\n    q = f"SELECT a FROM b PLACE"\n    db.execute(q)', "{d}"),
    "javascript": ("function f(d) { const q = `SELECT a FROM b PLACE`;\ndb.query(q); }", "${d}"),
    "typescript": ("const f = (d: string) => { const q = `SELECT a FROM b PLACE`;\ndb.query(q); }", "${d}"),
    "ruby": ('def f(d)\n  q = "SELECT a FROM b PLACE"\n  c.select_all(q)\nend', "#{d}"),
    "php": ('<?php function f($d) { $q = "SELECT a FROM b PLACE"; $db->query($q); }', "$d"),
    "go": (
        'package a\nfunc f(d string) {\nq := fmt.Sprintf("SELECT a FROM b PLACE", d)\ndb.Query(q)\n}',
        "%s",
    ),
    "java": (
        'class A { void f(String d) { String q = "SELECT a FROM b PLACE"; s.executeQuery(q); } }',
        '" + d + "',
    ),
    "csharp": ('class A { void F(string d) { var q = $"SELECT a FROM b PLACE"; db.Query(q); } }', "{d}"),
    "rust": ('fn f(d: &str) { let q = format!("SELECT a FROM b PLACE", d); c.execute(&q, []); }', "{}"),
}
"""A parameter that stands somewhere in a statement which is kept under a name before it is carried out."""


@pytest.mark.parametrize("grammar", KEPT)
@pytest.mark.parametrize(
    ("place", "danger"),
    [
        ("WHERE c = {}", Danger.sql_text),
        ("WHERE c IN ({})", Danger.sql_text),
        ("WHERE c = 1 LIMIT {}", Danger.sql_text),
        ("WHERE c = 1 LIMIT 9 OFFSET {}", Danger.sql_text),
        ("WHERE c = '{}'", Danger.sql_value),
        ("ORDER BY {}", Danger.sql_name),
    ],
)
def test_what_a_parameter_puts_into_a_kept_statement(grammar: str, place: str, danger: Danger) -> None:
    text, hole = KEPT[grammar]
    assert [hit.danger for hit in scan(grammar, text.replace("PLACE", place.replace("{}", hole)))] == [danger]


@pytest.mark.parametrize(
    ("grammar", "text"),
    [
        ("python", "def f(d: int):\n    q = f'SELECT a FROM b LIMIT {d}'\n    db.execute(q)"),
        (
            "python",
            "def f(d: bool | None, n: Optional[int]):\n    q = f'SELECT a FROM b WHERE c = {n}'\n    db.execute(q)",
        ),
        ("typescript", "const f = (d?: number) => { const q = `SELECT a FROM b LIMIT ${d}`;\ndb.query(q); }"),
        ("go", 'package a\nfunc f(d, e int64) {\nq := fmt.Sprintf("SELECT a FROM b LIMIT %d", d)\ndb.Query(q)\n}'),
        ("java", 'class A { void f(long d) { String q = "SELECT a FROM b LIMIT " + d; s.executeQuery(q); } }'),
        ("php", '<?php function f(int $d) { $q = "SELECT a FROM b LIMIT $d"; $db->query($q); }'),
        ("rust", 'fn f(d: u32) { let q = format!("SELECT a FROM b LIMIT {d}"); c.execute(&q, []); }'),
        ("python", "def f(where_clause):\n    q = f'SELECT a FROM b WHERE {where_clause}'\n    db.execute(q)"),
    ],
)
def test_a_number_or_a_part_by_its_name_in_a_kept_statement_is_left_alone(grammar: str, text: str) -> None:
    assert scan(grammar, text) == []


ADDED = {
    "python": "def f(d):\n    q = 'SELECT a FROM b'\n    q += \" WHERE c = '\" + d + \"'\"\n    db.execute(q)",
    "javascript": "function f(d) { let q = 'SELECT a FROM b';\nq += \" WHERE c = '\" + d + \"'\";\ndb.query(q); }",
    "typescript": "const f = (d: string) => { let q = 'SELECT a FROM b';\nq += ` WHERE c = '${d}'`;\ndb.all(q); }",
    "tsx": "const f = (d: string) => { const q = ['SELECT a FROM b'];\nq.push(`c = '${d}'`);\ndb.all(q.join(' ')); }",
    "ruby": "def f(d)\n  q = 'SELECT a FROM b'\n  q << \" WHERE c = '#{d}'\"\n  c.select_all(q)\nend",
    "php": "<?php function f($d) { $q = 'SELECT a FROM b'; $q .= \" WHERE c = '$d'\"; $db->query($q); }",
    "go": 'package a\nfunc f(d string) {\nq := "SELECT a FROM b"\nq += " WHERE c = \'" + d + "\'"\ndb.Query(q)\n}',
    "java": 'class A { void f(String d) { String q = "SELECT a FROM b"; '
    'q += " WHERE c = \'" + d + "\'"; s.executeQuery(q); } }',
    "csharp": 'class A { void F(string d) { var q = "SELECT a FROM b"; q += $" WHERE c = \'{d}\'"; db.Query(q); } }',
    "rust": 'fn f(d: &str) { let mut q = String::from("SELECT a FROM b"); q += &format!(" WHERE c = \'{}\'", d); '
    "c.execute(&q, []); }",
}


@pytest.mark.parametrize("grammar", ADDED)
def test_a_value_that_is_added_to_a_statement_is_put_into_it(grammar: str) -> None:
    assert [hit.danger for hit in scan(grammar, ADDED[grammar])] == [Danger.sql_value]


@pytest.mark.parametrize(
    ("grammar", "text"),
    [
        (
            "python",
            "def f(d):\n    p = ['SELECT a FROM b']\n    p.append(f\"WHERE c = '{d}'\")\n    db.execute(' '.join(p))",
        ),
        (
            "python",
            (
                "def f(d):\n    w = []\n    w.append(f\"c = '{d}'\")\n    "
                "db.execute('SELECT a FROM b WHERE ' + ' AND '.join(w))"
            ),
        ),
        ("python", "def f(d):\n    w = \"c = '\" + d + \"'\"\n    q = 'SELECT a FROM b WHERE ' + w\n    db.execute(q)"),
        ("python", "def f(d):\n    q = 'SELECT a FROM b'\n    q = q + f\" WHERE c = '{d}'\"\n    db.execute(q)"),
        (
            "python",
            (
                "def f(d):\n    p = ['SELECT a FROM b']\n    "
                "p += [f\"WHERE c = '{d}'\"]\n    q = ' '.join(p)\n    db.execute(q)"
            ),
        ),
        ("ruby", "def f(d)\n  q = ['SELECT a FROM b']\n  q << \" WHERE c = '#{d}'\"\n  c.select_all(q.join(' '))\nend"),
        (
            "php",
            (
                "<?php function f($d) { $q = ['SELECT a FROM b']; "
                "$q[] = \"WHERE c = '$d'\"; $db->query(implode(' ', $q)); }"
            ),
        ),
        (
            "go",
            (
                'package a\nfunc f(d string) {\nq := []string{"SELECT a FROM b"}\n'
                'q = append(q, "WHERE c = \'" + d + "\'")\n'
                'db.Query(strings.Join(q, " "))\n}'
            ),
        ),
        (
            "java",
            (
                'class A { void f(String d) { StringBuilder q = new StringBuilder("SELECT a FROM b"); '
                'q.append(" WHERE c = \'" + d + "\'"); s.executeQuery(q.toString()); } }'
            ),
        ),
        (
            "csharp",
            (
                'class A { void F(string d) { var q = new StringBuilder("SELECT a FROM b"); '
                "q.Append($\" WHERE c = '{d}'\"); "
                "db.Query(q.ToString()); } }"
            ),
        ),
        (
            "rust",
            (
                'fn f(d: &str) { let mut q = String::from("SELECT a FROM b"); '
                "q.push_str(&format!(\" WHERE c = '{}'\", d)); "
                "c.execute(&q, []); }"
            ),
        ),
    ],
)
def test_a_statement_is_followed_through_its_parts(grammar: str, text: str) -> None:
    assert {hit.danger for hit in scan(grammar, text)} == {Danger.sql_value}


def test_after_half_a_fix_the_rest_is_still_found() -> None:
    before = """
def search(self, text, order):
    query = "SELECT id FROM invoices WHERE customer LIKE '%" + text + "%'"
    query += " ORDER BY " + order
    return self.db.execute(query)
"""
    after = before.replace("""'%" + text + "%'\"""", '?"').replace("(query)", "(query, (text,))")
    assert [(hit.line, hit.danger) for hit in scan("python", before)] == [(3, Danger.sql_value), (4, Danger.sql_name)]
    assert [(hit.line, hit.danger) for hit in scan("python", after)] == [(4, Danger.sql_name)]


@pytest.mark.parametrize(
    ("grammar", "text"),
    [
        ("python", "TABLE = 'b'\ndef f():\n    db.execute(f'SELECT a FROM {TABLE}')"),
        ("python", "NAMES = ('a', 'b')\ndef f():\n    n = ', '.join(NAMES)\n    db.execute(f'SELECT {n} FROM b')"),
        (
            "python",
            (
                "def f(ids):\n    m = ', '.join('?' for _ in ids)\n    "
                "db.execute(f'SELECT a FROM b WHERE c IN ({m})', ids)"
            ),
        ),
        (
            "python",
            (
                "def f(o):\n    if o not in NAMES:\n        "
                "raise ValueError(o)\n    db.execute(f'SELECT a FROM b ORDER BY {o}')"
            ),
        ),
        ("python", "def f(o):\n    if o in NAMES:\n        db.execute(f'SELECT a FROM b ORDER BY {o}')"),
        (
            "python",
            (
                "def f(x):\n    w = ['a = ?']\n    if x:\n        w.append('b = ?')\n    "
                "db.execute('SELECT a FROM b WHERE ' + ' AND '.join(w))"
            ),
        ),
        ("python", "def f(x):\n    q = 'SELECT a FROM b'\n    if x:\n        q += ' WHERE c = ?'\n    db.execute(q)"),
        ("javascript", "const TABLE = 'b'; function f() { db.query(`SELECT a FROM ${TABLE}`); }"),
        (
            "javascript",
            "function f(ids) { db.query(`SELECT a FROM b WHERE c IN (${ids.map(() => '?').join()})`, ids); }",
        ),
        (
            "javascript",
            (
                "function f(ids) { const m = ids.map((_, i) => `$${i + 1}`).join(', ');\n"
                "db.query(`SELECT a FROM b WHERE c IN (${m})`, ids); }"
            ),
        ),
        (
            "javascript",
            "function f(o) { if (!ALLOWED.has(o)) throw new Error(o);\ndb.query(`SELECT a FROM b ORDER BY ${o}`); }",
        ),
        ("typescript", "function f(o: string) { const c = COLUMNS[o];\ndb.query(`SELECT a FROM b ORDER BY ${c}`); }"),
        ("java", 'class A { static final String T = "b"; void f() { s.executeQuery("SELECT a FROM " + T); } }'),
        (
            "java",
            (
                'class A { void f(int n) { String m = "?,".repeat(n); '
                's.executeQuery("SELECT a FROM b WHERE c IN (" + m + "1)"); } }'
            ),
        ),
        (
            "java",
            (
                "class A { void f(String o) { if (!ALLOWED.contains(o)) {\n"
                'throw new X(o);\n}\ns.executeQuery("SELECT a FROM b ORDER BY " + o); } }'
            ),
        ),
        (
            "go",
            (
                "package a\nfunc f(o string) error {\nif !allowed[o] {\n"
                'return bad\n}\ndb.Query("SELECT a FROM b ORDER BY " + o)\n}'
            ),
        ),
        ("go", 'package a\nconst table = "b"\nfunc f() {\ndb.Query("SELECT a FROM " + table)\n}'),
        (
            "ruby",
            'def f(o)\n  raise o unless ALLOWED.include?(o)\n  c.select_all("SELECT a FROM b ORDER BY #{o}")\nend',
        ),
        (
            "php",
            (
                "<?php function f($o) { if (!in_array($o, self::ALLOWED)) { "
                'throw new X(); }\n$db->query("SELECT a FROM b ORDER BY $o"); }'
            ),
        ),
        (
            "php",
            (
                "<?php function f($ids) { $m = implode(',', array_fill(0, count($ids), '?')); "
                '$db->prepare("SELECT a FROM b WHERE c IN ($m)"); }'
            ),
        ),
    ],
)
def test_what_cannot_change_a_statement_is_no_finding(grammar: str, text: str) -> None:
    assert scan(grammar, text) == []


@pytest.mark.parametrize(
    ("grammar", "text"),
    [
        (
            "python",
            "def f(o):\n    if o not in cache:\n        cache[o] = db.execute(f\"SELECT a FROM b WHERE c = '{o}'\")",
        ),
        (
            "python",
            (
                "def f():\n    o = request.args['o']\n    q = 'SELECT a FROM b'\n    "
                "q += ' ORDER BY x, ' + o\n    db.execute(q)"
            ),
        ),
        ("ruby", "name = ARGV[0]\ndb.execute(\"SELECT a FROM b WHERE c = '#{name}'\")"),
        ("php", "<?php $name = $argv[1]; $db->query(\"SELECT a FROM b WHERE c = '$name'\");"),
        ("javascript", "const name = process.argv[2];\ndb.query(`SELECT a FROM b WHERE c = '${name}'`);"),
        ("javascript", "const o = process.argv[2];\ndb.query(`SELECT a FROM b ORDER BY ${o}`);"),
        ("ruby", "User.find_by_sql(\"SELECT a FROM b WHERE c = '#{params[:email]}'\")"),
        ("javascript", 'db.query("SELECT a FROM b WHERE c = \'" + req.params.email + "\'");'),
        ("javascript", "db.query(`SELECT a FROM b WHERE c = '${req.query.status}'`);"),
        ("python", "prefix = request.args['q']\ndb.execute(f\"SELECT a FROM b WHERE c LIKE '{prefix}%'\")"),
        ("php", "<?php $prefix = $_GET['q']; $db->query(\"SELECT a FROM b WHERE c LIKE '$prefix%'\");"),
        (
            "go",
            (
                'package a\nfunc f(r *http.Request) {\n\temail := r.URL.Query().Get("email")\n'
                '\tdb.Query("SELECT a FROM b WHERE c = \'" + email + "\'")\n}\n'
            ),
        ),
    ],
)
def test_what_was_sent_is_grave_in_every_place(grammar: str, text: str) -> None:
    danger = Danger.sql_foreign_name if "BY" in text else Danger.sql_value
    assert [hit.danger for hit in scan(grammar, text)] == [danger]


def test_a_command_made_of_an_argument_of_the_program_is_grave() -> None:
    text = 'name = ARGV[0]\nsystem("cp a.db /backup/#{name}.db")\n'
    assert [hit.danger for hit in scan("ruby", text)] == [Danger.command]


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
