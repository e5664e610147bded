"""Decides whether a line of text is prose: words of a natural language and their punctuation, which no tool obeys."""

import re

_FUNCTION_WORDS = """
    a about after all also an and any are as at be because been before being but by can cannot does each either else
    even every for from has have he here how i if in instead into is it its may must neither nor not of off on once
    one only or other our over so some such than that the their them then there these they this those to under unless
    until up was we were what when where whether which while who why will with without would you your
"""
_COMMON = frozenset(_FUNCTION_WORDS.split())
"""English words that hold sentences together; no tool has one as a name."""
_WORD = re.compile(r"""[("'“‘]?([^\W\d_]+(?:['’-][^\W\d_]+)*|\d+(?:[.,]\d+)*%?)[)"'”’]{0,2}[.,;!?]{0,3}\)?""")
_NO_WORDS = re.compile(r"no(?!$|t$|w$|r$|ne$|te$|tes$|thing$|body$|where$|tice$|rmal$|rmally$|n$)", re.IGNORECASE)
"""How markers of linters begin that stand alone, such as ``nosec``: other words with it are not taken for prose."""


def is_sentence(line: str) -> bool:
    """Whether a line, without its sign of a comment, begins as an English sentence does: all of it is words, the first
    is capitalised or one that tools have no use for, and so is one of the first two. An empty line is one, too.
    """
    words = line.replace(" - ", " ").replace(" – ", " ").split(" ")
    found = [_WORD.fullmatch(word) for word in words if word]
    if any(each is None or _NO_WORDS.match(each[1]) or _is_code(each[1]) for each in found):
        return False
    first = [each[1] for each in found[:2] if each is not None]
    if not first:
        return True
    begins = first[0].lower() in _COMMON or (first[0][0].isupper() and "-" not in first[0])
    return begins and not _COMMON.isdisjoint(map(str.lower, first))


def has_common_word(text: str) -> bool:
    """Whether any word of a text is one that holds sentences together."""
    return not _COMMON.isdisjoint(re.findall(r"[a-z]+", text.lower()))


def _is_code(word: str) -> bool:
    """Whether it is written as names of programs are: ``camelCase``, or a long word of capitals."""
    return re.search(r"[a-z][A-Z]", word) is not None or (len(word) > 5 and word.isupper())
