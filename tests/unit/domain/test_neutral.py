"""Text of others is shown as it was written, and does nothing."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from domain.text.escaping import (
    MAX_SUGGESTION,
    code_block,
    cut_words,
    escape,
    inline_code,
    inline_path,
    link,
    strip_invisible,
    suggestion_block,
)
from domain.text.redaction import redact_outgoing
from tests.rendering import find_active, to_visible_text

PIECES = st.sampled_from(
    [
        *"@#＠＃`~*_[]()<>!|\\&;:/$^=+-.\"' \n\t\r",
        "@user", "@org/team", "a@b.com", "#1", "fixes #12", "closes o/r#2", "GH-3", "o/r@abcdef1",
        "https://evil.example/x", "www.evil.example", "mailto:a@b.c", "http:", "//", "![", "](", "[x]: http://e",
        "<img src=x>", "</details>", "<!--", "-->", "&lt;", "&#64;", "&commat;", "<https://x.y>", "```", "~~~", "``",
        "# ", "- ", "1. ", "1) ", "> ", "---", "===", "| a | b |", "| --- |", "    code", "/forge approve", ":tada:",
        "\x1b[31m", "\x1b]8;;http://e\x07", "\u202e", "\u200b", "\u200d", "\U000e0041", "\0", "word", "ß", "７",
    ]
)  # fmt: skip
TEXTS = st.one_of(st.text(max_size=200), st.lists(PIECES, max_size=30).map("".join))

SHOWN_AS = [
    ("Undefined name `missing`.", "Undefined name `missing`."),
    ("ping @user and @org/team", "ping `@user` and `@org/team`"),
    ("mail alice@example.com, please", "mail `alice@example.com`, please"),
    ("fixes #1, closes o/r#2 and GH-3.", "fixes `#1`, closes `o/r#2` and `GH-3`."),
    ("see https://github.com/o/r/issues/4.", "see `https://github.com/o/r/issues/4`."),
    ("![alt](http://e.io/p.png)", "!\\[alt\\](`http://e.io/p.png`)"),
    ("use `int | None` or a|b", "use `int` &#124; `None` or a&#124;b"),
    ("__init__ of foo_bar *args", "\\_\\_init\\_\\_ of foo_bar \\*args"),
    ("</details> <!-- x --> &amp;", "&lt;/details&gt; &lt;!-- x --&gt; &amp;amp;"),
    ("# no heading", "\\# no heading"),
    ("1. no list", "1\\. no list"),
    ("/forge approve", "`/forge` approve"),
    ("/merge", "\\/merge"),
    ("a :tada: in std::vector at 10:20:30", "a `:tada:` in `std::vector` at 10:20:30"),
    ("$x$ math", "`$x$` math"),
    ("it costs $5", "it costs $5"),
    ("`@app.route` is code", "`@app.route` is code"),
    ("an `open tick", "an &#96;open tick"),
    ("two `a``b` ticks", "two ```a``b``` ticks"),
    ("＠user in full width", "`＠user` in full width"),
    ("C:\\temp", "C:\\\\temp"),
]


@pytest.mark.parametrize(("text", "markdown"), SHOWN_AS)
def test_prose(text: str, markdown: str) -> None:
    assert escape(text) == markdown
    assert find_active(escape(text)) == []


@pytest.mark.parametrize("text", [text for text, _ in SHOWN_AS if "`" not in text])
def test_a_person_reads_what_was_written(text: str) -> None:
    assert to_visible_text(escape(text)) == text


@pytest.mark.parametrize(
    "text",
    [
        "Line too long (130 > 120)", "a, b; c: d - e (f) 100% \"g\" 'h' x = y + 1", "user_id is None", "Größe: 3 €",
        "B006 at 3:14", "email me @ noon", "issue # 5", "C# and F#", "a && b",
    ],
)  # fmt: skip
def test_ordinary_sentences_have_no_code(text: str) -> None:
    assert "`" not in escape(text)
    assert to_visible_text(escape(text)) == text


@given(TEXTS)
@example("@`@x`")
@example("`` ` `` #1")
@example("@\u200buser &#64;user")
@example("mailto:x")
@example("#0/FORGE")
@example("#0WWW.")
def test_prose_does_nothing_wherever_it_stands(text: str) -> None:
    item = ["bullet_list_open", "bullet_list_close", "list_item_open", "list_item_close"]
    for said in (escape(text), escape(text, is_cell=False)):
        assert "\n" not in said
        assert find_active(said) == []
        assert find_active(f"**What happened:** {said}\n\nNext.", ["strong_open", "strong_close"]) == []
        assert find_active(f"- {said}\n- second", item) == []
        assert find_active(f"Text before\n{said}\nand after", ["softbreak"]) == []


def test_code_stays_whole_where_no_cell_ends_it() -> None:
    said = escape("keep `const opts = options || {}` and a|b", is_cell=False)
    assert said == "keep `const opts = options || {}` and a&#124;b"
    assert escape("a `b` | c\n--- | ---", is_cell=False).count("\n") == 0  # so no table begins there


@given(TEXTS, TEXTS)
@example("$$|", "")
def test_a_row_of_a_table_keeps_its_cells(first: str, second: str) -> None:
    table = (
        MarkdownIt("commonmark")
        .enable("table")
        .parse(f"| a | b | c |\n| --- | --- | --- |\n| {escape(first)} | {inline_code(second)} | end |")
    )
    cells = [token for token in table if token.type == "td_open"]
    assert len(cells) == 3
    assert [token.content for token in table if token.type == "inline"][-1] == "end"


@given(TEXTS)
def test_code_is_one_piece_of_code(text: str) -> None:
    [inline] = [token for token in MarkdownIt("commonmark").parse(f"x {inline_code(text)} y") if token.type == "inline"]
    assert [child.type for child in inline.children or ()] == ["text", "code_inline", "text"]
    assert find_active(inline_code(text)) == []


@given(TEXTS)
def test_a_place_is_one_piece_of_code(text: str) -> None:
    [inline] = [token for token in MarkdownIt("commonmark").parse(f"x {inline_path(text)} y") if token.type == "inline"]
    assert [child.type for child in inline.children or ()] == ["text", "code_inline", "text"]
    assert find_active(inline_path(text)) == []


def test_a_long_place_keeps_its_file_and_line() -> None:
    assert inline_path("a/b.py:7") == "`a/b.py:7`"
    assert inline_path(f"{'folder/' * 100}app.py:41", 20) == "`…er/folder/app.py:41`"


@given(TEXTS.filter(lambda text: "\0" not in text and "\r" not in text and redact_outgoing(text) == text))
def test_a_block_is_one_block_with_its_text(text: str) -> None:
    tokens = MarkdownIt("commonmark").parse(f"before\n\n{code_block(text, 'text')}\n\nafter")
    assert [token.type for token in tokens if token.type != "inline"] == [
        "paragraph_open", "paragraph_close", "fence", "paragraph_open", "paragraph_close",
    ]  # fmt: skip
    [fence] = [token for token in tokens if token.type == "fence"]
    assert fence.content == (f"{text}\n" if text else "")


def test_the_language_of_a_block_is_one_word() -> None:
    assert code_block("x", "python") == "```python\nx\n```"
    assert code_block("x", "a\n```\n@user") == "```\nx\n```"


@given(
    st.text(alphabet=st.characters(exclude_characters="\0"), max_size=300).filter(
        lambda text: redact_outgoing(text) == text
    )
)
def test_a_suggestion_is_kept_to_the_letter(text: str) -> None:
    lines = suggestion_block(text).split("\n")
    assert "\n".join(lines[1:-1]) == text
    assert lines[0].strip("`") == "suggestion"
    assert set(lines[-1]) == {"`"}


@pytest.mark.parametrize(
    "text",
    [
        "x" * (MAX_SUGGESTION + 1),
        "a\0b",
        "<!-- forge:review:1:abc -->",
        'token = "' + "ghp" + '_0123456789abcdefghij0123456789abcdef"',
    ],
)
def test_what_cannot_be_posted_to_the_letter_is_not_suggested(text: str) -> None:
    assert suggestion_block(text) == ""


def test_only_plain_addresses_are_linked() -> None:
    assert link("F401", "https://docs.astral.sh/ruff/rules/unused-import") == (
        "[`F401`](https://docs.astral.sh/ruff/rules/unused-import)"
    )
    for address in (
        "http://x.y",
        "javascript:alert(1)",
        "https://x.y/) ![",
        "https://user:pw@x.y/",
        "https://x.y/\n",
        None,
    ):
        assert link("F401", address) == "`F401`"


@given(st.text(max_size=400), st.integers(2, 100))
def test_it_is_cut_between_two_characters(text: str, limit: int) -> None:
    flat = " ".join(strip_invisible(text).split())
    said = to_visible_text(escape(text, limit))
    assert len(said) <= limit
    assert said.encode().decode() == said
    assert len(flat) <= limit or said.endswith("…")


def test_a_megabyte_is_no_trouble() -> None:
    for piece in ("`", "``` ", "@", "a@", "#1", "/", "\x1b]", "\x1b[3", "<!--", ":a", "a/", "$x ", "www.", "\u202e"):
        assert len(escape(piece * (1_000_000 // len(piece)), 2000)) < 40_000
        assert strip_invisible(piece * (1_000_000 // len(piece))) is not None


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("\x1b[31;1mred\x1b[0m", "red"),
        ("\x1b]8;;https://evil.example\x1b\\click\x1b]8;;\x1b\\", "click"),
        ("\x1b]0;title\x07text", "text"),
        ("\x9b31mred\x9d0;t\x9ctext", "redtext"),
        ("\x1bPq#0\x1b\\six", "six"),
        ("a\x1b]0;never ended\nb", "a0;never ended\nb"),
        ("user\u202etxt.exe\u2066\u2069", "usertxt.exe"),
        ("zero\u200b\u200c\u200d\u2060\ufeffwidth\u00ad", "zerowidth"),
        ("tags\U000e0068\U000e0069", "tags"),
        ("variation\ufe01\U000e0101", "variation"),
        ("filler\u3164\u115f\u2800", "filler"),
        ("nul\0bell\x07back\bcr\r\n", "nulbellbackcr\n"),
        ("überall 日本語 👍 \t\n", "überall 日本語 👍 \t\n"),
    ],
)
def test_invisible_characters_are_taken_out(text: str, seen: str) -> None:
    assert strip_invisible(text) == seen


@pytest.mark.parametrize(
    ("text", "limit", "shown"),
    [
        ("they are not repeated here", 24, "they are not repeated…"),
        ("keys by `opts.decoder(x, y)` are", 26, "keys by…"),
        ("an option for it (see the issue)", 28, "an option for it…"),
        ("x" * 30, 10, "x" * 9 + "…"),
        ("short", 10, "short"),
    ],
)
def test_a_long_text_ends_behind_a_word(text: str, limit: int, shown: str) -> None:
    assert cut_words(text, limit) == shown


def test_code_is_cut_between_words_where_that_leaves_half_of_it() -> None:
    assert inline_code("assert total == 3 or nothing", 20) == "`assert total == 3…`"
    assert inline_code(30 * "a", 20) == f"`{19 * 'a'}…`"
