"""How grave each kind of danger is, and the texts of the most frequent rules: why they matter, what to do."""

from collections.abc import Sequence
from enum import StrEnum

from domain.review.findings import Severity
from domain.text.escaping import flatten_text


class Danger(StrEnum):
    """A kind of danger, as developers call it."""

    # Somebody else's text becomes code.
    sql_value = "a value put into the text of a statement of SQL"
    sql_text = "a list or a part put into the text of a statement of SQL"
    sql_foreign_name = "a name from outside, put into the text of a statement of SQL"
    sql_name = "a name put into the text of a statement of SQL"
    command = "a value put into the text of a command for a shell"
    command_text = "a command for a shell that may be put together elsewhere"
    foreign_code = "text from outside, evaluated as code"
    own_code = "text evaluated as code that may be the program's own"
    foreign_object = "objects of any class, built from data from outside"
    own_object = "objects of any class, built from a file that may be the program's own"
    file_inclusion = "a file run as code that the request chooses"
    open_script = "a script run from the network that anybody on the way can replace"
    remote_script = "a script run from the network"
    html = "a value put into HTML or a template as it is"
    debugger = "pages that let visitors run code"
    # Others can listen, or take a name.
    unchecked_tls = "a certificate or a key of a host that nobody checks"
    weak_cipher = "a cipher, hash or protocol that can be broken"
    open_workflow = "a workflow that strangers can use"
    exposed_secret = "a secret that everybody can read who gets the product"
    # Files and memory.
    overflow = "a write past the end of memory"
    memory = "memory that may be written past its end"
    foreign_path = "a path that others choose"
    lax_permission = "permissions that are wider than needed"
    unverified_package = "a program or package that nobody verified"
    every_right = "a workflow that may change everything here"
    open_right = "a workflow that strangers start, with whatever rights are usual here"
    lost_files = "files deleted where a variable is empty"
    # What is only worth a look.
    hanging = "a call that may never end"
    needless_right = "a right that a workflow does not need"
    exposed_port = "a service open to every network"
    unchecked = "code that neither compiler nor reader checked"


_ERRORS = frozenset(
    {
        Danger.sql_value,
        Danger.sql_foreign_name,
        Danger.command,
        Danger.foreign_code,
        Danger.foreign_object,
        Danger.file_inclusion,
        Danger.open_script,
        Danger.open_workflow,
        Danger.exposed_secret,
        Danger.overflow,
    }
)
_REMARKS = frozenset({Danger.exposed_port, Danger.needless_right, Danger.unchecked})


def rate(danger: Danger) -> Severity:
    """The severity of every finding of a kind."""
    if danger in _ERRORS:
        return Severity.error
    return Severity.info if danger in _REMARKS else Severity.warning


_LONGEST = 500

# Follows the tool's own sentence, which names the thing.
ADVICE = {
    "ruff/invalid-syntax": "Python cannot read this file, so nothing in it runs.",
    "oxlint/invalid-syntax": "JavaScript cannot read this file, so nothing in it runs.",
    "shellcheck/invalid-syntax": "The shell stops here.",
    "syntax/invalid-syntax": "Programs that read this file fail.",
    "ruff/F401": "Remove the import, or use it; if it is there for others to import, list it in `__all__`.",
    "ruff/F402": "The import cannot be reached afterwards; rename the loop variable.",
    "ruff/F601": "The last value wins and the others are lost; remove or rename the repeated key.",
    "ruff/F632": "`is` compares identity, which for literals depends on the interpreter; use `==`.",
    "ruff/F811": "The first definition can never be used; remove or rename one of them.",
    "ruff/F821": "Running this line raises a NameError; define or import the name, or correct its spelling.",
    "ruff/F822": "`from module import *` raises an AttributeError; define the name or take it out of `__all__`.",
    "ruff/F823": "It is assigned later in this function, so reading it here raises an UnboundLocalError.",
    "ruff/F841": "If its value does not matter, drop the assignment; otherwise this may be a misspelt name.",
    "ruff/B006": "It is made once and shared by all calls; use None and make it inside.",
    "ruff/B012": "It silently discards an exception that is on its way; move it out of the finally block.",
    "ruff/B015": "The result of this comparison is thrown away; was `=` or `assert` meant?",
    "ruff/B018": "The result of this expression is thrown away; was a call or an assignment meant?",
    "ruff/B023": "When the function runs, the variable has the value of the last round; bind it as a default argument.",
    "ruff/ASYNC210": "It blocks the event loop, so every other task waits; use an asynchronous client.",
    "ruff/ASYNC221": "It blocks the event loop, so every other task waits; use asyncio.create_subprocess_exec.",
    "ruff/ASYNC251": "It blocks the event loop, so every other task waits; use `await asyncio.sleep()`.",
    "ruff/RUF006": (
        "Only a weak reference is kept, so the task may vanish before it is done; keep it in a variable or a set."
    ),
    "ruff/PLE1205": (
        "The logging call prints a traceback instead of the message; make placeholders and arguments match."
    ),
    "ruff/PLE1206": (
        "The logging call prints a traceback instead of the message; make placeholders and arguments match."
    ),
    "ruff/T100": "It stops the program for ever where nobody can answer; remove it.",
    "zizmor/template-injection": (
        "Whoever controls this value controls the script. Pass it through `env:` and quote the variable."
    ),
    "zizmor/dangerous-triggers": (
        "It runs with the repository's secrets on code of strangers. Use `pull_request`, or never check out "
        "the head here."
    ),
    "zizmor/excessive-permissions": "Name the permissions each job needs in a `permissions:` block.",
    "zizmor/artipacked": (
        "The token stays in .git/config, where a later step or an artifact can leak it. Set "
        "`persist-credentials: false`."
    ),
    "zizmor/github-env": (
        "Whoever controls what is written here controls the environment of all later steps. Use outputs instead."
    ),
    "zizmor/secrets-inherit": "The called workflow gets every secret. Pass only those it needs.",
    "zizmor/bot-conditions": "`github.actor` can be spoofed. Check `github.event.pull_request.user.login`.",
}

# Replaces the tool's own sentence.
REPLACEMENTS = {
    "oxlint/no-eval": (
        "eval() runs any text as code, with all that the program may do. For data use JSON.parse, for anything else a "
        "parser."
    ),
    "oxlint/no-extend-native": (
        "Everything else in the same process gets this change of a built-in object, and may break by it. Write a "
        "function of your own."
    ),
    "oxlint/no-new-func": (
        "new Function() runs any text as code, with all that the program may do. For data use JSON.parse, for anything "
        "else a parser."
    ),
    "zizmor/unpinned-uses": (
        "This action is named by a tag or a branch, which its owner can move to other code at any time. Name the full "
        "commit SHA, with the version in a comment."
    ),
    "ruff/S102": (
        "exec() runs any text as code, so whoever can influence the text controls the program. Find a way without it."
    ),
    "ruff/S103": (
        "These permissions let other accounts change or run the file. Give only what is needed, e.g. 0o600 or 0o755."
    ),
    "ruff/S104": (
        "0.0.0.0 listens on all networks of the machine. Fine inside a container; otherwise bind to one address."
    ),
    "ruff/S108": (
        "A fixed name in a shared temporary folder can be planted by another account. Use the tempfile module."
    ),
    "ruff/S110": "Every exception is swallowed here, even unexpected ones. Catch the one you mean, or log it.",
    "ruff/S113": "Without a timeout this request can hang for ever, and the program with it. Pass timeout=.",
    "ruff/S201": (
        "With debug=True the error page lets visitors run code. Take it from the environment, off by default."
    ),
    "ruff/S202": "extractall() can write outside the target folder. Pass filter='data'.",
    "ruff/S301": "Loading a pickle runs code that its author chose. Use JSON for data that is not entirely your own.",
    "ruff/S302": "Loading marshal data from outside can crash or take over the interpreter. Use JSON.",
    "ruff/S306": "Another program can take this name before you open the file. Use tempfile.NamedTemporaryFile.",
    "ruff/S307": "eval() runs any text as code. For literals use ast.literal_eval, for anything else a parser.",
    "ruff/S323": (
        "This context does not check certificates, so anybody on the network can read and change the traffic."
    ),
    "ruff/S324": (
        "This hash is broken: collisions can be made. Use SHA-256; if it is not for security, say "
        "usedforsecurity=False."
    ),
    "ruff/S501": (
        "Certificates are not checked, so anybody on the network can read and change the traffic. Remove verify=False."
    ),
    "ruff/S506": "yaml.load can build any object, that is, run code from the document. Use yaml.safe_load.",
    "ruff/S507": (
        "Unknown host keys are accepted, so the server may be anybody. Load known hosts and use RejectPolicy."
    ),
    "ruff/S602": (
        "The command goes through a shell, so any part that comes from outside can run other commands. Pass a "
        "list and drop shell=True."
    ),
    "ruff/S605": (
        "The command goes through a shell, so any part that comes from outside can run other commands. Use "
        "subprocess.run with a list."
    ),
    "ruff/S701": (
        "Jinja2 does not escape HTML here, so a value can inject script. Pass autoescape=select_autoescape()."
    ),
}


def build_message(rule: str, said: str) -> str:
    """The message of a finding: bounded, without invisible characters.

    :param rule: full rule id.
    :param said: the tool's own sentence.
    """
    if rule in REPLACEMENTS:
        return REPLACEMENTS[rule]
    flat = shorten(said).rstrip(" .")
    return shorten(f"{flat}. {ADVICE[rule]}") if rule in ADVICE else flat + "."


def describe_rule(rule: str) -> str:
    """The text that all findings of a rule share; empty if there is none."""
    return REPLACEMENTS.get(rule) or ADVICE.get(rule, "")


def name_some(names: Sequence[str]) -> str:
    """The first three of some names, and how many more there are."""
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if names[3:] else "")


def shorten(text: str, limit: int = _LONGEST) -> str:
    """One line of at most ``limit`` characters."""
    flat = flatten_text(text[: 4 * limit])
    return flat if len(flat) <= limit else flat[: limit - 1] + "…"
