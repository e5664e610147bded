"""Knows which functions make different values equal, and how sure it is that they do so without need."""

import re
from functools import lru_cache

_CASE = (
    r"to_?(lower|upper)(_?case)?(_?invariant)?|(str|mb_str)to(lower|upper)|lower|upper|casefold|downcase|upcase|"
    r"swapcase"
)
_BLANKS = (
    r"[lr]?strip|[lr]?trim(_?(start|end|left|right|space|all))?|chomp|squish|squeeze|"
    r"strip_?(whitespace|ansi|tags|blanks)"
)
_NUMBERS = r"round|floor|ceil|trunc|to_?fixed|to_?precision|quantize|rounded|approximate"
_SETS = r"set|frozenset|hash_?set|to_?set|uniq|unique|distinct|uniqBy|new_?set"
_NAMED = (
    r"(\w*_)?(canonical\w*|normali[sz]e\w*|simplif\w*|clean(ed|up)?|squash\w*|collapse\w*|sanit\w*|scrub\w*|loosen\w*|"
    r"relax\w*|fuzz\w*)"
)
_NAMED_INSIDE = (
    r"[a-z_$]\w*(Canonical|Normali[sz]e|Simplif|Collapse|Squash|Sanit|Scrub|Loosen|Relax|Whitespace|Blanks)\w*"
)
_LOSES = re.compile(rf"_*({_CASE}|{_BLANKS}|{_NUMBERS}|{_SETS}|{_NAMED}|{_NAMED_INSIDE}|fields)$", re.IGNORECASE)
BARE = re.compile(
    r"([lr]?strip|chomp|squish|squeeze|downcase|upcase|swapcase|uniq|to_set|round|floor|ceil|sort|sum)!?$"
)
"""Those that are called without brackets, too."""
_LOOSE = re.compile(
    r"(\w*(ignor(e|ing)_?(case|white_?space|new_?lines?|blanks|line_?endings?)|case_?insensitive\w*|ordinalignorecase)\w*|"
    r"equal_?fold|equalsignorecase|eq_ignore_ascii_case|casecmp\??|strn?casecmp|assertequals?canonicalizing|"
    r"assert(count|items)equal|elementsmatch|match_array|contain_exactly|contains(exactly)?inanyorder|"
    r"assertequals?withdelta)$",
    re.IGNORECASE,
)
_ORDERS = re.compile(
    r"(to_?)?(sort(ed)?(_?by)?(_?keys)?|sort_unstable|ksort|counter|multiset|reversed?)$|assert(count|items)equal$|"
    r"elementsmatch$|match_array$|contain_exactly$|contains(exactly)?inanyorder$|int$",
    re.IGNORECASE,
)
_REPLACES = re.compile(
    r"((re_?)?g?sub|(preg|str|mb_str|mb_ereg|str_i)_?replace|(reg_?exp?)?_?replace(_?all(_?(func|string))?)?|translate|"
    r"delete|tr|sed|grep|remove\w*|split|xargs)\b",
    re.IGNORECASE,
)
_REPLACES_BLANKS = re.compile(
    r"\\s|\\t|\[ |\[\[:space:\]\]|[\"'`/] +[\"'`/+*]|/ \+?/|\\W|\\d|-d|xargs|^split$|\[\^|\.\*|\\x1b|\\033|\\p\{",
    re.ASCII,
)
_LINE_ENDS = re.compile(r"\\r|os \. (sep|linesep)|\\\\|lineSeparator|NewLine")
_KEEPS = re.compile(
    r"(str|repr|list|tuple|dict|string|from|to_?(string|s|a|h|array|list|vec|owned|dict|json|py)|stringify|bytes|encode|"
    r"decode|some|ok|err|as_str|path|resolve|copy|deep_?copy|clone|vars|asdict|into|unwrap|expect|collect|iter|entries|"
    r"parse_?(json|int|float)?|loads?|dumps?|array|json|inspect|format|print|float|bool|len|length|type|typeof|id|"
    r"assert\w*|equals?|json_(en|de)code|(un)?serialize|_?items|keys|values|await|then|all|get|call|run|read\w*)$",
    re.IGNORECASE,
)

CERTAINLY, DOUBTFULLY, NOT = 0.8, 0.6, 0.0


_LONGEST = 80
"""Characters of a name; what is longer names no function that anybody knows."""


@lru_cache(maxsize=10_000)
def is_loose(word: str) -> bool:
    """Whether a word names a comparison that leaves a difference out."""
    return len(word) <= _LONGEST and _LOOSE.match(word) is not None


@lru_cache(maxsize=10_000)
def is_lossy(word: str) -> bool:
    """Whether a word names a function whose result says less than what it is given."""
    return len(word) <= _LONGEST and _LOSES.match(word) is not None


@lru_cache(maxsize=10_000)
def judge_layer(layer: str) -> float:
    """How sure it is that something less is compared, if a value newly passes through a function.

    :param layer: its name, and in brackets what it is given beside the value.
    """
    name, _, beside = layer.partition("(")
    if is_lossy(name) or (is_loose(name) and not _ORDERS.match(name)):
        return CERTAINLY
    if _REPLACES.match(name):
        if _LINE_ENDS.search(beside) or (name == "split" and beside and not _REPLACES_BLANKS.search(beside)):
            return NOT
        return CERTAINLY if _REPLACES_BLANKS.search(beside or name) else DOUBTFULLY
    return DOUBTFULLY if _ORDERS.match(name) else NOT


def may_lose(layer: str) -> bool:
    """Whether different values may become equal by a function that nobody knows."""
    name = layer.partition("(")[0]
    return not _KEEPS.match(name) and name[:1].islower()
