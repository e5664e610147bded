"""Reads the assertions of a test, of any common framework, and how much each of them demands."""

import re
import zlib
from collections.abc import Iterator, Sequence

from agents.review.avoidance.facts import AssertionFact, Strength
from agents.review.avoidance.leaves import list_leaves, normalize
from agents.review.avoidance.sides import Assigned, list_assigned, read_sides
from agents.syntax.trees import SyntaxNode

CALLS = frozenset(
    [
        "call",
        "call_expression",
        "method_invocation",
        "invocation_expression",
        "function_call_expression",
        "member_call_expression",
        "scoped_call_expression",
        "nullsafe_member_call_expression",
        "macro_invocation",
        "command",
    ]
)
LITERAL = re.compile(
    r"string|number|integer|float|decimal|literal|^true$|^false$|^nil$|^none$|^null$|char|symbol", re.IGNORECASE
)
_NAME = re.compile(r"identifier|^name$|constant|^word$|variable_name")
_STATEMENT = re.compile(r"statement$|^block$|body$|^statement_list$|^call$|_block$|^program$|^module$")
_GUARDS = frozenset(
    [
        "if_statement",
        "try_statement",
        "if_modifier",
        "unless_modifier",
        "if",
        "unless",
        "begin",
        "rescue_modifier",
        "match_statement",
        "switch_statement",
        "if_expression",
        "try_expression",
        "conditional_expression",
    ]
)
VOCABULARY = frozenset(
    [
        "self",
        "this",
        "assert",
        "Assert",
        "expect",
        "should",
        "t",
        "require",
        "that",
        "pytest",
        "raises",
        "t.Errorf",
        "a",
        "is",
        "it",
        "to",
        "be",
        "not",
        "has",
        "have",
        "eq",
        "Should",
        "ok",
        "test",
        "errors",
        "static",
        "parent",
        "chai",
        "static::assert",
    ]
)

_VERBS: tuple[tuple[Strength, str, re.Pattern[str]], ...] = tuple(
    (strength, kind, re.compile(f"^(?:{pattern})$", re.IGNORECASE))
    for strength, kind, pattern in (
        (
            Strength.exact,
            "raises",
            (
                r"raises|raises_message|raise_error|must_raise|assert_?raises\w*|throws?|to_?throws?(error)?\w*|"
                r"expectexception\w*|assertthrows(exactly)?\w*|isinstanceof(exception)|throwsasync|throwsany|"
                r"thatthrownby|assertthatthrownby|assertthatexceptionoftype|should_panic|rejects|errorIs|errorAs|ErrorContains|EqualError"
            ),
        ),
        (
            Strength.partial,
            "near",
            (
                r"\w*(almost_?equals?|close_?to|in_?delta|be_?close|allclose|in_?epsilon|within|roughly|approx\w*|"
                r"approximately)\w*"
            ),
        ),
        (
            Strength.partial,
            "part",
            (
                r"\w*(contains?|includes?|match(es|ing|object|regex\w*|regexp)?|regexp?|starts_?with|ends_?with|greater\w*|"
                r"less\w*|subset|superset|above|below|least|most|any_?of|one_?of|between|in_range|partial\w*)\w*|in|not_?in"
            ),
        ),
        (
            Strength.weak,
            "some",
            (
                r"\w*(truthy|falsy|notnull|not_?nil|notnone|isnotnone|is_?defined|defined|isinstance\w*|instance_?of|"
                r"be_?an?|kind_?of|is_?type|not_?empty|isnotempty|not_?throws?|does_?not_?(throw|raise)\w*|nothing_raised|"
                r"no_?error|nothrow|called|is_?ok|is_?some|is_?err|is_?not_?null|responds?_to|respond_to|be_ok|exists?|"
                r"present|nonzero|notequals?|notsame|not_?equals?|ne|isassignable\w*|numeric|isarray|isstring|iscallable|"
                r"success|failure|error)"
            ),
        ),
        (
            Strength.exact,
            "equal",
            (
                r"\w*(equals?|same|eql?|deep_?equal\w*|to_?be|be|is|isequalto\w*|strict\w*|snapshot\w*|exactly|count|"
                r"length\w*|size|has_?size|haslength|isnull|null|nil|none|isnone|empty|isempty|true|false|istrue|isfalse|"
                r"equivalent\w*|json\w*|output|all|status|with|once\w*|times|property)"
            ),
        ),
    )
)
_TRUTH = re.compile(r"^(assert_?(true|false)|is(true|false)|assert|ok|true|expect|refute|assert!|True|False)$")
_BROAD = re.compile(r"^(Exception|BaseException|Error|Throwable|StandardError|RuntimeException|Object|\\?Exception)$")
_BEGINS = re.compile(
    r"^(assert\w*|expect\w*|verify\w*|refute\w*|must_\w+|wont_\w+|fail\w*|should\w*|is_expected|debug_assert\w*|"
    r"assume\w*|ensure_\w+|check_equal|raises|deep_equal)$",
    re.IGNORECASE,
)
_ROOTS = frozenset(
    {"assert", "Assert", "require", "t", "expect", "td", "cmp", "ok", "chai", "StringAssert", "is", "qt"}
)
_T_FAILS = frozenset({"Error", "Errorf", "Fatal", "Fatalf", "Fail", "FailNow"})
_T_LOGS = frozenset({"Log", "Logf", "Run", "Helper", "Cleanup", "Parallel", "plan", "end", "teardown", "context"})
_T_LOGS_MORE = frozenset(
    {"Skip", "Skipf", "SkipNow", "TempDir", "Setenv", "Name", "test", "comment", "before", "after"}
)


_LONGEST = 2_000
"""Characters of an assertion that expressions look at; the rest is data."""


def _shorten(text: str) -> str:
    """The text, or its beginning with a digest of the whole, so that a journal is not filled with data."""
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}… {zlib.crc32(text.encode(errors='replace'))}"


def join_text(node: SyntaxNode) -> str:
    """A node's text without layout and comments."""
    return " ".join(list_leaves(node))


def make_signature(*nodes: SyntaxNode) -> int:
    """Equal for parts that say the same, in every process."""
    return zlib.crc32(" ".join(join_text(node) for node in nodes).encode(errors="replace"))


def list_words(node: SyntaxNode) -> list[str]:
    """The names and literals in a node."""
    return [
        normalize(each.text)
        for each in node.walk()
        if not each.children and each.text and (_NAME.search(each.kind) or LITERAL.search(each.kind))
    ]


def list_literals(node: SyntaxNode) -> list[str]:
    """The literals in a node."""
    return [normalize(each.text) for each in node.walk() if not each.children and each.text and is_literal(each)]


def is_literal(node: SyntaxNode) -> bool:
    return LITERAL.search(node.kind) is not None and node.kind not in {"string_start", "string_end"}


def find_callee(node: SyntaxNode) -> list[str]:
    """The names of what a call calls, from the outside in: of ``a.b(1).c(2)`` it is ``a, b, c``."""
    names: list[str] = []
    for child in node.children:
        if "argument" in child.kind or child.kind in {"token_tree", "do_block", "block"}:
            continue
        if child.children and child.kind in CALLS:
            names += find_callee(child)
        elif child.children:
            names += _list_chain(child)
        elif _NAME.search(child.kind):
            names.append(child.text)
    return names


def _list_chain(node: SyntaxNode) -> list[str]:
    names: list[str] = []
    for child in node.children:
        if child.kind in CALLS:
            names += find_callee(child)
        elif "argument" in child.kind:
            continue
        elif node.kind == "subscript_expression" and child.kind == "string":  # t["throws"](…)
            names += [name for name in [child.text.strip("\"'`")] if name.isidentifier()]
        elif child.children:
            names += _list_chain(child)
        elif _NAME.search(child.kind):
            names.append(child.text)
    return names


def read_assertions(node: SyntaxNode, language: str) -> tuple[AssertionFact, ...]:
    """The assertions below a node, in order."""
    found = [*_find(node, language, 0)]
    assigned = list_assigned(node) if found else []
    return tuple(
        _read_condition(each, guards, assigned)
        if each.kind == "if_statement"
        else _read(each, language, guards, assigned)
        for each, guards in found
    )


def _find(node: SyntaxNode, language: str, guards: int) -> Iterator[tuple[SyntaxNode, int]]:
    """Each assertion, and how many conditions and handlers stand around it."""
    is_condition = language == "go" and node.kind == "if_statement" and _fails_test(node)
    if is_condition or _is_assertion(node, language):
        yield node, guards
        return
    inner = guards + (node.kind in _GUARDS)
    for child in node.children:
        yield from _find(child, language, inner)


def _fails_test(node: SyntaxNode) -> bool:
    """Whether a Go condition only fails the test."""
    return any(
        each.kind in CALLS and (names := find_callee(each)) and names[-1] in _T_FAILS and len(names) > 1
        for child in node.children
        if child.kind == "block"
        for each in child.walk()
    )


def _read_condition(node: SyntaxNode, guards: int, assigned: Sequence[Assigned]) -> AssertionFact:
    head = [child for child in node.children if child.kind != "block"]
    words = tuple(word for child in head for word in list_words(child) if word not in VOCABULARY)
    literals = tuple(word for child in head for word in list_literals(child))
    text = " ".join(leaf for child in head for leaf in list_leaves(child))[:_LONGEST]
    is_range = re.search(r"[<>]", text) is not None
    is_exact = "!=" in text or "DeepEqual" in text or "==" in text or ("!" in text.split() and not is_range)
    only_error = words and set(words) <= {"err", "nil", "error"}
    strength = Strength.weak if only_error else Strength.exact if is_exact else Strength.partial
    if re.search(r"\bfalse\b", text) and ("&& false" in text or text.startswith("if false")):
        strength = Strength.vacuous
    return AssertionFact(
        line=node.start,
        text=text,
        words=words,
        literals=literals,
        strength=strength,
        guards=guards,
        kind="if",
        sides=read_sides(head, [*assigned, *(each for child in head for each in list_assigned(child))], node.start),
    )


def _is_assertion(node: SyntaxNode, language: str) -> bool:
    if node.kind == "assert_statement" or (language == "bash" and node.kind == "test_command"):
        return True
    if node.kind == "with_statement":
        return False
    if node.kind not in CALLS:
        return False
    names = find_callee(node)
    if not names:
        return False
    if language == "bash":
        return names[0].startswith(("assert", "refute", "fail")) or names[0] in {"diff", "cmp", "test"}
    root, last = names[0], names[-1]
    if any(_BEGINS.match(each) for each in names):
        return True
    if root in _ROOTS and len(names) > 1:
        return last not in _T_LOGS and last not in _T_LOGS_MORE
    return "should" in names


def _read(node: SyntaxNode, language: str, guards: int, assigned: Sequence[Assigned]) -> AssertionFact:
    names = find_callee(node) if node.kind in CALLS else []
    vocabulary = {*names, *VOCABULARY}
    inner = [word for word in list_words(node) if word not in vocabulary or LITERAL.search(word)]
    strength, kind = _weigh(node, names, language)
    return AssertionFact(
        line=node.start,
        text=_shorten(join_text(node)),
        words=tuple(inner),
        literals=tuple(list_literals(node)),
        strength=strength,
        guards=guards,
        kind=kind,
        sides=read_sides([node], assigned, node.start),
    )


def _weigh(node: SyntaxNode, names: list[str], language: str) -> tuple[Strength, str]:
    text = join_text(node)[:_LONGEST]
    if _is_vacuous(node, names, text):
        return Strength.vacuous, "nothing"
    if (same := _SAME.fullmatch(text)) is not None and same[1] == same[2]:
        return Strength.weak, "same"
    if language == "bash":
        return _weigh_shell(text)
    if node.kind == "assert_statement" or (names and _TRUTH.match(names[-1]) and _takes_condition(node, names)):
        return _weigh_condition(text)
    nested = [each for each in node.walk() if each.kind in CALLS]
    verbs = [name for each in (node, *nested) for name in find_callee(each)[-2:]]
    first = list(reversed(names)) + [each for each in verbs if each not in names]
    for name in first:
        bare = re.sub(
            r"^(assert|refute|must|wont|to|is|has|should|expect|have|that|not)_?(?=[A-Za-z_])",
            "",
            name,
            flags=re.IGNORECASE,
        )
        for strength, kind, pattern in _VERBS:
            if pattern.match(name) or pattern.match(bare):
                if kind == "raises" and _is_broad(node):
                    return Strength.weak, kind
                if kind == "equal" and _is_truth_only(node, name):
                    return Strength.weak, "some"
                return strength, kind
    return Strength.partial, names[-1] if names else "assert"


def _takes_condition(node: SyntaxNode, names: list[str]) -> bool:
    """Whether an assertion takes a condition, as ``assert(a == b)`` does."""
    return len(names) == 1 or names[-1].lower().removeprefix("assert").strip("_") in {"true", "false", "ok", "that", ""}


def _weigh_condition(text: str) -> tuple[Strength, str]:
    if re.search(r"\bor True\b|\|\| true\b|== ?True or", text):
        return Strength.vacuous, "nothing"
    if re.search(r"\bapprox\b|\bisclose\b|allclose|\babs \(", text):
        return Strength.partial, "near"
    if re.search(r"===?|\bequals\b|\bis None\b|\bnot in\b|\. eql\?", text) or re.search(r"\bis (?!not\b)", text):
        return Strength.exact, "equal"
    if re.search(r"\bisinstance\b|instanceof|\bcallable\b|\bhasattr\b|is not None|!= null|!= nil|!==? undefined", text):
        return Strength.weak, "some"
    if re.search(r"\bin\b|[<>]=?|startswith|endswith|match|search|includes|contains|starts_with|\ball\b|\bany\b", text):
        return Strength.partial, "part"
    return Strength.weak, "some"


def _weigh_shell(text: str) -> tuple[Strength, str]:
    if re.search(r"-eq|==?|\bdiff\b|\bcmp\b|assert_?equals?|assert_output(?! --(partial|regexp))|assertSame", text):
        return Strength.exact, "equal"
    if re.search(r"=~|\*|--partial|--regexp|assert_?contains|-[gl][te]\b", text, re.IGNORECASE):
        return Strength.partial, "part"
    if re.search(
        r"assert_(success|failure)|-n\b|-z\b|-[efds]\b|!=|-ne|assertNotNull|assert_?true", text, re.IGNORECASE
    ):
        return Strength.weak, "some"
    return Strength.partial, "part"


_SAME = re.compile(r"assert (.+?) == (.+?)( , .*)?")


def _is_vacuous(node: SyntaxNode, names: list[str], text: str) -> bool:
    if re.search(r"\bor True\b|\|\| true\b", text):
        return True
    if re.fullmatch(r"assert (True|1|true)( , .*)?;?|assert \( true \) ?;?", text):
        return True
    arguments = next((child for child in node.children if "argument" in child.kind or child.kind == "token_tree"), None)
    if arguments is not None and names:
        parts = [join_text(child) for child in arguments.children if child.kind not in {"(", ")", ","}]
        last = names[-1].lower()
        if last in {"asserttrue", "assert_true", "istrue", "true", "assert", "ok", "assert!"} and parts[:1] in (
            ["true"],
            ["True"],
            ["1"],
        ):
            return True
        if len(parts) >= 2 and parts[0] == parts[1] and re.search(r"equal|same|eq", last):
            return True
    expected = re.search(
        r"^expect \( (.+?) \) (?:\. \w+ )*?\(? ?\. (?:toBe|toEqual|toStrictEqual|equal) \( (.+?) \)", text
    )
    if expected is not None and expected[1] == expected[2]:
        return True
    same = _SAME.fullmatch(text)
    return same is not None and same[1] == same[2] and not _MAKES.match(same[1])


_MAKES = re.compile(r"(?:[A-Z]\w*|(?:make|create|build)_\w+) \( (?:[^()]* )?\)$")
"""A call that makes an object, of which two are as equal as the object says."""


def _is_broad(node: SyntaxNode) -> bool:
    """Whether any error will do: none is named, or only what all errors are, and no message is asked for."""
    names = [each.text for each in node.walk() if not each.children and _NAME.search(each.kind)]
    broad = [name for name in names if _BROAD.match(name)]
    named = [name for name in names if _ERROR.search(name) and not _BROAD.match(name) and not _ASSERTS.match(name)]
    if broad:
        return not named and re.search(r"\bmatch\b|message", join_text(node)[:_LONGEST], re.IGNORECASE) is None
    arguments = [child for child in node.children if "argument" in child.kind or child.kind == "token_tree"]
    return not any(each.children and len(each.children) > _EMPTY for each in arguments)


_ERROR = re.compile(r"(Error|Exception|Warning|Fault)(::class)?$")
_ASSERTS = re.compile(r"^(assert|expect|to|must|raise|is)", re.IGNORECASE)
_EMPTY = 2  # the brackets


def _is_truth_only(node: SyntaxNode, name: str) -> bool:
    """Whether it is ``toBe(true)`` of something that was compared before."""
    return name.lower() in {"notequal", "notequals", "not_equal"}
