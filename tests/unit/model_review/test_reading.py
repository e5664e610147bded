"""What a model gets to read: the diff with numbers, a little around it, in parts that fit, and nothing it must not."""

from collections.abc import Sequence
from typing import Any

import pytest

from agents.llm.prices import estimate
from agents.review.model.file_selection import ReadingLimits, find_current_line, narrow_change
from agents.review.model.questions import EarlierFinding, Intent, QuestionPlan, build_questions
from agents.review.model.rendering import WITHHELD
from domain.review.changes import ChangeStatus, ContentKind, FileChange, SkippedFile
from domain.review.findings import Category, Layer, RawFinding
from domain.review.reading import FunctionSpan, Outline
from domain.text.redaction import redact_outgoing
from tests.unit.checks.building import Versions, change_of
from tests.unit.checks.findings import build_raw_finding

TILL = """\
import money


class Till:
    def open(self):
        self.total = 0

    def pay(self, amount):
        self.check(amount)
        self.log(amount)
        self.count += 1
        self.total += amount
        return self.total

    def close(self):
        return self.total
"""
TOKEN = "ghp_" + "a1B2" * 9
PAID = TILL.replace("self.total += amount\n", "self.total += amount / self.rate\n        self.last = amount\n")


def plan(files: Versions, found: Sequence[RawFinding] = (), **options: Any) -> QuestionPlan:
    change, versions = change_of(files)
    return build_questions(change, versions, found, **options)


def finding(rule: str, path: str, line: int) -> RawFinding:
    return build_raw_finding(rule=rule, path=path, line=line, category=Category.security, layer=Layer.security)


def unread_by_path(plan: QuestionPlan) -> dict[str, SkippedFile]:
    return {entry.path: entry for entry in plan.not_read}


def test_a_small_change_is_one_question_with_numbers_and_what_encloses_it():
    (question,) = plan({"shop/till.py": (TILL, PAID)}, size=ReadingLimits(context=0, least_context=20)).questions

    assert question.content.split("\n")[1:-1] == [
        "== shop/till.py",
        "4 class Till:",
        "8     def pay(self, amount):",
        "9         self.check(amount)",
        "10         self.log(amount)",
        "11         self.count += 1",
        "-        self.total += amount",
        "12+        self.total += amount / self.rate",
        "13+        self.last = amount",
        "14         return self.total",
        "15 ",
        "16     def close(self):",
    ]
    assert question.lines == {"shop/till.py": tuple(range(9, 17))}
    assert question.key == "model review 1 of 1"


def test_more_context_where_there_is_room_for_it():
    (little,) = plan({"till.py": (TILL, PAID)}, size=ReadingLimits(least_context=0)).questions
    (more,) = plan({"till.py": (TILL, PAID)}, size=ReadingLimits(least_context=500)).questions

    assert "4 class Till:" not in little.content
    assert "1 import money" in more.content
    assert little.lines == more.lines


def test_the_same_change_makes_the_same_questions():
    files: Versions = {f"m{n}.py": (None, f"x = {n}\n" * 50) for n in range(5)}
    first, second = plan(files, size=ReadingLimits(question=400)), plan(files, size=ReadingLimits(question=400))

    assert first == second
    assert QuestionPlan.model_validate_json(first.model_dump_json()) == first


def test_a_large_change_becomes_several_questions_by_file():
    files: Versions = {f"pkg/m{n}.py": (None, "value = compute(1)\n" * 100) for n in range(6)}
    planned = plan(files, size=ReadingLimits(question=2500))

    assert [sorted(question.lines) for question in planned.questions] == [
        ["pkg/m0.py", "pkg/m1.py"],
        ["pkg/m2.py", "pkg/m3.py"],
        ["pkg/m4.py", "pkg/m5.py"],
    ]
    assert [question.key for question in planned.questions] == [f"model review {n} of 3" for n in (1, 2, 3)]
    assert planned.not_read == ()


def test_a_large_change_is_cut_where_it_hangs_together_and_each_part_knows_the_whole():
    filler = "value = compute(1)\n" * 100
    files: Versions = {
        "a/one.py": (None, f"def first_step():\n    pass\n{filler}"),
        "m/other.py": (None, filler),
        "z/user.py": (None, f"first_step()\n{filler}"),
        "tests/test_one.py": (None, filler),
    }
    outlines = {"a/one.py": Outline(spans=(FunctionSpan(name="first_step", start=1, body=2, end=2),))}
    planned = plan(files, size=ReadingLimits(question=4000), outlines=outlines)

    first, second = planned.questions
    assert [sorted(each.lines) for each in planned.questions] == [
        ["a/one.py", "tests/test_one.py", "z/user.py"],
        ["m/other.py"],
    ]
    assert "== the whole change: this is part 1 of 2, the others are read by themselves\n" in first.content
    assert "\na/one.py +103 -0 (part 1): first_step\nm/other.py +101 -0 (here)\n" in second.content
    assert "== the whole change" not in plan({"a.py": (None, "a = 1\n")}).questions[0].content


def test_one_huge_file_is_split_and_every_line_is_shown_once():
    lines = [f"value_{n} = compute({n})" for n in range(1, 901)]
    planned = plan({"big.py": (None, "\n".join(lines) + "\n")}, size=ReadingLimits(question=3000))

    assert len(planned.questions) > 1
    shown = [number for question in planned.questions for number in question.lines["big.py"]]
    assert shown[:900] == list(range(1, 901))
    for number, line in enumerate(lines, 1):
        assert sum(f"\n{number}+{line}\n" in question.content for question in planned.questions) == 1


def test_no_question_is_larger_than_it_may_be():
    files: Versions = {f"m{n}.py": (None, "call(some_name, another)\n" * (40 * n)) for n in range(1, 9)}
    size = ReadingLimits(question=1500, questions=20)

    assert all(estimate(question.content) <= size.question * 1.1 for question in plan(files, size=size).questions)


def test_what_does_not_fit_the_budget_is_named_and_matters():
    files: Versions = {
        "a.py": (None, "a = 1\n" * 20),
        "b.py": (None, "call(some_name)\n" * 3000),
        "c.py": (None, "c = 1\n"),
    }
    planned = plan(files, size=ReadingLimits(question=1000, questions=2))

    assert [sorted(question.lines) for question in planned.questions] == [["a.py", "c.py"]]
    assert unread_by_path(planned)["b.py"].matters
    assert "too large" in unread_by_path(planned)["b.py"].reason


def test_source_goes_before_tests_when_there_is_not_room_for_both():
    files: Versions = {
        "tests/test_a.py": (None, "assert a()\n" * 100),
        "zoo.py": (None, "call(some_name)\n" * 100),
    }
    planned = plan(files, size=ReadingLimits(question=1000, questions=1))

    assert list(planned.questions[0].lines) == ["zoo.py"]
    assert set(unread_by_path(planned)) == {"tests/test_a.py"}


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("secret/plan.py", "never_send"),
        ("README.md", "text"),
        ("LICENSE", "text"),
        ("rows.csv", "data"),
    ],
)
def test_files_that_are_not_read_are_named_and_do_not_leave(path: str, reason: str):
    planned = plan({path: ("old\n", "planted\n"), "a.py": (None, "a = 1\n")}, never_send=["secret/**"])

    assert reason in unread_by_path(planned)[path].reason
    assert "planted" not in planned.model_dump_json()
    assert not unread_by_path(planned)[path].matters


def test_never_send_holds_for_a_file_that_was_moved_out_and_for_earlier_findings():
    change, versions = change_of({"open/plan.py": ("x = 'planted'\n", "y = 'planted'\n")})
    moved = change.files[0].model_copy(update={"old_path": "secret/plan.py"})
    again = EarlierFinding(id="F-1", rule="model/race", path="secret/other.py", line=1, message="m", before="planted")

    planned = build_questions(
        change.model_copy(update={"files": (moved,)}), versions, earlier=[again], never_send=["secret/**"]
    )
    assert planned.questions == ()


def test_a_deleted_file_is_only_named():
    planned = plan({"gone.py": ("x = 1\n" * 500, None)})
    assert planned.questions == ()
    assert unread_by_path(planned)["gone.py"].reason == "deleted"


@pytest.mark.parametrize(("questions", "shown", "cut"), [(7, 500, ()), (1, 60, ("a.py",))])
def test_removed_lines_are_shown_while_there_is_room(questions: int, shown: int, cut: tuple[str, ...]):
    """A file of which some are left out is not read whole (T-R13)."""
    files: Versions = {"a.py": ("x = 1\n" * 500 + "keep = 1\n", "keep = 2\n"), "b.py": (None, "y = compute(1)\n" * 200)}
    planned = plan(files, size=ReadingLimits(question=4000, questions=questions))

    assert sum(question.content.count("\n-x = 1") for question in planned.questions) == shown
    assert planned.questions[0].cut == cut
    assert planned.not_read == ()


def test_lines_with_credentials_are_withheld_and_their_neighbours_are_not():
    head = "token = 'hunter2-planted'\nother = 1\n"
    (question,) = plan({"a.py": (None, head)}, [finding("secret/password", "a.py", 1)]).questions

    assert "planted" not in question.model_dump_json()
    assert f"1+{WITHHELD}" in question.content
    assert "2+other = 1" in question.content


KEY = f"-----BEGIN RSA PRIVATE KEY-----\nMIIplanted{'A' * 54}\nBBplanted{'B' * 40}\n-----END RSA PRIVATE KEY-----\n"


def test_a_private_key_is_withheld_to_its_end_and_its_file_is_not_read_whole():
    (question,) = plan({"a.py": ("x = 1\n", f'x = """{KEY}"""\ny = 2\n')}).questions

    assert "planted" not in question.content
    assert "y = 2" in question.content
    assert question.cut == ("a.py",)


def test_a_private_key_is_withheld_where_it_was_and_where_only_its_end_is_shown():
    body = [f"{number}planted{'A' * 50}" for number in range(40)]
    old = "-----BEGIN RSA PRIVATE KEY-----\n" + "\n".join(body) + "\n-----END RSA PRIVATE KEY-----\ndone = 1\n"
    planned = plan({"a.py": (old, old.replace("done = 1", "done = 2")), "b.py": (KEY + "x = 1\n", "x = 1\n")})

    assert "planted" not in planned.questions[0].content
    assert planned.questions[0].cut == ("b.py",)


def test_a_private_key_with_headers_of_its_own_is_withheld_too():
    headers = "Version: GnuPG v1.4.10 (GNU/Linux)\nComment: https://a_place.org/(x)\n\n"
    block = "PGP PRIVATE KEY BLOCK-----"
    key = f"-----BEGIN {block}\n{headers}lQplanted{'A' * 50}\n=planted\n-----END {block}"
    (question,) = plan({"a.asc.txt": (None, f"{key}\ny = 2\n")}).questions

    assert "planted" not in question.content
    assert "8+y = 2" in question.content
    assert "planted" not in redact_outgoing(key)


@pytest.mark.parametrize(
    ("line", "cut"),
    [
        ("// the key begins with -----BEGIN RSA PRIVATE KEY", ()),
        ("// -----BEGIN RSA PRIVATE KEY-----", ()),
        (f"/* {TOKEN} */ evil()", ("a.js",)),
        (f"x = 1;{' ' * 1000}evil()", ("a.js",)),
        ("harmless()", ()),
    ],
)
def test_no_line_hides_what_follows_and_one_that_is_not_shown_is_said(line: str, cut: tuple[str, ...]):
    (added,) = plan({"a.js": ("x()\n", f"{line}\nevil()\n")}).questions
    assert "2+evil()" in added.content
    assert added.cut == cut
    (removed,) = plan({"a.js": (f"{line}\n", "x()\n")}).questions
    assert removed.cut == cut


def test_everything_is_redacted_the_removed_lines_and_the_title_too():
    again = EarlierFinding(
        id="F-1", rule="model/race", path="a.py", line=1, message=f"see {TOKEN}", before=f"a {TOKEN} one"
    )
    (question,) = plan(
        {"a.py": (f"x = '{TOKEN}'\n", f"x = env('{TOKEN}')\n")},
        intent=Intent(title=f"Remove {TOKEN}", issue=3, asked=f"{TOKEN} was here"),
        earlier=[again],
    ).questions
    assert TOKEN not in question.model_dump_json(exclude={"earlier"})
    assert question.content.count("[redacted") == 8


def test_what_is_already_reported_is_listed_once_per_file_asked_about():
    found = [finding("ruff/F401", "a.py", 1), finding("ruff/F401", "elsewhere.py", 9)]
    (question,) = plan({"a.py": (None, "import os\n")}, found).questions

    assert "== already reported\na.py:1 ruff/F401 error\nEND" in question.content


def test_an_earlier_finding_is_asked_about_where_its_file_is_shown():
    lost = EarlierFinding(id="F-LOST", rule="model/race", path="other.py", line=None, message="m", before="was()")
    again = EarlierFinding(id="F-AGAIN", rule="model/race", path="a.py", line=2, message="racy", before="run()")
    (question,) = plan({"a.py": ("run()\n", "lock()\nrun()\n")}, earlier=[lost, again]).questions

    assert question.earlier == (lost, again)
    assert "== earlier finding F-AGAIN\nracy\nCode then:\nrun()\nNow a.py:\n1+lock()\n2 run()" in question.content
    assert "== earlier finding F-LOST\nm\nCode then:\nwas()\nNow other.py:\n(the lines are gone)" in question.content


def test_earlier_findings_alone_are_a_question_too():
    again = EarlierFinding(id="F-1", rule="model/race", path="a.md", line=None, message="m", before="was()")
    (question,) = plan({"a.md": ("a\n", "b\n")}, earlier=[again]).questions

    assert question.lines == {}
    assert question.key == "model review 1 of 1"


def test_on_a_push_only_hunks_that_changed_are_looked_at_again():
    lines = [f"line_{n} = {n}" for n in range(1, 101)]
    first = lines.copy()
    first[9] = "changed early"
    second = first.copy()
    second[79] = "changed late"
    base, old, new = ("\n".join(text) + "\n" for text in (lines, first, second))
    whole, _ = change_of({"a.py": (base, new), "b.py": (None, "b = 1\n")})
    since, _ = change_of({"a.py": (old, new)})

    (file,) = narrow_change(whole, since, {"a.py", "b.py"}).files
    assert (file.path, [hunk.new_start for hunk in file.hunks]) == ("a.py", [77])
    assert len(whole.files[0].hunks) == 2


def test_on_a_push_what_was_never_read_is_read_as_a_whole():
    whole, _ = change_of({"a.py": (None, "a = 1\n"), "b.py": (None, "b = 1\n")})
    since, _ = change_of({"c.py": (None, "c = 1\n")})
    assert [file.path for file in narrow_change(whole, since, {"a.py"}).files] == ["b.py"]


@pytest.mark.parametrize(("line", "now"), [(1, 1), (2, 2), (3, 3), (4, 4), (5, 4), (6, 4), (7, 5)])
def test_where_a_line_that_was_changed_would_stand_now(line: int, now: int):
    since, _ = change_of({"a.py": ("a\nb\nc\nold 1\nold 2\nold 3\nd\n", "a\nb\nc\nnew\nd\n")})
    assert find_current_line(since.files[0], line) == now


def test_of_several_new_lines_the_most_alike_took_the_place_of_an_old_one():
    since, _ = change_of({"a.py": ("a\nx = f(price)\ny = g(rate)\nb\n", "a\n# new\ny = g(rate, 2)\nx = h(price)\nb\n")})
    assert [since.files[0].current_line(line) for line in (1, 2, 3, 4)] == [1, 4, 3, 5]


def test_no_line_took_the_place_of_one_that_was_only_removed():
    since, _ = change_of({"a.py": ("a\nb\nc\n", "a\nc\n")})
    assert since.files[0].current_line(2) is None
    assert find_current_line(since.files[0], 2) == 2  # where it would stand now


def test_removing_a_line_touches_its_hunk():
    base = "a = 1\nb = 2\nc = 3\n"
    old = "a = 1\nb = 2\nnew = 0\nc = 3\nnew = 1\n"
    new = "a = 1\nb = 2\nc = 3\nnew = 1\n"
    whole, _ = change_of({"a.py": (base, new)})
    since, _ = change_of({"a.py": (old, new)})

    assert len(narrow_change(whole, since, {"a.py"}).files) == 1


def test_a_file_in_another_encoding_is_said_to_be_one():
    gbk = "var m = '\u9519\u8bef'.lenght;\n".encode("gbk")
    [question] = plan({"a.js": (None, gbk), "b.js": (None, "var m = '\u9519\u8bef'.lenght;\n")}).questions
    note = " (not in UTF-8: \ufffd stands for what could not be read; replace no line that has it)"
    assert f"== a.js (added){note}\n1+var m = '\ufffd" in question.content
    assert "== b.js (added)\n1+var m" in question.content


def test_files_without_changed_lines_are_named() -> None:
    """But those that are not to be sent, and those that are gone."""
    change, versions = change_of({"till.py": (TILL, PAID)})
    bare = (
        FileChange(path="pkg/__init__.py", status=ChangeStatus.added),
        FileChange(path="shop/price.py", old_path="price.py", status=ChangeStatus.renamed),
        FileChange(path="private/a.py", status=ChangeStatus.added),
        FileChange(path="gone.py", status=ChangeStatus.deleted),
        FileChange(path="logo.png", status=ChangeStatus.added, kind=ContentKind.binary),
    )
    whole = change.model_copy(update={"files": (*change.files, *bare)})
    [question] = build_questions(whole, versions, never_send=["private/**"]).questions
    named = question.content.partition("== files without changed lines\n")[2].partition("\n== ")[0]
    assert named.splitlines() == ["pkg/__init__.py: added, empty", "shop/price.py: renamed from price.py, unchanged"]
    assert "without changed lines" not in plan({"till.py": (TILL, PAID)}).questions[0].content
