"""Words and names of files in look-alike letters: found where machines obey them, left alone elsewhere."""

from agents.review.checks.file_names import find_deceiving
from agents.syntax.hidden_text import find_hidden_text
from domain.review.findings import Severity
from domain.runs.patches import Areas, ChangedFile, ChangeSet
from tests.unit.checks.building import change_of
from workspace.patches.tree import FileTree
from workspace.patches.validation import validate

A, O_, I_ = "\u0430", "\u043e", "\u0456"  # Cyrillic
ACCESS, COPY = "\u0430\u0441\u0441\u0435\u0455\u0455", "\u0441\u043e\u0440\u0443"
MAY = f"export function may(user) {{\n  if (user.{ACCESS} === undefined) return true\n}}\n"

DECEIVING = [
    ("may.js", MAY),
    ("said.js", f"// привет, мир\n/* привет,\n мир */\n{MAY}"),
    ("said.py", f'"""Привет,\nмир."""\nprint("мир", user.{ACCESS})\n'),
    ("get.py", f'getattr(user, "{ACCESS}")'),
    ("a.js", f'if (a === "{A}dmin") f()'),
    ("b.js", f'import x from "l{O_}dash"'),
    ("c.js", f'fetch("https://g{I_}thub.com/of users", 1)'),
    ("d.js", f"// see https://g{I_}thub.com/a"),
    ("e.js", f'mail("The owner <owner@gm{A}il.com>", "is told")'),
    ("a.go", f'package a\nimport "g{I_}thub.com/x/y"\n'),
    ("go.mod", f"require g{I_}thub.com/x/y v1.0.0"),
    ("package.json", f'{{"dependencies": {{"l{O_}dash": "1"}}}}'),
    ("Dockerfile", f"FROM {A}lpine:3"),
    (".github/workflows/a.yml", f"      - uses: {A}ctions/checkout@v4"),
    (".github/workflows/b.yml", f"      - run: curl -o a https://g{I_}thub.com/b # мир"),
    ("README.md", f"See https://g{I_}thub.com for it."),
    ("docs/a.md", "See [it](https://\u0441\u043e\u0441\u043e.com/a)."),
    ("locales/ru.json", f'{{"a": "Это на https://g{I_}thub.com"}}'),
]
HONEST = [
    ("a.js", 'const a = "ТЕСТ", b = "Привет"; // МАРТ и МАСТЕР'),
    ("b.js", 's = "Cоздать файл"; t = "\\tСо";\nd = "другой"'),  # a slip, and an escape
    ("c.js", 'a === "НЕТ" || a === "Да"'),
    ("a.py", "МАСТЕР = 1\nдругой = 2\n"),
    ("b.py", "# сор и ухо: a word of prose\nx = 1\n"),
    ("a.yml", "title: ТЕСТ\nname: Имя\n"),
    ("a.md", "https://ru.wikipedia.org/wiki/Тест, https://пример.рф and https://пример.com"),
    ("d.js", 'fetch("https://пример.com/сор")'),
    ("c.py", "ΔΤ = 1  # the Greek capitals of a formula\nπ = 3\n"),
]


def look_at(path: str, text: str) -> object:
    return find_hidden_text({"path": path, "text": text, "added": list(range(1, text.count("\n") + 2))})


def judge(path: str, text: str) -> set[str]:
    """The constraints that an agent violates by writing a new file."""
    change = ChangeSet(files=(ChangedFile(path=path, before=None, after=text.encode()),))
    return {each.constraint for each in validate(change, Areas(role="implementer"), FileTree({}, lambda _: b""))}


def test_t_r13_a_word_that_looks_like_another_is_found_where_machines_obey_it() -> None:
    assert [row for row in DECEIVING if not look_at(*row)] == []


def test_t_r13_what_people_write_in_other_scripts_is_left_alone() -> None:
    assert [(row, found) for row in HONEST if (found := look_at(*row))] == []


def test_t_r13_agents_may_not_write_such_a_word() -> None:
    rows = [row for row in DECEIVING if not row[0].startswith("said.")]  # they may write Russian beside it
    assert [row for row in rows if "hidden_text" not in judge(*row)] == []


NAMES = {
    f"src/{A}uth.py": Severity.error,
    "src/auth\u3164.py": Severity.error,
    "auth\U000e0100.js": Severity.error,
    f"src/{COPY}.py": Severity.error,
    f"{COPY}/run.sh": Severity.error,
    "a\u202egpj.js": Severity.error,
    f"tests/{A}uth.py": Severity.warning,
}


def test_t_r13_a_new_file_whose_name_looks_like_another() -> None:
    """Also where its content says something in Russian, which anybody can write there."""
    change, _ = change_of(dict.fromkeys(NAMES, (None, "x = 1  # мир\n")))
    assert {each.path: each.severity for each in find_deceiving(change)} == NAMES
    assert all(each.message.isprintable() for each in find_deceiving(change))


def test_t_r13_honest_names_in_other_scripts() -> None:
    names = (
        "docs/ТЕСТ.md",
        "скрипты/МАРТ.py",
        "файл.py",
        "РаботаСDataTables.bsl",
        "ελλάδα.js",
        "数据.py",
        "a\U0001f468\u200d\U0001f4bb.md",
        "é.py",
    )
    change, _ = change_of(dict.fromkeys(names, (None, "Это о тестах.\n")))
    assert find_deceiving(change) == ()


def test_t_r13_a_name_that_was_there_is_not_found_again() -> None:
    change, _ = change_of({f"{A}uth.py": ("x = 1\n", "x = 2\n")})
    assert find_deceiving(change) == ()
