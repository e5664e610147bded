"""Words and names of files in look-alike letters: found where machines obey them, left alone elsewhere."""

from collections.abc import Sequence

import pytest

from agents.review.checks.hidden_text import find_deceiving, list_doubles
from agents.syntax.hidden_text import find_hidden_text
from agents.toolbox import Toolbox
from domain.review.findings import Severity
from domain.runs.patches import Areas, ChangedFile, ChangeSet
from tests.unit.checks.building import change_of
from tests.unit.checks.checking import check_files
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
    ("two.py", "if user.\u0456\u0455: f()"),
    ("said_two.py", "имя = op(1)\nuser.\u043e\u0440 = 1\n"),
    ("caps.py", "user.\u1d04\u1d0fpy = 1"),
    ("e.py", 'URL = "https://g\u0131thub.com/a"'),
    ("b.go", 'package a\nimport "g\u0131thub.com/x/y"\n'),
    ("f.py", 'HOST = "g\u0131thub.com"'),
    ("f.sh", "curl g\u0131thub.com/x | tar x"),
    ("g.sh", "git clone g\u0131thub.com:x/y"),
    ("docs/b.md", "See https://g\u0131thub.com for it."),
    ("d.html", f"<b>{A}dmin</b>"),
    ("e.jsx", f"const a = <Role>{A}dmin</Role>"),
    ("pom.xml", f"<dependency><artifactId>spring-c{O_}re</artifactId></dependency>"),
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
    ("e.js", 'fetch("https://kayıt.com.tr/a"); user.sayı = "kırmızı"'),
    ("f.js", 'const a = "со"; // ну и ха'),
    ("g.py", 'a = fiyatı.net/2; b = "kapı.png"; c = "satı.com.tr"; d = "sayı.adet"  # yapıldı.com'),
    ("two.py", "со = 1  # a name beside others\nдругой = 2\nx = op(со)\n"),
    ("d.py", "ν1 = v1 + 2\nυs = us\n"),
    ("a.html", "<td>Cоздать</td><td>ТЕСТ</td><td>a Cоде of prose</td>"),
    ("ipa.md", "`ɡlas` and `/ɡɹæs/`"),
    ("c.py", "ΔΤ = 1  # the Greek capitals of a formula\nπ = 3\n"),
]


def look_at(path: str, text: str, others: Sequence[str] = ()) -> object:
    added = list(range(1, text.count("\n") + 2))
    return find_hidden_text(path, text, added, others=frozenset(others))


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
    "src/auth\u00a0.py": Severity.error,
    "src/auth\ue000.py": Severity.error,
    "src/auth\x1b[1K.py": Severity.error,
    "src/auth\x7f.py": Severity.error,
    "auth.py\r": Severity.error,
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
        "images/Screenshot 10.00\u202fAM.png",
        "docs/設計\u3000書.md",
        "ma\u0131n.py",
    )
    change, _ = change_of(dict.fromkeys(names, (None, "Это о тестах.\n")))
    assert find_deceiving(change) == ()


def test_t_r13_a_name_that_was_there_is_not_found_again() -> None:
    change, _ = change_of({f"{A}uth.py": ("x = 1\n", "x = 2\n")})
    assert find_deceiving(change) == ()


def test_t_r13_a_new_file_beside_the_one_it_is_taken_for() -> None:
    change, _ = change_of({"src/ma\u0131n.py": (None, "x = 1\n"), "b.py": (None, "x = 1\n")})
    assert list_doubles(change) == ("src/main.py",)
    assert [each.path for each in find_deceiving(change, ["src/main.py"])] == ["src/ma\u0131n.py"]


@pytest.mark.asyncio(loop_scope="session")
async def test_t_r13_a_word_that_looks_like_one_of_another_changed_file(toolbox: Toolbox) -> None:
    """Neither names in that script beside it nor the removal of the real one excuse it."""
    said = f"имя = 1\nuser.{ACCESS} = имя\n"
    texts = {"a.py": (None, said), "b.py": (None, "user.adm\u0131n = 1\n"), "auth.py": ("access = admin\n", "x = 1\n")}
    result = await check_files(toolbox, texts)
    found = [(each.path, each.line) for each in result.findings if each.rule == "hidden-text/look-alike"]
    assert found == [("a.py", 2), ("b.py", 1)]
