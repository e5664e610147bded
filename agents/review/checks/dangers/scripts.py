"""Dangers in Python, beside those that ruff finds, JavaScript, TypeScript, Ruby and PHP."""

import re

from ast_grep_py import SgNode

from agents.review.checks.dangers import statements
from agents.review.checks.dangers.rule import DangerRule, Shape, both, call, concatenate, either, inside, pattern
from agents.review.checks.dangers.statements import fill_by_name, put_together
from agents.review.checks.dangers.texts import SENT
from agents.review.checks.rule_texts import Danger

_JS = ("javascript", "typescript", "tsx")
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

_SHELL = "The command goes through a shell, so any part that comes from outside can run other commands. "
_STATEMENT = "This SQL is put together from text; a value from outside can change the statement. "
_TLS = "Certificates are not checked, so anybody on the network can read and change the traffic. "
_HASH = "A fast hash of a password can be reversed by trying. "


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


PYTHON = (
    DangerRule(
        "python/sql-from-text",
        ("python",),
        Danger.sql_text,
        _STATEMENT + "Use placeholders of the driver.",
        either(put_together("string", "concatenated_string", "binary_operator", "call"), fill_by_name()),
        grade=statements.rate_statement,
        silenced_by="S608",
    ),
)
JAVASCRIPT = (
    DangerRule(
        "js/command-from-text",
        _JS,
        Danger.command,
        _SHELL + "Call execFile or spawn with a list of arguments.",
        call(
            "call_expression", "function", r"^(exec|execSync|\w*(child_process|cp)\w*\.exec|\w+\.execSync)$", _JS_TEXT
        ),
        grade=statements.rate_command,
    ),
    DangerRule(
        "js/sql-from-text",
        _JS,
        Danger.sql_text,
        _STATEMENT + "Pass the values as parameters of the query.",
        put_together("template_string", "binary_expression"),
        grade=statements.rate_statement,
    ),
    DangerRule(
        "js/html-from-text",
        _JS,
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
    DangerRule(
        "js/tls-unchecked",
        _JS,
        Danger.unchecked_tls,
        _TLS + "Remove this; if the server has its own authority, pass its certificate as `ca`.",
        either(
            both({"kind": "pair"}, {"regex": r"^[\"']?rejectUnauthorized[\"']?\s*:\s*false$"}),
            both({"kind": "assignment_expression"}, {"regex": r"NODE_TLS_REJECT_UNAUTHORIZED\W*=\s*[\"']?0[\"']?$"}),
        ),
    ),
    DangerRule(
        "js/weak-password-hash",
        _JS,
        Danger.weak_cipher,
        _HASH + "Use scrypt or argon2.",
        both(
            {"kind": "call_expression"},
            {"regex": r"(?i)createHash\([\"'](md5|sha1)[\"']\)\s*\.update\([^)]*passw[^)]*\)$"},
        ),
    ),
    DangerRule(
        "js/path-from-request",
        _JS,
        Danger.foreign_path,
        "The request chooses the file, and `..` in it leaves the folder. Take its base name, or check the whole path.",
        call(
            "call_expression",
            "function",
            r"(^|\.)(readFile|readFileSync|createReadStream|writeFile|writeFileSync|unlink|sendFile)$",
            both({"regex": r"\breq(uest)?\.(params|query|body)\b"}, {"not": {"regex": r"basename\("}}),
        ),
    ),
)

_RUBY = ("ruby",)
RUBY = (
    DangerRule(
        "ruby/command-from-text",
        _RUBY,
        Danger.command,
        _SHELL + "Pass the arguments one by one, as system('ls', folder).",
        either(
            both({"kind": "subshell"}, inside({"kind": "interpolation"}), {"not": {"regex": "shellescape|Shellwords"}}),
            both(
                call("call", "method", r"^(system|exec|spawn|popen|capture2e?|capture3)$", _RUBY_TEXT),
                {"not": {"regex": "shellescape|Shellwords"}},
                {"not": {"has": {"field": "arguments", "has": both({"nthChild": 2}, _RUBY_WORD)}}},
            ),
        ),
        grade=statements.rate_command,
    ),
    DangerRule(
        "ruby/eval-text",
        _RUBY,
        Danger.own_code,
        "This runs text as code; any part that comes from outside can do whatever the program may. Avoid it.",
        call("call", "method", r"^(eval|instance_eval|class_eval)$", either(_RUBY_TEXT, {"regex": SENT.pattern})),
        grade=_rate_code,
    ),
    DangerRule(
        "ruby/template-from-text",
        _RUBY,
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
        _RUBY,
        Danger.foreign_object,
        "Loading this can build any object, that is, run code from the data. Use YAML.safe_load or JSON.",
        both(
            pattern("YAML.load($$$A)", "YAML.unsafe_load($$$A)", "Psych.unsafe_load($$$A)", "Marshal.load($$$A)"),
            {"not": {"regex": r"Marshal\.dump|permitted_classes"}},
        ),
        grade=_rate_ruby_load,
    ),
    DangerRule(
        "ruby/sql-from-text",
        _RUBY,
        Danger.sql_text,
        _STATEMENT + "Use placeholders, as where('name = ?', name).",
        put_together("string", "heredoc_body", "binary"),
        grade=statements.rate_statement,
    ),
    DangerRule(
        "ruby/tls-unchecked",
        _RUBY,
        Danger.unchecked_tls,
        _TLS + "Use VERIFY_PEER.",
        pattern("OpenSSL::SSL::VERIFY_NONE"),
    ),
)

_PHP = ("php",)
PHP = (
    DangerRule(
        "php/unserialize-input",
        _PHP,
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
        _PHP,
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
    DangerRule(
        "php/command-from-text",
        _PHP,
        Danger.command,
        _SHELL + "Put escapeshellarg() around each value, or pass a list to proc_open.",
        both(
            call(
                "function_call_expression",
                "function",
                "^(system|exec|shell_exec|passthru|popen|proc_open)$",
                _argument(either(_PHP_TEXT, _PHP_INPUT)),
            ),
            {"not": {"regex": "escapeshell"}},
        ),
        grade=statements.rate_command,
    ),
    DangerRule(
        "php/sql-from-text",
        _PHP,
        Danger.sql_text,
        _STATEMENT + "Prepare it with placeholders.",
        put_together("encapsed_string", "heredoc", "binary_expression", "function_call_expression"),
        grade=statements.rate_statement,
    ),
    DangerRule(
        "php/include-input",
        _PHP,
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
    DangerRule(
        "php/tls-unchecked",
        _PHP,
        Danger.unchecked_tls,
        _TLS + "Leave both checks on; name the authority with CURLOPT_CAINFO.",
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
)
