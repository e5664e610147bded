"""Reads the type of a name from the text that declares it, and what a class builds on."""

import re
from collections.abc import Mapping

_N = r"[A-Za-z_][\w.:\\]*"
_JS = (r"\bNAME[?!]?\s*:\s*(?:readonly\s+)?(TYPE)", r"\bNAME\s*(?::[^=]+)?=\s*(?:await\s+)?new\s+(TYPE)")
_JAVA = (
    r"(?:^|[\s(,])(TYPE)\s*(?:<[^=;]*>)?[?\s]\s*NAME\b",
    r"\bNAME\s*=\s*new\s+(TYPE)",
)
_C = (
    r"(?:^|[\s(,])(TYPE)\s*(?:<[^=;]*>)?[\s*&]+(?:const\s+)?NAME\b",
    r"\bNAME\s*=\s*new\s+(TYPE)",
    r"\bNAME\s*=\s*(?:std::)?make_(?:unique|shared)<(TYPE)>",
)
_PATTERNS: Mapping[str, tuple[str, ...]] = {
    "python": (
        r"""\bNAME\s*:\s*["']?(?:Optional\[|type\[|Type\[)?["']?(TYPE)""",
        r"\bNAME\s*(?::[^=]+)?=\s*(?:await\s+)?(TYPE)\(",
        r"(TYPE)\([^)]*\)\s+as\s+NAME\b",
    ),
    "javascript": _JS,
    "typescript": _JS,
    "tsx": _JS,
    "go": (
        r"\bNAME\s+(?:\*|\.\.\.)?(TYPE)",
        r"\bNAME\s*(?:,\s*\w+\s*)?:?=\s*&?(TYPE)\{",
        r"\bNAME\s*(?:,\s*\w+\s*)?:?=\s*((?:\w+\.)?New\w*)\(",
    ),
    "java": _JAVA,
    "csharp": _JAVA,
    "php": (r"\??(TYPE)\s+\$NAME\b", r"\$?NAME\s*=\s*new\s+(TYPE)"),
    "ruby": (r"\bNAME\s*(?:\|\|)?=\s*(TYPE)\.new\b",),
    "rust": (
        r"\bNAME\s*:\s*&?\s*(?:'\w+\s+)?(?:mut\s+)?(?:(?:dyn|impl)\s+)?(?:(?:Arc|Rc|Box|Option|RefCell|Mutex)<)*(?:dyn\s+)?(TYPE)",
        r"\bNAME\s*=\s*(TYPE)::(?:new|default|from|with|open|connect|build)\w*\(",
        r"\bNAME\s*=\s*&?(?:mut\s+)?(TYPE)\s*\{",
    ),
    "c": _C,
    "cpp": _C,
}
_AFTER_ARROW = (
    r"->\s*[\"']?&?(?:'\w+\s+)?(?:(?:mut|dyn|impl)\s+)*"
    r"(?:(?:Option|Optional|Result|Arc|Rc|Box)[<\[]\s*&?)*(?:dyn\s+)?(TYPE)"
)
_AFTER_COLON = r"\)\s*:\s*(?:Promise<|\?)?\s*(TYPE)"
_BEFORE_NAME = r"(?:^|[\s*&])(TYPE)\s*(?:<[^()]*>)?[\s*&?\[\]]+(?:\w+::)*NAME\s*\("
_RETURNS: Mapping[str, str] = {
    "python": _AFTER_ARROW,
    "rust": _AFTER_ARROW,
    "typescript": _AFTER_COLON,
    "tsx": _AFTER_COLON,
    "php": _AFTER_COLON,
    "go": r"\)\s*\(?\s*\*?(TYPE)\s*[,){]",
    "java": _BEFORE_NAME,
    "csharp": _BEFORE_NAME,
    "c": _BEFORE_NAME,
    "cpp": _BEFORE_NAME,
}
_MADE_BY = r"\bNAME\s*(?:,\s*\w+\s*)?(?::[^=\n]+)?:?=\s*(?:await\s+)?([\w$.:>\\-]+\()"
_KEYWORDS = (
    "var let const auto val final static new return await yield else throw in of public private protected readonly "
    "async export typeof not and or if is case struct mut ref out this unsafe extern inline"
)
_NO_TYPES = frozenset(_KEYWORDS.split())
_GENERIC = r"(?:<[^<>]*(?:<[^<>]*>[^<>]*)*>)?"


def read_type(language: str, name: str, declaration: str) -> str:
    """The type of a name, as its declaration spells it; empty if that does not say it plainly.

    In Go ``pkg.NewThing`` stands for what that function makes, by convention a ``pkg.Thing``.
    """
    for pattern in _PATTERNS.get(language, ()):
        whole = pattern.replace("NAME", re.escape(name.lstrip("$@"))).replace("TYPE", _N)
        found = re.search(whole, declaration)
        if found is not None and found[1] not in _NO_TYPES:
            return _tidy(language, found[1])
    return ""


def read_returned(language: str, name: str, declaration: str) -> str:
    """The type of what a function gives back, as its head spells it; empty if it does not."""
    if language not in _RETURNS:
        return ""
    head = re.split(r":\s*\n|\{\s*\n", declaration, maxsplit=1)[0] + "{"
    found = re.search(_RETURNS[language].replace("NAME", re.escape(name)).replace("TYPE", _N), head)
    return "" if found is None or found[1] in _NO_TYPES else found[1].rstrip(".:")


def read_maker(name: str, declaration: str) -> tuple[str, str]:
    """What is called to make a name, as its declaration spells it: the receiver and the function; empty if nothing."""
    found = re.search(_MADE_BY.replace("NAME", re.escape(name.lstrip("$@"))), declaration)
    if found is None:
        return "", ""
    parts = re.fullmatch(r"(?:(.*?)(?:\.|->|::))?([\w$]+)\(", found[1])
    return ("", "") if parts is None else (parts[1] or "", parts[2])


_UNDECLARED = frozenset({"python", "javascript", "typescript", "tsx", "php", "ruby"})
"""Languages that need not say of what type an object is, so that its name has to."""


def read_class(language: str, receiver: str) -> str:
    """The class that an object is called after, as ``this.user_store`` after ``UserStore``; empty if that is not plain.

    One word is not plain: `file` and `user` are called so whatever they are.
    """
    last = "" if "(" in receiver else re.split(r"\W+", receiver)[-1]
    words = re.findall(r"[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])", last)
    is_object = language in _UNDECLARED and len(words) > 1 and last.lstrip("_")[:1].islower()
    return "".join(word[:1].upper() + word[1:] for word in words) if is_object else ""


def spell_calls(language: str, owner: str, name: str) -> list[str]:
    """How a method is called on an object that is called after its class."""
    link, plain = "->" if language == "php" else ".", owner[:1].lower() + owner[1:]
    objects = dict.fromkeys((plain, re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", plain).lower()))
    return [f"{each}{link}{name}" for each in objects if read_class(language, each) == owner]


def _tidy(language: str, spelled: str) -> str:
    if language == "go":
        package, dot, name = spelled.rpartition(".")
        return f"{package}{dot}{re.sub(r'^New(?=[A-Z])', '', name)}"
    is_python_function = language == "python" and not spelled.rsplit(".", 1)[-1].lstrip("_")[:1].isupper()
    return "" if is_python_function else spelled.rstrip(".:")


def list_bases(language: str, name: str, text: str) -> list[str]:
    """What a class builds on, as it spells it.

    :param name: the class.
    :param text: its own; in Rust that of its file.
    """
    found: list[str] = []
    if language == "rust":
        found = re.findall(rf"\bimpl{_GENERIC}\s+([\w:]+){_GENERIC}\s+for\s+{re.escape(name)}\b", text)
    elif language == "go":
        body = text.partition("{")[2]
        found = re.findall(r"^\s*\*?([A-Za-z_][\w.]*)\s*(?:`[^`]*`)?$", body, re.MULTILINE)
    elif language == "python":
        head = re.search(rf"\bclass\s+{re.escape(name)}\s*(?:\[[^\]]*\])?\(([^)]*)\)", text)
        found = [part.strip().split("[")[0] for part in head[1].split(",") if "=" not in part] if head else []
    elif language == "ruby":
        head = re.search(rf"\bclass\s+(?:\w+::)*{re.escape(name)}\s*<\s*([\w:]+)", text)
        found = ([head[1]] if head else []) + re.findall(
            r"^\s*(?:include|prepend|extend)[ (]+([A-Z][\w:]*)", text, re.MULTILINE
        )
    else:
        found = _list_declared(language, name, text)
    return [each for each in dict.fromkeys(found) if each and each != name]


def _list_declared(language: str, name: str, text: str) -> list[str]:
    """The bases between the name of a class and its body."""
    after = re.search(rf"\b{re.escape(name)}\b", text)
    head = "" if after is None else re.split(r"[{;]|\bwhere\b", text[after.end() :], maxsplit=1)[0]
    plain = re.sub(_GENERIC, "", head)
    plain = re.sub(
        r"\([^)]*\)|\b(extends|implements|public|private|protected|virtual|permits)\b|(?<!:):(?!:)", ",", plain
    )
    found = [part.strip() for part in plain.split(",") if re.fullmatch(rf"\s*{_N}\s*", part)]
    if language == "php":
        traits = re.findall(r"^\s*use\s+([\w\\, ]+);", text[after.end() :] if after else "", re.MULTILINE)
        found += [each.strip() for part in traits for each in part.split(",")]
    return found
