"""What ``.github/forge-memory.md`` may say, and that each mistake is named with its line."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.text.memory_file import LARGEST, MOST_MEMORIES, MemoryFileEntry, parse
from messages.memory_file import render_broken

GOOD = """\
<!-- Forge reads this.
- and not this
-->
# What Forge should know

Words between lists are for people.

- Ask before you touch billing.

## Tests
tags: pytest, tests

* Start the database with `make db` before the tests;
  plain pytest skips half of them.
  Tags: database
- Two paragraphs

  belong together,
as does what GitHub joins.

After a blank line it is for people again.

### Slow ones ###

- They are marked `slow<T>`. ⚠️
----
## Style
- Prefer dataclasses.
"""


def test_what_a_file_says() -> None:
    assert parse(GOOD.encode()).entries == (
        MemoryFileEntry(8, "Ask before you touch billing."),
        MemoryFileEntry(
            13,
            "Start the database with `make db` before the tests; plain pytest skips half of them.",
            "Tests",
            ("pytest", "tests", "database"),
        ),
        MemoryFileEntry(16, "Two paragraphs belong together, as does what GitHub joins.", "Tests", ("pytest", "tests")),
        MemoryFileEntry(25, "They are marked `slow<T>`. ⚠", "Tests › Slow ones"),
        MemoryFileEntry(28, "Prefer dataclasses.", "Style"),
    )


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        ("- a\n-\n", 2, "`text` is empty"),
        ("- a\n- " + "x" * 1001, 2, "`text` has 1,001 characters"),
        ("- a\n  - b", 2, "`bullet` stands within another"),
        ("- a\n1. b", 2, "`line` is part of a numbered list"),
        ("- a\n\n```\n- b\n```\n- c", 3, "`code block` cannot be remembered"),
        ("- a\n- b <!-- and more -->", 2, "`text` holds HTML"),
        ("- a\n  <!-- and more\n  -->", 1, "`text` holds HTML"),
        ("- a\n\n<details>\n\n- b", 3, "`line` holds HTML"),
        ("<!-- a\n- b", 1, "`comment` is never closed"),
        ("<!-- a --> - b", 1, "`line` goes on after a comment"),
        ("- a\n  [x]: # (hidden)", 1, "`text` holds a link definition"),
        ("- a\u202eb", 1, "`text` holds invisible"),
        ("- a\n- b\u200bc", 2, "`text` holds invisible"),
        ("- a\x1b[31mb", 1, "`text` holds invisible"),
        ("- a\U000e0041", 1, "`text` holds invisible"),
        ("## a\u2066b\n- c", 2, "`context` holds invisible"),
        ("- the key is AKIA" + "Q3EGRZ7VJX2MNB5T", 1, "`text` holds what looks like a credential"),
        ("- a\n## b\n-  A ", 3, "`context`"),
        ("- a\n- b\n-  A ", 3, "`text` is that of line 1 once more"),
        ("- a\n\ntags: b", 3, "`tags` stand below a list"),
        ("- a\n  tags: b\n  c", 3, "`line` goes on after the tags"),
        ("- a\n  tags: b\n  tags: c", 3, "`tags` are given twice"),
        ("- a\n  tags: b,,c", 1, "`tag` is empty or too long"),
        ("- a\n  tags: " + ",".join(map(str, range(11))), 1, "`tags` are 11"),
        (f"## {'x' * 201}\n", 1, "`heading` is too long"),
        ("\n".join(f"- {n}" for n in range(MOST_MEMORIES + 1)), MOST_MEMORIES + 1, "`file` has 201 memories"),
        ("x" * (LARGEST + 1), 1, "`file` has 65,537 bytes"),
        (b"- a\n- \xff", 2, "`file` is not UTF-8"),
    ],
)
def test_mistakes(text: str | bytes, line: int, what: str) -> None:
    parsed = parse(text.encode() if isinstance(text, str) else text)
    if what == "`context`":  # the same text in another context is another memory
        assert len(parsed.entries) == 2
        return
    assert parsed.entries == ()
    assert (parsed.mistakes[0].line, parsed.mistakes[0].brief[: len(what)]) == (line, what)


def test_no_file_and_one_for_people_say_nothing() -> None:
    for content in (b"", b"\xef\xbb\xbf# Title\r\n\r\nNothing yet.\r\n", b"> - quoted\n\n| a |\n| - |\n"):
        assert parse(content) == parse(b"")


def test_what_a_check_says_does_nothing_on_github() -> None:
    said = render_broken(parse(b"- @alice closes #1 <img src=x>\n- a\n  tags: @bob,,\n").mistakes)
    assert said.title == "2 mistakes in .github/forge-memory.md"
    assert "alice" not in said.summary
    assert "@bob" not in said.summary


@given(st.text(alphabet="-*#` \n\t<>!tags:,x1.\u200b\\[]&", max_size=300))
def test_no_text_breaks_the_reader(text: str) -> None:
    parsed = parse(text.encode())
    assert not (parsed.entries and parsed.mistakes)
    for entry in parsed.entries:
        assert entry.content == " ".join(entry.content.split())
        assert "<!--" not in entry.content.replace("`", "")
