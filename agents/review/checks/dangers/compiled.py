"""Dangers in Go, Java, C#, Rust, C and C++."""

from agents.review.checks.dangers import statements
from agents.review.checks.dangers.rule import DangerRule, Shape, both, call, concatenate, either, inside, pattern
from agents.review.checks.dangers.statements import put_together
from agents.review.checks.rule_texts import Danger

_SHELL = "The command goes through a shell, so any part that comes from outside can run other commands. "
_STATEMENT = "This SQL is put together from text; a value from outside can change the statement. "
_TLS = "Certificates are not checked, so anybody on the network can read and change the traffic. "
_HASH = "A fast hash of a password can be reversed by trying. "

_GO_TEXT = either(
    concatenate("binary_expression", "identifier", "selector_expression"),
    both({"kind": "call_expression"}, {"regex": r"^fmt\.Sprintf\("}),
)
_GO = ("go",)
GO = (
    DangerRule(
        "go/command-from-text",
        _GO,
        Danger.command,
        _SHELL + "Pass program and arguments one by one.",
        both(
            call("call_expression", "function", r"^exec\.Command(Context)?$", _GO_TEXT),
            {"regex": r"\"(/bin/)?(ba|z)?sh\",\s*\"-\w*c\""},
        ),
        grade=statements.rate_command,
    ),
    DangerRule(
        "go/sql-from-text",
        _GO,
        Danger.sql_text,
        _STATEMENT + "Use placeholders and pass the values.",
        put_together("binary_expression", "call_expression"),
        grade=statements.rate_statement,
    ),
    DangerRule(
        "go/tls-unchecked",
        _GO,
        Danger.unchecked_tls,
        _TLS + "Remove InsecureSkipVerify; name an own authority in RootCAs.",
        either(
            both({"kind": "keyed_element"}, {"regex": r"^InsecureSkipVerify:\s*true$"}),
            pattern("$C.InsecureSkipVerify = true"),
        ),
    ),
    DangerRule(
        "go/weak-password-hash",
        _GO,
        Danger.weak_cipher,
        _HASH + "Use bcrypt or argon2.",
        call("call_expression", "function", r"^(md5|sha1)\.Sum$", {"regex": "(?i)passw"}),
    ),
)

_JAVA = ("java",)
_JAVA_TEXT = concatenate("binary_expression", "identifier", "method_invocation", "field_access")
JAVA = (
    DangerRule(
        "java/command-from-text",
        _JAVA,
        Danger.command,
        "The command is one text, so a value from outside can add arguments or another command. Use "
        "ProcessBuilder with a list.",
        both(
            call("method_invocation", "name", "^exec$", _JAVA_TEXT),
            {"regex": r"(?i)(getRuntime\(\)|\bruntime|\brt)\.exec"},
        ),
        grade=statements.rate_command,
    ),
    DangerRule(
        "java/sql-from-text",
        _JAVA,
        Danger.sql_text,
        _STATEMENT + "Use a PreparedStatement with parameters.",
        put_together("binary_expression", "method_invocation"),
        grade=statements.rate_statement,
    ),
    DangerRule(
        "java/tls-unchecked",
        _JAVA,
        Danger.unchecked_tls,
        _TLS + "Use the default trust manager and host name verifier.",
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
        _JAVA,
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
)

_CSHARP = ("csharp",)
_CSHARP_JOINED = either(
    both({"kind": "interpolated_string_expression"}, inside({"kind": "interpolation"})),
    concatenate("binary_expression", "identifier", "member_access_expression", "invocation_expression"),
)
_CSHARP_TEXT: Shape = {"kind": "argument", "has": dict(_CSHARP_JOINED)}
CSHARP = (
    DangerRule(
        "csharp/command-from-text",
        _CSHARP,
        Danger.command,
        "The command is put together from text, so a value from outside can add arguments or another command. Use "
        "ProcessStartInfo.ArgumentList.",
        call("invocation_expression", "function", r"(^|\.)Process\.Start$", _CSHARP_TEXT),
        grade=statements.rate_command,
    ),
    DangerRule(
        "csharp/sql-from-text",
        _CSHARP,
        Danger.sql_text,
        _STATEMENT + "Use parameters of the command.",
        put_together("interpolated_string_expression", "binary_expression", "invocation_expression"),
        grade=statements.rate_statement,
    ),
    DangerRule(
        "csharp/unsafe-formatter",
        _CSHARP,
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
    DangerRule(
        "csharp/tls-unchecked",
        _CSHARP,
        Danger.unchecked_tls,
        _TLS + "Remove the callback.",
        either(
            both(
                {"kind": "assignment_expression"},
                {"has": {"field": "left", "regex": r"Server\w*Certificate\w*Callback$"}},
                {"has": {"field": "right", "regex": r"(=>|^delegate\b.*)\s*(true|\{\s*return true;\s*\})$"}},
            ),
            pattern("HttpClientHandler.DangerousAcceptAnyServerCertificateValidator"),
        ),
    ),
)

_RUST = ("rust",)
_JUSTIFIED: Shape = {"follows": {"kind": "line_comment", "regex": "SAFETY"}}
RUST = (
    DangerRule(
        "rust/unsafe-block",
        _RUST,
        Danger.unchecked,
        "The compiler does not check memory in here. Say in a SAFETY comment why it is sound.",
        both(
            {"kind": "unsafe_block"},
            {"not": either(_JUSTIFIED, {"inside": {"kind": "expression_statement", **_JUSTIFIED}})},
        ),
    ),
    DangerRule(
        "rust/command-from-text",
        _RUST,
        Danger.command,
        _SHELL + "Pass the program and its arguments one by one.",
        pattern('$C.arg("-c").arg(format!($$$A))', '$C.arg("-c").arg(&format!($$$A))'),
        grade=statements.rate_command,
    ),
    DangerRule(
        "rust/sql-from-text",
        _RUST,
        Danger.sql_text,
        _STATEMENT + "Use bind parameters.",
        put_together("macro_invocation"),
        grade=statements.rate_statement,
    ),
    DangerRule(
        "rust/tls-unchecked",
        _RUST,
        Danger.unchecked_tls,
        _TLS + "Add the server's own authority as a root certificate instead.",
        pattern("$C.danger_accept_invalid_certs(true)", "$C.danger_accept_invalid_hostnames(true)"),
    ),
)

_C = ("c", "cpp")


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
C = (
    DangerRule(
        "c/gets",
        _C,
        Danger.overflow,
        "gets() writes past the buffer when a line is longer, and was removed from C. Use fgets with the size.",
        both({"kind": "call_expression"}, {"has": {"field": "function", "regex": "^(std::)?gets$"}}),
    ),
    DangerRule(
        "c/unbounded-copy",
        _C,
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
        _C,
        Danger.command_text,
        _SHELL + "Use execv or posix_spawn with a list.",
        _c_call("system|popen", both(_VALUE, {"nthChild": 1})),
    ),
    DangerRule(
        "c/format-from-variable",
        _C,
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
        _C,
        Danger.foreign_path,
        "Another program can create this name before you open it. Use mkstemp.",
        both({"kind": "call_expression"}, {"has": {"field": "function", "regex": "^(std::)?(tmpnam|tempnam|mktemp)$"}}),
    ),
)
