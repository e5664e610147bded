"""Weighs how much an assertion demands, of any common framework."""

import re

from agents.review.avoidance.calls import CALLS, NAME, find_callee
from agents.review.avoidance.facts import Strength
from agents.review.avoidance.leaves import join_text
from agents.syntax.trees import SyntaxNode

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
LONGEST = 2_000
"""Characters of an assertion that expressions look at; the rest is data."""


def weigh(node: SyntaxNode, names: list[str], language: str) -> tuple[Strength, str]:
    text = join_text(node)[:LONGEST]
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


_PASSES = frozenset({"pass", "expectnottoperformassertions"})
"""Verbs by which a test says that nothing fails."""


def _is_vacuous(node: SyntaxNode, names: list[str], text: str) -> bool:
    if re.search(r"\bor True\b|\|\| true\b", text) or {name.lower() for name in names[1:]} & _PASSES:
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
    names = [each.text for each in node.walk() if not each.children and NAME.search(each.kind)]
    broad = [name for name in names if _BROAD.match(name)]
    named = [name for name in names if _ERROR.search(name) and not _BROAD.match(name) and not _ASSERTS.match(name)]
    if broad:
        return not named and re.search(r"\bmatch\b|message", join_text(node)[:LONGEST], re.IGNORECASE) is None
    arguments = [child for child in node.children if "argument" in child.kind or child.kind == "token_tree"]
    return not any(each.children and len(each.children) > _EMPTY for each in arguments)


_ERROR = re.compile(r"(Error|Exception|Warning|Fault)(::class)?$")
_ASSERTS = re.compile(r"^(assert|expect|to|must|raise|is)", re.IGNORECASE)
_EMPTY = 2  # the brackets


def _is_truth_only(node: SyntaxNode, name: str) -> bool:
    """Whether it is ``toBe(true)`` of something that was compared before."""
    return name.lower() in {"notequal", "notequals", "not_equal"}
