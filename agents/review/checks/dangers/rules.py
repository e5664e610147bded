"""Our own rules for what is dangerous in languages other than Python, beside those that ruff finds, as shapes of code.

A rule is one of ast-grep (https://ast-grep.github.io/guide/rule-config.html), by kinds, patterns and relations of nodes
of a syntax tree. The same four dangers, of commands, SQL, certificates and passwords, are in every language.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, cast

from ast_grep_py import SgNode, SgRoot

from agents.review.checks.dangers.statements import rate_command, rate_statement
from agents.review.checks.dangers.texts import (
    SENT,
    Shape,
    both,
    call,
    concatenate,
    either,
    inside,
    pattern,
    put_together,
)
from agents.review.checks.rule_texts import Danger, rate
from agents.syntax.languages import find_language

Grade = Callable[[SgNode], Danger | None]
"""Looks closer at a match: which danger it is, or none."""

_GRAMMARS = {"js": ("javascript", "typescript", "tsx"), "c": ("c", "cpp")}
"""The grammars of a language, where they are others than its name."""


@dataclass(frozen=True)
class DangerRule:
    """An entry of the table.

    :param rule: full rule id, which begins with the language.
    :param danger: what it is, where nobody looks closer.
    :param message: what is wrong, why it matters, and what to do.
    :param shape: what it looks like.
    :param grade: looks closer, where one shape is of several dangers.
    :param silenced_by: the number of bandit's rule about the same, by which comments silence it.
    """

    rule: str
    danger: Danger
    message: str
    shape: Shape
    grade: Grade | None = None
    silenced_by: str = ""

    @property
    def grammars(self) -> tuple[str, ...]:
        """The names in ast-grep of what it is looked for in."""
        language = self.rule.partition("/")[0]
        return _GRAMMARS.get(language, (language,))


_FILLED_BY_NAME = either(
    {"kind": "binary_operator", "regex": r"^\w+\s*%"}, {"kind": "call", "regex": r"^\w+\.format\("}
)
"""Python's text that is kept under a name and filled in elsewhere."""

_JS_VALUES = ("identifier", "member_expression", "call_expression")
_JS_TEXT = either(
    concatenate("binary_expression", *_JS_VALUES),
    both({"kind": "template_string"}, inside({"kind": "template_substitution"})),
)
_RUBY_TEXT = either(
    both({"kind": "string"}, inside({"kind": "interpolation"})),
    concatenate("binary", "identifier", "call", "element_reference"),
)
_RUBY_WORD = {"not": {"regex": "^:|^\\w+:|=>|^\\*"}}
"""An argument that is no option of the call: with a second one, no shell is used."""
_PHP_TEXT = either(
    both({"kind": "encapsed_string"}, inside({"kind": "variable_name"})),
    concatenate("binary_expression", "variable_name"),
)
_PHP_INPUT = {"regex": r"\$_(GET|POST|REQUEST|COOKIE)\b"}


def _argument(shape: Shape) -> Shape:
    """PHP wraps each argument."""
    return {"kind": "argument", "has": dict(shape)}


def _is_sent(node: SgNode) -> bool:
    """Whether what people or machines outside sent is named in it."""
    return SENT.search(node.text()) is not None


def _rate_code(node: SgNode) -> Danger:
    return Danger.foreign_code if _is_sent(node) else Danger.own_code


def _rate_php_load(node: SgNode) -> Danger:
    return Danger.foreign_object if _is_sent(node) else Danger.own_object


def _rate_ruby_load(node: SgNode) -> Danger:
    """``YAML.load`` is safe since Ruby 3.1, and a program may load what it wrote itself."""
    is_own = re.match(r"YAML\.load\(|.*\b(File|IO)\.", node.text()) is not None
    return Danger.own_object if is_own and not _is_sent(node) else Danger.foreign_object


_GO_TEXT = either(
    concatenate("binary_expression", "identifier", "selector_expression"),
    both({"kind": "call_expression"}, {"regex": r"^fmt\.Sprintf\("}),
)
_JAVA_TEXT = concatenate("binary_expression", "identifier", "method_invocation", "field_access")
_CSHARP_JOINED = either(
    both({"kind": "interpolated_string_expression"}, inside({"kind": "interpolation"})),
    concatenate("binary_expression", "identifier", "member_access_expression", "invocation_expression"),
)
_CSHARP_TEXT: Shape = {"kind": "argument", "has": dict(_CSHARP_JOINED)}
_JUSTIFIED: Shape = {"follows": {"kind": "line_comment", "regex": "SAFETY"}}


def _c_call(name: str, argument: Shape) -> Shape:
    return call("call_expression", "function", rf"^(std::)?({name})$", argument)


_VALUE: Shape = either(
    {"kind": "identifier"},
    {"kind": "field_expression"},
    {"kind": "subscript_expression"},
    {"kind": "call_expression"},
    {"kind": "pointer_expression"},
)
_END = {"nthChild": {"position": 1, "reverse": True}}
_NAME: Shape = {"kind": "identifier", "regex": "[a-z]"}  # in capitals it is a macro with a text of its own
_ALONE = both(_NAME, _END, {"nthChild": 1})
_LAST = both(_NAME, _END, {"nthChild": 2})

_SHELL = "The command goes through a shell, so any part that comes from outside can run other commands. "
_STATEMENT = "This SQL is put together from text; a value from outside can change the statement. "
_TLS = "Certificates are not checked, so anybody on the network can read and change the traffic. "
_HASH = "A fast hash of a password can be reversed by trying. "


def _command(language: str, advice: str, shape: Shape, says: str = _SHELL) -> DangerRule:
    return DangerRule(f"{language}/command-from-text", Danger.command, says + advice, shape, rate_command)


def _sql(language: str, advice: str, *kinds: str) -> DangerRule:
    """:param kinds: of the expressions that give the text of a statement, as the grammar names them."""
    return DangerRule(
        f"{language}/sql-from-text", Danger.sql_text, _STATEMENT + advice, put_together(*kinds), rate_statement
    )


def _tls(language: str, advice: str, shape: Shape) -> DangerRule:
    return DangerRule(f"{language}/tls-unchecked", Danger.unchecked_tls, _TLS + advice, shape)


def _hash(language: str, advice: str, shape: Shape) -> DangerRule:
    return DangerRule(f"{language}/weak-password-hash", Danger.weak_cipher, _HASH + advice, shape)


TABLE = (
    DangerRule(
        "python/sql-from-text",
        Danger.sql_text,
        _STATEMENT + "Use placeholders of the driver.",
        either(put_together("string", "concatenated_string", "binary_operator", "call"), _FILLED_BY_NAME),
        grade=rate_statement,
        silenced_by="S608",
    ),
    _command(
        "js",
        "Call execFile or spawn with a list of arguments.",
        call(
            "call_expression", "function", r"^(exec|execSync|\w*(child_process|cp)\w*\.exec|\w+\.execSync)$", _JS_TEXT
        ),
    ),
    _sql("js", "Pass the values as parameters of the query.", "template_string", "binary_expression"),
    DangerRule(
        "js/html-from-text",
        Danger.html,
        "This writes text as HTML, so a value from outside can bring a script. Use textContent, or clean the value.",
        either(
            both(
                {"kind": "assignment_expression"},
                {"has": {"field": "left", "regex": r"\.(inner|outer)HTML$"}},
                {"has": {"field": "right", **_JS_TEXT}},
            ),
            call("call_expression", "function", r"^document\.write(ln)?$|\.insertAdjacentHTML$", _JS_TEXT),
        ),
    ),
    _tls(
        "js",
        "Remove this; if the server has its own authority, pass its certificate as `ca`.",
        either(
            both({"kind": "pair"}, {"regex": r"^[\"']?rejectUnauthorized[\"']?\s*:\s*false$"}),
            both({"kind": "assignment_expression"}, {"regex": r"NODE_TLS_REJECT_UNAUTHORIZED\W*=\s*[\"']?0[\"']?$"}),
        ),
    ),
    _hash(
        "js",
        "Use scrypt or argon2.",
        both(
            {"kind": "call_expression"},
            {"regex": r"(?i)createHash\([\"'](md5|sha1)[\"']\)\s*\.update\([^)]*passw[^)]*\)$"},
        ),
    ),
    DangerRule(
        "js/path-from-request",
        Danger.foreign_path,
        "The request chooses the file, and `..` in it leaves the folder. Take its base name, or check the whole path.",
        call(
            "call_expression",
            "function",
            r"(^|\.)(readFile|readFileSync|createReadStream|writeFile|writeFileSync|unlink|sendFile)$",
            both({"regex": r"\breq(uest)?\.(params|query|body)\b"}, {"not": {"regex": r"basename\("}}),
        ),
    ),
    _command(
        "ruby",
        "Pass the arguments one by one, as system('ls', folder).",
        either(
            both({"kind": "subshell"}, inside({"kind": "interpolation"}), {"not": {"regex": "shellescape|Shellwords"}}),
            both(
                call("call", "method", r"^(system|exec|spawn|popen|capture2e?|capture3)$", _RUBY_TEXT),
                {"not": {"regex": "shellescape|Shellwords"}},
                {"not": {"has": {"field": "arguments", "has": both({"nthChild": 2}, _RUBY_WORD)}}},
            ),
        ),
    ),
    DangerRule(
        "ruby/eval-text",
        Danger.own_code,
        "This runs text as code; any part that comes from outside can do whatever the program may. Avoid it.",
        call("call", "method", r"^(eval|instance_eval|class_eval)$", either(_RUBY_TEXT, {"regex": SENT.pattern})),
        grade=_rate_code,
    ),
    DangerRule(
        "ruby/template-from-text",
        Danger.own_code,
        "This runs text as a template, which is code; any part that comes from outside can do whatever the program "
        "may. Render a file, and pass the text as a value.",
        both(
            call("call", "method", r"^render$", {"kind": "pair", "regex": r"^(inline:|:inline\s*=>)"}),
            {"regex": rf"inline(:|\s*=>)[^,]*({SENT.pattern}|#\{{)"},
        ),
        grade=_rate_code,
    ),
    DangerRule(
        "ruby/unsafe-load",
        Danger.foreign_object,
        "Loading this can build any object, that is, run code from the data. Use YAML.safe_load or JSON.",
        both(
            pattern("YAML.load($$$A)", "YAML.unsafe_load($$$A)", "Psych.unsafe_load($$$A)", "Marshal.load($$$A)"),
            {"not": {"regex": r"Marshal\.dump|permitted_classes"}},
        ),
        grade=_rate_ruby_load,
    ),
    _sql("ruby", "Use placeholders, as where('name = ?', name).", "string", "heredoc_body", "binary"),
    _tls("ruby", "Use VERIFY_PEER.", pattern("OpenSSL::SSL::VERIFY_NONE")),
    DangerRule(
        "php/unserialize-input",
        Danger.foreign_object,
        "unserialize() builds any object that the data names, which runs code of its class. Use json_decode, or pass "
        "['allowed_classes' => false].",
        both(
            call("function_call_expression", "function", "^unserialize$", _argument({"regex": r"\$"})),
            {"not": {"regex": "allowed_classes|serialize\\(\\s*serialize"}},
        ),
        grade=_rate_php_load,
    ),
    DangerRule(
        "php/eval-variable",
        Danger.foreign_code,
        "eval() runs text as code; any part that comes from outside can do whatever the program may. Avoid it.",
        call(
            "function_call_expression",
            "function",
            "^(eval|create_function)$",
            _argument(either(_PHP_TEXT, _PHP_INPUT, {"regex": r"^\$code"})),
        ),
        grade=_rate_code,
    ),
    _command(
        "php",
        "Put escapeshellarg() around each value, or pass a list to proc_open.",
        both(
            call(
                "function_call_expression",
                "function",
                "^(system|exec|shell_exec|passthru|popen|proc_open)$",
                _argument(either(_PHP_TEXT, _PHP_INPUT)),
            ),
            {"not": {"regex": "escapeshell"}},
        ),
    ),
    _sql(
        "php",
        "Prepare it with placeholders.",
        "encapsed_string",
        "heredoc",
        "binary_expression",
        "function_call_expression",
    ),
    DangerRule(
        "php/include-input",
        Danger.file_inclusion,
        "The request chooses which file runs as code. Look the name up in a fixed list.",
        both(
            either(
                {"kind": "include_expression"},
                {"kind": "include_once_expression"},
                {"kind": "require_expression"},
                {"kind": "require_once_expression"},
            ),
            _PHP_INPUT,
        ),
    ),
    _tls(
        "php",
        "Leave both checks on; name the authority with CURLOPT_CAINFO.",
        both(
            call(
                "function_call_expression",
                "function",
                "^curl_setopt$",
                _argument({"regex": "CURLOPT_SSL_VERIFY(PEER|HOST)"}),
            ),
            {"regex": r"(?i),\s*(false|0)\s*\)$"},
        ),
    ),
    _command(
        "go",
        "Pass program and arguments one by one.",
        both(
            call("call_expression", "function", r"^exec\.Command(Context)?$", _GO_TEXT),
            {"regex": r"\"(/bin/)?(ba|z)?sh\",\s*\"-\w*c\""},
        ),
    ),
    _sql("go", "Use placeholders and pass the values.", "binary_expression", "call_expression"),
    _tls(
        "go",
        "Remove InsecureSkipVerify; name an own authority in RootCAs.",
        either(
            both({"kind": "keyed_element"}, {"regex": r"^InsecureSkipVerify:\s*true$"}),
            pattern("$C.InsecureSkipVerify = true"),
        ),
    ),
    _hash(
        "go", "Use bcrypt or argon2.", call("call_expression", "function", r"^(md5|sha1)\.Sum$", {"regex": "(?i)passw"})
    ),
    _command(
        "java",
        "The command is one text, so a value from outside can add arguments or another command. Use "
        "ProcessBuilder with a list.",
        both(
            call("method_invocation", "name", "^exec$", _JAVA_TEXT),
            {"regex": r"(?i)(getRuntime\(\)|\bruntime|\brt)\.exec"},
        ),
        says="",
    ),
    _sql("java", "Use a PreparedStatement with parameters.", "binary_expression", "method_invocation"),
    _tls(
        "java",
        "Use the default trust manager and host name verifier.",
        either(
            both(
                {"kind": "method_declaration"},
                {"has": {"field": "name", "regex": "^checkServerTrusted$"}},
                {"has": {"field": "body", "regex": r"^\{\s*\}$"}},
            ),
            both({"kind": "field_access"}, {"regex": r"^NoopHostnameVerifier\.INSTANCE$"}),
            both({"kind": "method_invocation"}, {"regex": r"setHostnameVerifier\(\(\w+,\s*\w+\)\s*->\s*true\)$"}),
        ),
    ),
    DangerRule(
        "java/weak-cipher",
        Danger.weak_cipher,
        "This cipher can be broken, or shows which blocks are equal. Use AES/GCM/NoPadding with a fresh nonce.",
        both(
            call(
                "method_invocation",
                "name",
                "^getInstance$",
                {"regex": r"(?i)^\"(des|desede|rc4|arcfour|\w+/ecb/\w+)(/|\"|$)|/ecb/"},
            ),
            {"regex": r"^Cipher\."},
        ),
    ),
    _command(
        "csharp",
        "The command is put together from text, so a value from outside can add arguments or another command. Use "
        "ProcessStartInfo.ArgumentList.",
        call("invocation_expression", "function", r"(^|\.)Process\.Start$", _CSHARP_TEXT),
        says="",
    ),
    _sql(
        "csharp",
        "Use parameters of the command.",
        "interpolated_string_expression",
        "binary_expression",
        "invocation_expression",
    ),
    DangerRule(
        "csharp/unsafe-formatter",
        Danger.foreign_object,
        "It builds any object that the data names, that is, runs code from the data. Use System.Text.Json.",
        both(
            {"kind": "object_creation_expression"},
            {
                "has": {
                    "field": "type",
                    "regex": r"(^|\.)(BinaryFormatter|SoapFormatter|NetDataContractSerializer|LosFormatter)$",
                }
            },
        ),
    ),
    _tls(
        "csharp",
        "Remove the callback.",
        either(
            both(
                {"kind": "assignment_expression"},
                {"has": {"field": "left", "regex": r"Server\w*Certificate\w*Callback$"}},
                {"has": {"field": "right", "regex": r"(=>|^delegate\b.*)\s*(true|\{\s*return true;\s*\})$"}},
            ),
            pattern("HttpClientHandler.DangerousAcceptAnyServerCertificateValidator"),
        ),
    ),
    DangerRule(
        "rust/unsafe-block",
        Danger.unchecked,
        "The compiler does not check memory in here. Say in a SAFETY comment why it is sound.",
        both(
            {"kind": "unsafe_block"},
            {"not": either(_JUSTIFIED, {"inside": {"kind": "expression_statement", **_JUSTIFIED}})},
        ),
    ),
    _command(
        "rust",
        "Pass the program and its arguments one by one.",
        pattern('$C.arg("-c").arg(format!($$$A))', '$C.arg("-c").arg(&format!($$$A))'),
    ),
    _sql("rust", "Use bind parameters.", "macro_invocation"),
    _tls(
        "rust",
        "Add the server's own authority as a root certificate instead.",
        pattern("$C.danger_accept_invalid_certs(true)", "$C.danger_accept_invalid_hostnames(true)"),
    ),
    DangerRule(
        "c/gets",
        Danger.overflow,
        "gets() writes past the buffer when a line is longer, and was removed from C. Use fgets with the size.",
        both({"kind": "call_expression"}, {"has": {"field": "function", "regex": "^(std::)?gets$"}}),
    ),
    DangerRule(
        "c/unbounded-copy",
        Danger.memory,
        "It writes past the target when the text is longer. Use snprintf, or check the length before.",
        either(
            both(
                _c_call("strcpy|strcat|stpcpy", _VALUE),
                {"has": {"field": "arguments", "has": {**_VALUE, "nthChild": 2}}},
            ),
            both(_c_call("sprintf|vsprintf", {"kind": "string_literal", "regex": "%s"})),
        ),
    ),
    DangerRule(
        "c/command-from-text",
        Danger.command_text,
        _SHELL + "Use execv or posix_spawn with a list.",
        _c_call("system|popen", both(_VALUE, {"nthChild": 1})),
    ),
    DangerRule(
        "c/format-from-variable",
        Danger.memory,
        'Whoever chooses this text can read and write memory with %n and %s. Write printf("%s", text).',
        either(
            _c_call(
                "printf|vprintf",
                _ALONE,
            ),
            _c_call("syslog", _LAST),
        ),
    ),
    DangerRule(
        "c/guessable-file",
        Danger.foreign_path,
        "Another program can create this name before you open it. Use mkstemp.",
        both({"kind": "call_expression"}, {"has": {"field": "function", "regex": "^(std::)?(tmpnam|tempnam|mktemp)$"}}),
    ),
)
BY_RULE = {each.rule: each for each in TABLE}

LANGUAGES = frozenset(language for each in TABLE for language in each.grammars)
"""The languages that the tables know something dangerous of."""


@dataclass(frozen=True)
class DangerHit:
    """A match: rule id, what it is, first and last line, counted from 1."""

    rule: str
    danger: Danger
    line: int
    end_line: int


def find_grammar(path: str) -> str | None:
    """The grammar for a file, by its name; None if there are no rules for it."""
    language = find_language(path)
    return language if language in LANGUAGES else None


def scan(grammar: str, text: str) -> list[DangerHit]:
    """All matches in a file, from the top, of each rule the gravest of a line."""
    hits: dict[tuple[str, int], DangerHit] = {}
    for hit in _match(SgRoot(text, grammar).root(), grammar):
        known = hits.setdefault((hit.rule, hit.line), hit)
        if rate(hit.danger).rank > rate(known.danger).rank:
            hits[hit.rule, hit.line] = hit
    return sorted(hits.values(), key=lambda hit: (hit.line, hit.rule))


def _match(root: SgNode, grammar: str) -> Iterator[DangerHit]:
    for rule in TABLE:
        if grammar not in rule.grammars:
            continue
        for node in root.find_all(cast(Any, {"rule": rule.shape})):
            danger = rule.danger if rule.grade is None else rule.grade(node)
            if danger is not None:
                place = node.range()
                yield DangerHit(rule.rule, danger, place.start.line + 1, place.end.line + 1)
