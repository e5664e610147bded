"""Which code counts as moved, which only looks so, and what a model is shown of both."""

from typing import Any

import pytest
from inline_snapshot import snapshot

from agents.llm.ask import ModelAnswer
from agents.llm.scripted import ScriptedModel
from agents.review.model.file_selection import ReadingLimits
from agents.review.model.moved_code import find_moves
from agents.review.model.questions import QuestionPlan, build_questions
from domain.config.sections import ReviewSettings
from pipeline.review.question_plan import PreparedQuestions
from pipeline.review.reading import build_model_part
from tests.unit.checks.building import Versions, change_of

PAY = """\
def pay(till, amount):
    if amount <= 0:
        raise ValueError(f"cannot pay {amount}")
    with till.lock:
        till.total += amount
        till.journal.append(("pay", amount))
    notify_owner(till, amount)
    return till.total
"""
LONG_PAY = (
    PAY
    + """\


def refund(till, amount):
    with till.lock:
        till.total -= amount
        till.number_of_refunds_today += 1
        till.journal.append(("refund", amount))
    notify_owner(till, -amount)
"""
)
REST = """\
def open_till(owner):
    till = Till(owner)
    till.unlock()
    return till


def close(till):
    till.lock_up()
    report(till.total)
    till.total = 0


"""
IMPORTS = "".join(
    f"from shop.{name} import {name.title()}\n" for name in ("orders", "tills", "owners", "taxes", "keys")
)
BRACES = "        }\n      }\n    })\n  }\n});\n" * 12
NAMES = ('"anna"', '"bert"', '"carl"', '"dora"', '"emil"', '"fred"')


def indent(text: str, by: str = "    ") -> str:
    return "".join(f"{by}{line}" if line.strip() else line for line in text.splitlines(keepends=True))


MOVED: dict[str, Versions] = {
    "down in its file": {"a.py": (PAY + "\n\n" + REST, REST + PAY)},
    "up in its file": {"a.py": (REST + PAY, PAY + "\n\n" + REST)},
    "to another file": {"a.py": (REST + PAY, REST), "b.py": ("import a\n", "import a\n\n\n" + PAY)},
    "to a new file": {"a.py": (REST + PAY, REST), "b.py": (None, PAY)},
    "from test to test": {"tests/test_a.py": (REST + PAY, REST), "tests/test_b.py": (None, PAY)},
    "out of a deleted file": {"a.py": (PAY, None), "b.py": (None, PAY)},
    "into a class": {"a.py": (REST + PAY, REST + "class Shop:\n" + indent(PAY))},
    "out of a class": {"a.py": (REST + "class Shop:\n" + indent(PAY), REST + PAY)},
    "under a condition, with tabs": {"a.go": (indent(PAY, "\t"), "if open {\n" + indent(PAY, "\t\t") + "}\n")},
}
KEPT = "".join(f"keep({number})\n" for number in range(8))
AMONG_KEPT = "".join(f"{line}\nkeep({number})\n" for number, line in enumerate(PAY.splitlines()))
NOT_MOVED: dict[str, Versions] = {
    "imports": {"a.py": (IMPORTS + REST, REST), "b.py": ("x = 1\n", IMPORTS + "x = 1\n")},
    "closing braces": {"a.js": (BRACES + "start()\n", "start()\n"), "b.js": ("x = 1\n", "x = 1\n" + BRACES)},
    "out of a document": {"docs/attacks.md": (REST + PAY, REST), "b.py": (None, PAY)},
    "out of a deleted document": {"docs/attacks.md": (PAY, None), "b.py": (None, PAY)},
    "out of a test into the program": {"tests/test_bad.py": (REST + PAY, REST), "b.py": (None, PAY)},
    "a few lines": {
        "a.py": (REST + "\n".join(PAY.split("\n")[:4]), REST),
        "b.py": (None, "\n".join(PAY.split("\n")[:4])),
    },
    "one line many times": {
        "a.py": (REST + "    total += price(item)\n" * 12, REST),
        "b.py": (None, "    total += price(item)\n" * 12),
    },
    "little names": {"a.py": ("\n".join(NAMES), "x"), "b.py": ("y", "\n".join(NAMES))},
    "copied code": {"a.py": (PAY, PAY), "b.py": (None, PAY)},
    "lines that stood apart": {"a.py": (AMONG_KEPT, KEPT), "b.py": (None, PAY)},
    "lines that stand apart": {"a.py": (REST + PAY, REST), "b.py": (KEPT, AMONG_KEPT)},
    "removed code": {"a.py": (REST + PAY, REST)},
    "the same lines in another order": {"a.py": (REST + PAY, REST), "b.py": (None, "\n".join(PAY.split("\n")[::-1]))},
    "spaces that became tabs": {"a.py": (REST + PAY, REST), "b.py": (None, PAY.replace("    ", "\t"))},
    "other line ends": {"a.py": (REST + PAY, REST), "b.py": (None, PAY.replace("\n", "\r\n"))},
    "every line changed a little": {"a.py": (REST + PAY, REST), "b.py": (None, PAY.replace("till", "desk"))},
}


@pytest.mark.parametrize("files", MOVED.values(), ids=MOVED)
def test_moved_is(files: Versions):
    change, _ = change_of(files)
    moves = find_moves(change.files)

    [block] = set(moves.added.values())
    assert block.length >= 8
    assert len(moves.added) == len(moves.removed) == block.length


@pytest.mark.parametrize("files", NOT_MOVED.values(), ids=NOT_MOVED)
def test_not_moved_is(files: Versions):
    change, _ = change_of(files)

    assert not find_moves(change.files).added


def test_a_line_moves_once():
    dense = LONG_PAY.replace("\n\n\n", "\n")
    change, _ = change_of({"a.py": (REST + dense, REST), "b.py": (None, PAY), "c.py": (None, dense + PAY)})
    moves = find_moves(change.files)

    assert {path for path, _ in moves.added} == {"b.py", "c.py"}
    assert len(moves.added) == len(moves.removed)


def ask(files: Versions, **options: Any) -> QuestionPlan:
    change, versions = change_of(files)
    return build_questions(change, versions, **options)


def show(files: Versions) -> list[str]:
    [question] = ask(files, size=ReadingLimits(least_context=0)).questions
    return question.content.split("\n")[1:-1]


def test_moved_code_is_shown_where_it_is_now_and_named_where_it_was():
    shown = show({"a.py": ("x = 1\n" + PAY, "x = 1\n"), "b.py": ("import a\n", "import a\n\n" + PAY)})

    assert shown == snapshot(
        [
            "== a.py",
            "1 x = 1",
            "… 8 lines moved from here to 3–10 of b.py",
            "2 ",
            "== b.py",
            "1 import a",
            "2 ",
            "… 3–10 (>) moved here from a.py, unchanged",
            "3>def pay(till, amount):",
            "4>    if amount <= 0:",
            '5>        raise ValueError(f"cannot pay {amount}")',
            "6>    with till.lock:",
            "7>        till.total += amount",
            '8>        till.journal.append(("pay", amount))',
            "9>    notify_owner(till, amount)",
            "10>    return till.total",
            "11+",
        ]
    )


def test_what_differs_in_moved_code_is_shown_as_changed():
    shown = show({"a.py": (LONG_PAY + "x = 1\n", "x = 1\n"), "b.py": (None, LONG_PAY.replace("total +=", "total -="))})

    assert shown == snapshot(
        [
            "== a.py",
            "-def pay(till, amount):",
            "-    if amount <= 0:",
            '-        raise ValueError(f"cannot pay {amount}")',
            "-    with till.lock:",
            "-        till.total += amount",
            "… 11 lines moved from here to 6–16 of b.py",
            "1 x = 1",
            "2 ",
            "== b.py (added)",
            "1+def pay(till, amount):",
            "2+    if amount <= 0:",
            '3+        raise ValueError(f"cannot pay {amount}")',
            "4+    with till.lock:",
            "5+        till.total -= amount",
            "… 6–16 (>) moved here from a.py, unchanged",
            '6>        till.journal.append(("pay", amount))',
            "7>    notify_owner(till, amount)",
            "8>    return till.total",
            "9>",
            "10>",
            "11>def refund(till, amount):",
            "12>    with till.lock:",
            "13>        till.total -= amount",
            "14>        till.number_of_refunds_today += 1",
            '15>        till.journal.append(("refund", amount))',
            "16>    notify_owner(till, -amount)",
            "17+",
        ]
    )


def test_a_wrapped_block_is_said_to_be_indented():
    shown = show({"a.py": (PAY, PAY.split("\n", 1)[0] + "\n    while True:\n" + indent(PAY.split("\n", 1)[1]))})

    assert shown == snapshot(
        [
            "== a.py",
            "1 def pay(till, amount):",
            "… 7 lines moved from here to 3–9",
            "2+    while True:",
            "… 3–9 (>) moved here from line 2 before the change, unchanged but indented by 4 more",
            "3>        if amount <= 0:",
            '4>            raise ValueError(f"cannot pay {amount}")',
            "5>        with till.lock:",
            "6>            till.total += amount",
            '7>            till.journal.append(("pay", amount))',
            "8>        notify_owner(till, amount)",
            "9>        return till.total",
            "10 ",
        ]
    )


def test_findings_may_stand_on_moved_lines():
    [question] = ask({"a.py": (REST + PAY, REST), "b.py": (None, PAY)}).questions

    assert set(range(1, 9)) <= set(question.lines["b.py"])


@pytest.mark.parametrize(
    "options",
    [{"never_send": ["b.py"]}, {"size": ReadingLimits(question=260, questions=1)}],
    ids=["must not be sent", "is too large"],
)
def test_code_that_moved_where_nobody_reads_it_is_shown_as_removed(options: dict[str, object]):
    padding = "".join(f"value_{number} = compute({number})\n" for number in range(60))
    [question] = ask({"a.py": (PAY + "x = 1\n", "x = 1\n"), "b.py": (None, PAY + padding)}, **options).questions

    assert list(question.lines) == ["a.py"]
    assert all(f"-{line}" in question.content for line in PAY.splitlines())


def test_a_credential_in_moved_code_leaves_both_files_partly_unread():
    secret = PAY.replace("till.journal", f"till.open('ghp_{'a1B2' * 9}').journal")
    [question] = ask({"a.py": (secret + "x = 1\n", "x = 1\n"), "b.py": (None, secret)}).questions

    assert "moved here" in question.content
    assert question.cut == ("a.py", "b.py")


def test_the_rest_of_a_key_stays_withheld_when_its_beginning_moved():
    key = "-----BEGIN RSA PRIVATE KEY-----\n" + "".join(
        f"MIIEpAIBAAKCAQEA{n}qJzq0Tj2k9vXwLp3sR7uYb1nM5cD8fGhKzWe2QaTiOx\n" for n in range(9)
    )
    end = "-----END RSA PRIVATE KEY-----\n"
    moved = "KEY = (\n" + key
    planned = ask(
        {
            "a.py": (
                moved + "MIIEpAIBAAKCAQEA8qOTHERLINEXwLp3sR7uYb1nM5cD8fGhKzWe2QaTiOx\n" + end + "x = 1\n",
                "x = 1\n",
            ),
            "b.py": (None, moved + end),
        }
    )

    [question] = planned.questions
    assert "lines moved from here" in question.content
    assert "OTHERLINE" not in question.content
    assert "MIIE" not in question.content


@pytest.mark.parametrize(("lost", "read"), [("a.py", ["b.py"]), ("b.py", [])])
def test_a_file_whose_code_moved_is_read_only_with_the_file_it_moved_to(lost: str, read: list[str]):
    padding = "".join(f"value_{number} = compute({number})\n" for number in range(40))
    files: Versions = {"a.py": (PAY, padding), "b.py": (None, PAY + padding)}
    plan = ask(files, size=ReadingLimits(question=600, least_context=0))
    answers = [ModelAnswer(key=each.key, problem="no money" if lost in each.lines else None) for each in plan.questions]
    part = build_model_part(
        PreparedQuestions(plan=plan), answers, (), (), ScriptedModel().language_model, ReviewSettings()
    )

    assert not any(len(question.lines) > 1 for question in plan.questions)
    assert list(part.read) == read
