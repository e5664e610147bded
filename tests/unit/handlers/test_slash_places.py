"""Where a command may stand: in plain paragraphs, and nowhere else (both rates)."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.slash import PlainCommand, SlashMistake
from domain.verbs import Verb
from handlers.slash import read

STATUS = (PlainCommand(verb=Verb.status),)

PLAIN = {
    "alone": "/forge status",
    "CRLF": "Hello\r\n/forge status\r\nBye",
    "after prose on the line before": "Please\n/forge status",
    "hard line break": "Please  \n/forge status\\\nthanks",
    "after a list and a blank line": "- one\n- two\n\n/forge status",
    "after a quote and a blank line": "> what is it doing?\n\n/forge status",
    "after a closed fence": "```\nlog\n```\n/forge status",
    "after a closed section": "<details>\n\nlog\n\n</details>\n\n/forge status",
    "after an HTML comment": "<!-- template -->\n\n/forge status",
    "after a tag GitHub removes": "A List<String> here\n/forge status",
    "after code that holds a tag": "Use `<details>` here\n/forge status",
    "after a heading that holds code with a tag": "## `<details>`\n\n/forge status",
    "after a void tag": "one<br>two\n/forge status",
    "up to three blanks": "   /forge status",
    "after a table and a blank line": "a|b\n-|-\n1|2\n\n/forge status",
    "after dashes and blank line": "---\n\n/forge status",
    "after emphasis that ended": "*please*\n/forge status",
    "after a formula": "$$\nx^2\n$$\n\n/forge status",
    "after a formula in a line": "$$x^2$$\n/forge status",
    "after two dollars": "My process is $$.\n\n/forge status",
    "after dollars in code": "`echo $$` and `$$`\n\n/forge status\n\n`$$`",
    "after a footnote and a blank line": "a[^1]\n\n[^1]: said\n\n/forge status",
    "after a block that is whole": '<div title=">">x</div>\n\n/forge status',
}

ELSEWHERE = {
    "formula": "$$\n/forge status\n$$",
    "formula over paragraphs": "$$ a\n\n/forge status\n\n$$",
    "footnote": "[^1]: said\n/forge status",
    "footnote with a mark of words": "See[^note].\n\n[^note]: he said\nand\n/forge status",
    "tag that ends later": '<div title="\n\n/forge status\n\n">',
    "tag that never ends": "<div title='\n\n/forge status",
    "mid-sentence": "I would write /forge status here",
    "after a mention": "@forge /forge status",
    "quote": "> /forge status",
    "quote that goes on lazily": "> said\n/forge status",
    "nested quote": "> > /forge status",
    "list in a quote": "> - /forge status",
    "second line of a list": "- said\n  /forge status",
    "list whose mark stands alone": "-\n  /forge status",
    "code in a list": "- `/forge status`",
    "list that goes on lazily": "- said\n/forge status",
    "paragraph in a list": "- said\n\n  /forge status",
    "task list": "- [ ] /forge status",
    "inline code": "`/forge status`",
    "code over lines": "`a\n/forge status`",
    "double backticks": "``\n/forge status\n``",
    "fence": "```\n/forge status\n```",
    "fence with tildes": "~~~sh\n/forge status\n~~~",
    "fence that never ends": "```\n/forge status",
    "indented code": "    /forge status",
    "tab": "\t/forge status",
    "heading": "# /forge status",
    "underlined heading": "/forge status\n---",
    "underlined heading of lines": "Title\n/forge status\n===",
    "link": "[/forge status](https://example.com)",
    "link over lines": "[a\n/forge status](https://example.com)",
    "reference link": "[a\n/forge status][1]\n\n[1]: https://example.com",
    "link title": '[a](https://example.com "\n/forge status\n")',
    "link definition": "[a]:\n/forge\n",
    "image": "![a\n/forge status](https://example.com/x.png)",
    "emphasis over lines": "*a\n/forge status*",
    "strong": "**a\n/forge status**",
    "struck out": "~~a\n/forge status~~",
    "HTML comment": "<!--\n/forge status\n-->",
    "HTML comment over paragraphs": "<!-- a\n\n/forge status\n\n-->",
    "HTML comment in a line": "a <!-- b\n/forge status --> c",
    "HTML comment that never ends": "<!--\n\n/forge status",
    "HTML block": "<div>\n/forge status\n</div>",
    "HTML quote": "<blockquote>\n\n/forge status\n\n</blockquote>",
    "HTML quote that never ends": "<blockquote>\n\n/forge status",
    "HTML quote with odd attributes": "<blockquote title='>' x=\"<\">\n\n/forge status\n\n</blockquote>",
    "section": "<details><summary>log</summary>\n\n/forge status\n\n</details>",
    "pre": "<pre>\n\n/forge status\n\n</pre>",
    "code tag in a line": "a <code>b\n/forge status\nc</code>",
    "heading tag": "<h1>\n\n/forge status\n\n</h1>",
    "attribute over lines": '<a title="\n/forge status\n">x</a>',
    "table": "a|b\n-|-\n/forge status|x",
    "table of one column": "| a |\n|-|\n/forge status",
    "table head": "/forge status | x\n-|-",
    "escaped": "\\/forge status",
    "entity": "&#47;forge status",
    "entity inside": "/fo&#114;ge status",
    "another word": "/forgery status",
    "after a line separator": "hello\u2028/forge status",
    "after a form feed": "hello\f/forge status",
}


def test_a_plain_line_commands() -> None:
    assert [place for place, body in PLAIN.items() if read(body) != STATUS] == []


def test_what_is_no_plain_line_is_nothing_at_all() -> None:
    assert [place for place, body in ELSEWHERE.items() if read(body)] == []


LINES = st.lists(
    st.sampled_from(["/forge status", "/forge approve", "text", "", "- item", "> quote", "# title", "`code`", "*em*"])
    | st.text(st.characters(exclude_characters="\r\n"), max_size=12),
    min_size=1,
    max_size=8,
).map("\n".join)


@given(LINES)
def test_nothing_quoted_commands(body: str) -> None:
    assert read("\n".join(f"> {line}" for line in body.split("\n"))) == ()


@given(LINES)
def test_nothing_fenced_commands(body: str) -> None:
    fence = "`" * (max((len(line) - len(line.lstrip("` ")) for line in body.split("\n")), default=0) + 3)
    assert read(f"{fence}\n{body}\n{fence}") == ()


@given(LINES)
def test_nothing_indented_commands(body: str) -> None:
    assert read("\n".join(f"    {line}" for line in body.split("\n"))) == ()


@given(LINES.filter(lambda body: "--" not in body and ">" not in body))
def test_nothing_in_an_html_comment_commands(body: str) -> None:
    assert read(f"<!--\n{body}\n-->") == ()


@given(LINES.filter(lambda body: "<" not in body))
def test_nothing_in_a_list_commands(body: str) -> None:
    made = read("\n".join(["- a", *(f"  {line}" for line in body.split("\n"))]))
    assert all(isinstance(each, SlashMistake) for each in made)


@given(st.lists(st.sampled_from(["hello", "", "see https://example.com", "it is 3 < 4", "a_b and c_d"]), max_size=6))
def test_prose_around_it_does_not_hide_a_command(around: list[str]) -> None:
    assert read("\n".join([*around, "", "/forge status", "", *around])) == STATUS


@pytest.mark.parametrize(
    "piece", ["![[", "[", "*a", "*_", "[a](", "<", "<a", '<a "', "&", "_a*b", "~~a", "|\n", "<b>\n", "> ", "- ", "`a``"]
)
def test_no_comment_takes_long_to_read(piece: str) -> None:
    body = "/forge status\n" + (piece * 65_536)[:65_000]
    began = time.process_time()
    read(body)
    assert time.process_time() - began < 1.5  # ten times what it takes
