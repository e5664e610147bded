"""Decides from two versions of a file whether only comments, layout or prose changed: only what is certain is harmless.

Nothing else is: no reading of a test tells what it does as it runs, nor of a function what its place means.
"""

import ast
import doctest
import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from html import unescape
from typing import Any

import yaml
from markdown_it import MarkdownIt
from markdown_it.token import Token

from agents.syntax.structures import STRUCTURED, changes_only_version, read_xml
from agents.syntax.trees import ParsedSource, SyntaxNode, parse
from domain.paths import is_document, tells_terms
from domain.review.reading import Impact
from domain.text.places import has_common_word, is_sentence
from workspace.file_selection import says_generated

_SIGN = re.compile(r"^\s*(?:#+|//[/!]?|--|;+|%+|/\*\*?|\*/?)?(?:\s+|$)|\s*\*/\s*$")
"""The signs around a line of a comment. What follows one at once, as in ``#!`` or ``//go:embed``, is no prose."""
_BREAKS = re.compile(r"\r(?!\n)|[\x00-\x08\v\f\x0e-\x1f\x85\u2028\u2029]")
"""What ends a line, and with it a comment, for some language: the grammars know the line feed alone."""
_SPELLED = re.compile(r"\\u+00[0-7][0-9a-f]", re.IGNORECASE)
_SPELLING = frozenset({"java", "kotlin", "scala"})
"""Languages that may read an escape such as ``\\u000a`` before anything else, so that it ends a comment."""
_INSTRUCTS = re.compile(
    r"\W*[a-z][\w.-]*\s*(?:=|:(?!//|:))|\W*(?:-\*-|#\s*///|\+\w|@[\w\.]+\()|(?:#+|//[/!]?|--|;+|%+|/\*+)[^\s/*#-]"
)
"""How a line of a comment begins that more than linters obey: ``//go:build``, ``# coding: utf-8``, ``@Route(``."""
_INSTRUCTS_IN_GO = re.compile(r"\W*[a-z][\w.-]*:[a-z]|\W*(?:-\*-|\+\w|@\w)|//[^\s/*#-]|/\*line\b")
"""Of Go, whose comments show code: ``//go:embed``, ``// +build``, ``// mockery:all``, ``// @Router``, ``//export``."""
_FOR_TOOLS = re.compile(
    r"\\u|>>>|@ts-|\bno(?:sec|semgrep|lint|inspection)\b|\b(?:[\w-]*(?:ignore|disable|enable|suppress)[\w-]*|skip|codeql"
    r"|lgtm|globals?|exported|knip|pragma)\b",
    re.IGNORECASE,
)
"""What a comment that is no prose has where a tool obeys it: most keep it from speaking."""
_SILENCES = re.compile(r"#\s*(?:no(?:qa|sec|semgrep)\b|type:\s*ignore\b|pylint:\s*disable=)|//\s*nolint\b")
"""A comment that keeps a linter silent: where it goes, no program changes, and more is said than before."""
_IS_PLAIN = re.compile(r"#[\s*-]*coding[:=]\s*utf-?8[\s*-]*", re.IGNORECASE)
"""What Python takes a file for in any case."""
_IS_CODE_OF_RUST = re.compile(r"```|~~~|//[/!] {5}")
"""A comment that documents by an example: ``cargo test`` runs it."""
_IS_OUTPUT = re.compile(r"^\W*(unordered )?output:", re.IGNORECASE)
"""A comment that says what an example of Go prints: its test compares that."""
_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
_KEEPS_BLANK_LINES = re.compile(r"[|>]\d?\+")

_NESTING = 100  # levels that are read; deeper ones act for certain
_MARKDOWN = MarkdownIt("commonmark", {"maxNesting": _NESTING}).enable(["table", "strikethrough"])
_HARMLESS_NAMES = """
    abbr b blockquote br center code dd del details div dl dt em h1 h2 h3 h4 h5 h6 hr i ins kbd li mark ol
    p pre q s samp small span strong sub summary sup table tbody td th thead tr u ul var
"""
_HARMLESS = re.compile(rf"</?(?:{'|'.join(_HARMLESS_NAMES.split())})(?:\s+align=\"?\w+\"?)?\s*/?>", re.IGNORECASE)
"""The tags that a page may get, as they are written: none of them has an attribute that leads elsewhere."""
_PROSE = re.compile(
    r"""(?!.*(?:\w\((?!e?s\))|(?:^|\s)--?\w|\w\.[a-z]{2,}/|\bwww\.|\]\())"""
    r"""(?:[^\W_]|(?<=\w)_(?=\w)|[ \t\n.,;?'"()/&%+*#§°…€£–—“”‘’«»„·•×←-⯿、。，：；（）🌀-🫿-]|\[(?!\[)|\](?!\])"""
    r"""|!(?!!)|:(?=[\s)*"'”]|$)|(?<=\d):(?=\d))*"""
)
"""Words with their punctuation: no sign of calls, commands, templates, directives, options, addresses or links that
another parser may see (GitHub makes a link of ``www.``)."""
_NAME = re.compile(r"-{0,2}[.@&]?\w[\w-]*(?:[./:]{1,2}[\w-]+)*(?:\(\)|=|/)?")
"""What a text may name in a code span: one word, such as ``--flag``, ``a.b()`` or ``a/b.md``; never a command."""
_SPAN = re.compile(r"(`+)([^`\n]+)\1(?!`)")
_CODE = re.compile(r"\s*(?:>>>|(?:from\s+\S+\s+)?import\s|export\s)")
"""How a line begins that runs where a page is read by doctest or as MDX."""
_LOWER = re.compile(r"[a-z][\w.-]*\s")
_HEADER = re.compile(
    r"\A(?:---|\+\+\+|;;;)[ \t]*\n.*?(?:\n(?:---|\+\+\+|;;;)[ \t]*$|\Z)|\A\{\n.*?^\}", re.DOTALL | re.MULTILINE
)
_YEARS = re.compile(r"\b(19|20)\d\d\b|[,–-]")
_MESSAGE = re.compile(r'(?:msg(?:id|str|ctxt|id_plural)(?:\[\d\])? )?"(.*?)(?:\\n)?"|#.*')
_ITEM = re.compile(r"(?:[-*+•]|\d+[.)])\s(?!.*::)")
"""How a point of a list begins, whose next lines are indented and no code."""
_DELIMITER = re.compile(r"(-{4,}|\.{4,}|\+{4,}|/{4,}|={4,}|_{4,}|\*{4,}|`{3,}|~{3,})\s*")


def assess(path: str, language: str | None, base: str | None, head: str) -> Impact:
    """The impact of a change of one file: by the syntax trees of source, by what acts in a document."""
    if is_document(path):
        return find_page_impact(path, base, head)
    if base is not None and changes_only_version(path, base, head):
        return Impact.version
    if path.lower().endswith(STRUCTURED):
        return Impact.behaviour if base is None else _find_xml_impact(base, head)
    return find_impact(language or "", base, head)


def _find_xml_impact(base: str, head: str) -> Impact:
    before, after = read_xml(base), read_xml(head)
    if before is None or after is None or before[0] != after[0] or says_generated(head.encode()):
        return Impact.behaviour
    obeyed, now = (
        [line for line in each[1] if _INSTRUCTS.match(line) or _is_for_tool(line)] for each in (before, after)
    )
    return Impact.comment if obeyed == now else Impact.behaviour


def find_page_impact(path: str, base: str | None, head: str) -> Impact:
    """The impact of a change of a document: ``behaviour`` if what is no prose in it is not what it was before.

    It may move as a whole, as it does when prose is added above.

    :param base: its text before; None for a new file.
    """
    before, after = Counter(_list_acts(path, base or "")), Counter(_list_acts(path, head))
    changes_terms = tells_terms(path) and _read_terms(base or "") != _read_terms(head)
    return Impact.behaviour if after != before or changes_terms else Impact.document


def _read_terms(text: str) -> list[str]:
    """The words that bind people, or tell them where to turn; years do not."""
    return _YEARS.sub(" ", text).split()


def _list_acts(path: str, text: str) -> Iterator[str]:
    """Everything in a document that is no prose, as it is written: code and markup as wholes, else lines."""
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    suffix = path.lower().rpartition(".")[2]
    if header := _HEADER.match(text):
        yield header[0]
        text = text[header.end() :]
    yield from filter(_CODE.match, text.split("\n"))
    if suffix in {"md", "markdown"}:
        yield from _list_in_markdown(text)
    elif suffix in {"po", "pot"}:
        yield from _list_in_messages(text.split("\n"))
    else:
        yield from _list_in_text(text.split("\n"), is_delimited=suffix in {"adoc", "asciidoc"})


def _list_in_markdown(text: str) -> Iterator[str]:
    known: dict[str, Any] = {}
    tokens = _MARKDOWN.parse(text, known)
    for each in known.get("references", {}).values():
        yield from [] if _is_near(each["href"]) else [each["href"]]
    for token in tokens:
        if token.level >= _NESTING - 10:
            yield f"nested {token.content}"
        if token.type in {"fence", "code_block"}:
            yield f"{token.info}\n{token.content}"
        elif token.type == "html_block":
            yield from _list_markup(token.content)
        elif token.type == "inline":
            yield from _list_inline(token.children or ())


def _list_inline(parts: Sequence[Token]) -> Iterator[str]:
    """What is no prose in a paragraph, a heading or a cell."""
    shown = ""
    for part in parts:
        if part.type == "code_inline":
            if _NAME.fullmatch(part.content) is None:
                yield f"`{part.content}`"
            shown += "x"
        elif part.type == "html_inline":
            yield from _list_markup(part.content)
        elif part.type in {"link_open", "image"}:
            yield from (str(value) for value in part.attrs.values() if not _is_near(str(value)))
            shown += part.content
        else:
            shown += part.content or ("\n" if part.type in {"softbreak", "hardbreak"} else "")
    yield from _list_odd_lines(shown)


def _list_markup(markup: str) -> Iterator[str]:
    """Markup beyond harmless tags, and what is no prose between them."""
    plain = _HARMLESS.sub(" ", markup)
    if "<" in plain or ">" in plain:
        yield " ".join(markup.split())
    else:
        yield from _list_odd_lines(unescape(plain))


def _is_near(target: str) -> bool:
    """Whether a link leads to a place of the same document, or to another file beside it."""
    return re.fullmatch(r"(?!/)[\w./ %-]*(#[\w.%-]*)?", target) is not None


def _list_odd_lines(text: str) -> Iterator[str]:
    """The lines of a paragraph that are no prose; all of it, if it reads as a command."""
    for line in text.split("\n"):
        if _PROSE.fullmatch(line.strip()) is None:
            yield " ".join(line.split())
    if _reads_as_command(text):
        yield " ".join(text.split())


def _reads_as_command(text: str) -> bool:
    """Whether a text of several words begins with a small letter, and no word of it holds a sentence together."""
    return _LOWER.match(text.strip()) is not None and not has_common_word(text)


def _list_in_messages(lines: Sequence[str]) -> Iterator[str]:
    for line in lines:
        message = _MESSAGE.fullmatch(line.strip())
        text = "" if message is None else message[1] or ""
        if line.strip() and (message is None or "%" in text or _PROSE.fullmatch(text) is None):
            yield line.strip()


def _list_in_text(lines: Sequence[str], *, is_delimited: bool) -> Iterator[str]:
    """Blocks of code, indented or between delimiters, as wholes; of the other lines those that are no prose."""
    block: list[str] = []
    delimiter: str | None = None
    paragraph: list[str] = []
    for line in [*lines, ""]:
        found = _DELIMITER.fullmatch(line) if is_delimited else None
        is_item = bool(paragraph) and _ITEM.match(paragraph[0]) is not None
        is_inside = delimiter is not None or found is not None or (line[:1] in {" ", "\t"} and not is_item)
        if found and delimiter in {None, found[1]}:
            delimiter = None if delimiter else found[1]
        if is_inside or (not line.strip() and delimiter):
            block.append(line.rstrip())
            continue
        if block and line.strip():
            yield "\n".join(block)
            block = []
        if line.strip():
            paragraph.append(line.strip())
        elif paragraph:
            yield from _list_plain("\n".join(paragraph))
            paragraph = []
    if block:
        yield "\n".join(block)
    yield from _list_plain("\n".join(paragraph))


def _list_plain(paragraph: str) -> Iterator[str]:
    """What is no prose in a paragraph without Markdown."""
    for span in _SPAN.finditer(paragraph):
        if _NAME.fullmatch(span[2]) is None:
            yield span[0]
    plain = _SPAN.sub("x", paragraph)
    yield from _list_odd_lines(
        "\n".join(line for line in plain.split("\n") if re.fullmatch(r"([=~^\"'*+#-])\1*", line) is None)
    )


def find_impact(language: str, base: str | None, head: str) -> Impact:
    """The impact of a change of one file of source.

    :param language: a value of :data:`agents.syntax.languages.LANGUAGES`.
    :param base: its text before; None for a new file.
    :returns: ``layout`` if it is certain that the program stays as it was, and no tool obeys its comments; ``comment``
        if so does all but docstrings that it does not read, and comments that give no instructions; else, and if it
        cannot be parsed, ``behaviour``.
    """
    if base is None or base.startswith("\ufeff") != head.startswith("\ufeff"):
        return Impact.behaviour
    base, head = base.removeprefix("\ufeff"), head.removeprefix("\ufeff")
    if says_generated(head.encode()):
        return Impact.behaviour  # Forge would look at no later change of the file
    before, after = parse(base, language), parse(head, language)
    if before is None or after is None or before.errors or after.errors:
        return Impact.behaviour
    if _hides(base, language, before.comments) or _hides(head, language, after.comments):
        return Impact.behaviour
    if not _is_same_program(language, base, head, before, after):
        return Impact.behaviour
    obeyed, now = _list_instructions(before, language), _list_instructions(after, language)
    if [each for each in obeyed if each in now or not _SILENCES.match(each[1])] != now:
        return Impact.behaviour
    if language == "python" and _list_examples(base) != _list_examples(head):
        return Impact.behaviour
    has_same_docs = language != "python" or _read_python(base) == _read_python(head)
    is_obeyed = _has_directives(before) or _has_directives(after)
    return Impact.layout if has_same_docs and not is_obeyed else Impact.comment


def _hides(text: str, language: str, comments: Sequence[str]) -> bool:
    """Whether a language may read something where the grammar, and who reads, sees nothing."""
    if language == "php":
        shown = sum(each.count("?>") for each in comments if each.startswith("/*"))  # there it ends nothing
        if text.count("?>") > shown or not text.startswith(("<?php", "#!")):
            return True  # what stands outside of the tags is printed, spaces as well
    if language == "yaml" and _KEEPS_BLANK_LINES.search(text):
        return True
    return _BREAKS.search(text) is not None or (language in _SPELLING and _SPELLED.search(text) is not None)


def _is_same_program(language: str, base: str, head: str, before: ParsedSource, after: ParsedSource) -> bool:
    """Whether a parser of the language itself reads the same, or the same words stand on the same lines.

    In many languages the end of a line ends a statement, and a grammar does not tell where.
    """
    if _read_interpreter(base) != _read_interpreter(head):
        return False
    if language == "json":
        return not before.comments + after.comments and _read_json(base) == _read_json(head)
    if language == "yaml":
        return _read_yaml(base) == _read_yaml(head)
    if language == "python":
        return _read_python(base, is_bare=True) == _read_python(head, is_bare=True)
    return before.tree.signature == after.tree.signature and [*_list_lines(before.tree)] == [*_list_lines(after.tree)]


def _read_interpreter(text: str) -> str:
    """The first line, if it says what runs the file: it does so at this place alone."""
    return text.split("\n", 1)[0] if text.startswith("#!") else ""


def _read_json(text: str) -> object:
    """:returns: all pairs in their order, so that a repeated key counts; the text itself if it is no JSON."""
    try:
        return repr(json.loads(text, object_pairs_hook=lambda pairs: pairs, parse_float=str, parse_int=str))
    except (ValueError, RecursionError):
        return text


def _read_yaml(text: str) -> object:
    """:returns: what any parser meets in it, in its order: keys, values, anchors and tags; the text itself if it is no
    YAML.
    """
    try:
        events: Iterator[yaml.Event] = yaml.parse(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
        return [(type(event), *_list_said(event)) for event in events]
    except (yaml.YAMLError, RecursionError):
        return text


def _list_said(event: yaml.Event) -> list[tuple[str, object]]:
    """What an event says, but where, and in which of the two styles of a collection."""
    return [(name, said) for name, said in vars(event).items() if not name.endswith(("_mark", "_style"))]


def _read_python(text: str, *, is_bare: bool = False) -> str:
    """What Python makes of it; the text itself if this one cannot read it.

    :param is_bare: without docstrings, where the program does not read them.
    """
    try:
        tree = ast.parse(text)
        for node in ast.walk(tree) if is_bare else ():
            if isinstance(node, _DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
                del node.body[0]
        return _read_python(text) if is_bare and _reads_docstrings(tree) else ast.dump(tree)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return text


def _reads_docstrings(tree: ast.Module) -> bool:
    """Whether a program without docstrings does more with one than to hand it on as such.

    It does not with ``a.__doc__ = b.__doc__``, ``f(doc=b.__doc__)`` and ``{"doc": b.__doc__}``.
    """
    nodes = [*ast.walk(tree)]
    pairs = [pair for node in nodes if isinstance(node, ast.Dict) for pair in zip(node.keys, node.values, strict=True)]
    handed = [
        *(value for key, value in pairs if isinstance(key, ast.Constant) and key.value == "doc"),
        *(node.value for node in nodes if isinstance(node, ast.keyword) and node.arg == "doc"),
        *(node.value for node in nodes if isinstance(node, ast.Assign) and _is_docstring(node.targets[0])),
    ]
    texts = (node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str))
    read = [node for node in nodes if _is_docstring(node) and isinstance(getattr(node, "ctx", None), ast.Load)]
    return any(node not in handed for node in read) or any("__doc__" in text for text in texts)


def _is_docstring(node: ast.AST) -> bool:
    return "__doc__" in (getattr(node, "attr", None), getattr(node, "id", None))


def _list_examples(text: str) -> list[object]:
    """What docstrings show that Python prints, as doctest runs it; the text if this Python cannot read it."""
    try:
        nodes = (node for node in ast.walk(ast.parse(text)) if isinstance(node, _DOCUMENTED))
        shown = (doctest.DocTestParser().get_examples(ast.get_docstring(node) or "") for node in nodes)
        return [[(each.source, each.want, each.options) for each in examples] for examples in shown if examples]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return [text]


def _list_lines(tree: SyntaxNode) -> Iterator[list[str]]:
    """The words of each line that has any."""
    line: list[str] = []
    number = 0
    for leaf in (node for node in tree.walk() if not node.children and node.text):
        if leaf.start != number and line:
            yield line
            line = []
        line.append(leaf.text)
        number = leaf.end
    if line:
        yield line


def _list_comments(parsed: ParsedSource) -> list[tuple[int, str]]:
    """Each line of a comment, after its place."""
    both = zip(parsed.places, parsed.comments, strict=True)
    return [(place, line.strip()) for place, comment in both for line in comment.split("\n")]


def _list_instructions(parsed: ParsedSource, language: str) -> list[tuple[int, str]]:
    """The lines of comments that a compiler or a program may obey."""
    lines = _list_comments(parsed)
    is_run = language == "go" and any(node.text == '"C"' for node in parsed.tree.walk())  # as a program in C
    example = {"go": _IS_OUTPUT, "rust": _IS_CODE_OF_RUST}.get(language)
    is_tested = example is not None and any(example.search(line) for _, line in lines)
    lines = [each for each in lines if language != "python" or not _IS_PLAIN.fullmatch(each[1])]
    is_for_people = language == "go" and not any("swagger:" in line for _, line in lines)
    instructs = _INSTRUCTS_IN_GO if is_for_people else _INSTRUCTS
    return [each for each in lines if is_run or is_tested or instructs.match(each[1]) or _is_for_tool(each[1])]


def _is_for_tool(line: str) -> bool:
    """Whether a line of a comment speaks to a tool, rather than to people."""
    return _FOR_TOOLS.search(line) is not None and not _is_prose(line)


def _is_prose(line: str) -> bool:
    return is_sentence(_SIGN.sub("", line))


def _has_directives(parsed: ParsedSource) -> bool:
    """Whether any comment may be obeyed: all that is no prose.

    What stands between such a comment and what it is about, blank lines and other comments too, decides for some tools
    whether it counts.
    """
    return not all(_is_prose(line) for _, line in _list_comments(parsed))
