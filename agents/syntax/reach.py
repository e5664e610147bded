"""Decides what added code may reach beyond itself: processes, sockets, the environment, and text that becomes code."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from agents.syntax.trees import SyntaxNode

_WORDS = re.compile(r"string|template|heredoc|char_literal|rune_literal")
_QUOTED = re.compile(r"""^(?:[A-Za-z]{0,3})?(["'`]{1,3})(.*?)\1$""", re.DOTALL)
_PRIVATE = re.compile(
    r"/proc/|\.ssh\b|\.aws\b|\.netrc\b|\.npmrc\b|\.pypirc\b|\.git/|/etc/(passwd|shadow)|id_rsa|169\.254\.169"
)
"""Files that hold what only their owner should read, in the text of a program."""

_SAME_PLACE = {"typescript": "javascript", "tsx": "javascript", "kotlin": "java", "scala": "java", "cpp": "c"}

_MODULES = {
    "python": r"subprocess|socket|pty|pexpect|plumbum|sh|ctypes|cffi|runpy|code|marshal|pickle|shelve|dill|cloudpickle"
    r"|multiprocessing|concurrent\.futures\.process|urllib\.request|urllib3|http\.client|http\.server|socketserver"
    r"|requests|httpx|aiohttp|ftplib|smtplib|telnetlib|imaplib|poplib|xmlrpc|paramiko|fabric|invoke|websockets?"
    r"|asyncio\.subprocess|dotenv|keyring"
    r"|posix|nt|timeit|pdb|webbrowser|imp|pkgutil",
    "javascript": r"(node:)?(child_process|net|https?|http2|dgram|tls|dns|vm|worker_threads|cluster|repl|inspector"
    r"|module|ffi-napi|fs|process)(/.*)?|axios|got|node-fetch|undici|superagent|ws|execa|shelljs|zx|cross-spawn|dotenv|keytar",
    "go": r"os/exec|net|net/(rpc|smtp|textproto)|syscall|plugin|unsafe|C|golang\.org/x/sys/.*",
    "ruby": r"open3|socket|net/\w+|open-uri|pty|fiddle|drb|dotenv|faraday|httparty|rest-client",
    "lua": r"socket.*|ffi|posix.*|lfs",
}
"""Modules of which any use reaches out, by the language that imports them by name."""

_NAMES = {
    "python": r"os(\.(?!path\b|sep\b|linesep\b|fspath\b|PathLike\b|getcwd\b)[\w*]+)?"
    r"|open|getattr|setattr|delattr|vars|locals"
    r"|(\w+\.)*(__dict__|__getattribute__)|(pytest|unittest)\.main|shutil\.\w+|os\.(system|popen|exec\w+|spawn\w+|posix_spawnp?|fork\w*|startfile|kill\w*|environb?|getenvb?|putenv)"
    r"|(asyncio\.)?create_subprocess_\w+|asyncio\.(open_connection|start_server)|builtins(\.\w+)*|__builtins__(\.\w+)*"
    r"|importlib(\.\w+)*|sys\.modules|eval|exec|compile|__import__|globals|types\.(CodeType|FunctionType)"
    r"|(\w+\.)*(__globals__|__subclasses__|__builtins__|__code__|__reduce__)",
    "javascript": r"(globalThis\.|window\.)?(eval|Function|fetch|XMLHttpRequest|WebSocket|EventSource|WebAssembly\.\w+)"
    r"|process(\.\w+)*|Deno\.\w+|Bun\.\w+|(\w+\.)*constructor(\.\w+)*|Reflect\.\w+"
    r"|navigator\.sendBeacon|import\.meta\.env(\.\w+)*",
    "go": r"os\.(?!ReadFile\b|Open\b|Err\w*\b|IsNotExist\b)\w+"
    r"|reflect\.\w+|exec\.\w+|net\.(Dial\w*|Listen\w*)|syscall\.\w+"
    r"|plugin\.\w+|unsafe\.Pointer|http\.(Get|Post|PostForm|Head|Default\w+|ListenAndServe\w*|Client|Transport|Server|NewRequest\w*)(\.\w+)*",
    "java": r"(\w+\.)*(Runtime\.getRuntime|ProcessBuilder|System\.(getenv|load|loadLibrary)|ScriptEngineManager"
    r"|Class\.forName|URLClassLoader|defineClass|GroovyShell|ServerSocket|Socket|DatagramSocket|SocketChannel"
    r"|HttpURLConnection|HttpClient|openConnection|openStream|MethodHandles|ProcessHandle)(\.\w+)*|sys\.process(\.\w+)*",
    "ruby": r"ENV|(\w+\.)*(send|__send__|public_send|const_get|const_set)"
    r"|(Kernel\.)?(open|system|exec|spawn|fork|syscall|eval|instance_eval|class_eval|module_eval)|(IO\.)?popen\w*"
    r"|(::)?(Open3|Process|PTY|Socket|TCPSocket|TCPServer|UDPSocket|UNIXSocket|Net::HTTP|URI\.open|Marshal\.load|Faraday"
    r"|HTTParty|RestClient|Fiddle)((\.|::)\w+)*",
    "php": r"\\?(exec|shell_exec|system|passthru|proc_open|popen|pcntl_\w+|fsockopen|pfsockopen|stream_socket_\w+"
    r"|socket_\w+|curl_\w+|getenv|eval|create_function|unserialize|dl|mail|phpinfo)|\$_(ENV|SERVER)|\\?FFI(::\w+)*",
    "csharp": r"(\w+\.)*(Process|ProcessStartInfo|Socket|TcpClient|TcpListener|UdpClient|HttpClient|WebClient"
    r"|WebRequest|HttpListener|Environment\.(GetEnvironmentVariables?|ExpandEnvironmentVariables)|Assembly\.Load\w*|CSharpScript"
    r"|DllImport|LibraryImport|DynamicMethod)(\.\w+)*",
    "rust": r"(\w+::)*(Command|TcpStream|TcpListener|UdpSocket|UnixStream|UnixListener|process|net|libc|libloading"
    r"|reqwest|ureq|hyper)(::\w+)*|(std::)?env::\w+|option_env|env|asm|global_asm",
    "c": r"(std::|::)?(system|popen|_popen|exec[lv]p?e?|fork|vfork|posix_spawnp?|CreateProcess\w*|ShellExecute\w*"
    r"|WinExec|socket|connect|getaddrinfo|curl_\w+|getenv|secure_getenv|environ|dlopen|LoadLibrary\w*|asm|__asm__|syscall)",
    "swift": r"Process|NSTask|URLSession|getenv|ProcessInfo|dlopen|NSAppleScript|Socket|NWConnection",
    "lua": r"os\.(execute|getenv|exit)|io\.popen|load|loadstring|loadfile|dofile|package\.loadlib|debug\.\w+",
}
"""Names that reach out wherever they stand in a program of a language."""

_KINDS = {"ruby": frozenset({"subshell"}), "php": frozenset({"shell_command_expression"})}
"""Nodes that start a process without any name."""

_IMPORTED = {language: re.compile(rf"(?:{names})(?:\.\w+)*") for language, names in _MODULES.items()}
_REACHING = {language: re.compile(names) for language, names in _NAMES.items()}
_IMPORT_KINDS = frozenset({"import_statement", "import_from_statement", "import_declaration", "import_spec"})
_NAME = r"(?:::)?[$\\]?[A-Za-z_][\w$]*!?"
_CHAIN = re.compile(rf"{_NAME}(?: ?(?:\.|\?\.|::|->|\\) ?{_NAME})*")

_COMPUTED = re.compile(r"\b(?:require|import) \((?!(?: [\"'`])* \"\"(?: [\"'`])* \))")
"""A module whose name is computed."""
_WRITES = re.compile(r"(^|\.)(write_text|write_bytes|unlink|rmdir|symlink_to|hardlink_to)$")
_TEMPORARY = re.compile(r"_?te?mp", re.IGNORECASE)


def reaches_out(added: Iterable[SyntaxNode], tree: SyntaxNode, language: str) -> bool:
    """Whether added nodes of a file may start a process, open a socket, read the environment or evaluate text.

    Names are followed through the imports of the file, where these say plainly what a name stands for. A program of a
    shell does little else, so all of them may.

    :param tree: the whole file, for its imports.
    """
    place = _SAME_PLACE.get(language, language)
    if place not in _REACHING:
        return True
    known = _list_imports(tree, place)
    return any(_reaches_out(node, place, known) for node in added)


def _reaches_out(node: SyntaxNode, place: str, known: Mapping[str, str]) -> bool:
    leaves = [each for each in node.walk() if not each.children]
    if any(each.kind in _KINDS.get(place, ()) for each in node.walk()):
        return True
    if any(_PRIVATE.search(each.text) for each in leaves if _WORDS.search(each.kind)):
        return True
    if any(
        _takes_all(name, module) or _is_reaching_module(module, place)
        for name, module in _list_imports(node, place).items()
    ):
        return True
    if place == "javascript" and (_names_module(leaves) or _COMPUTED.search(_spell_without_texts(leaves))):
        return True
    imported = {id(leaf) for each in node.walk() if each.kind in _IMPORT_KINDS for leaf in each.walk()}
    leaves = [leaf for leaf in leaves if id(leaf) not in imported]
    chains = [*_list_chains(leaves)]
    if any(_WRITES.search(chain) for chain in chains) and not any(_TEMPORARY.match(leaf.text) for leaf in leaves):
        return True
    return any(_reaches(name, place) for chain in chains for name in (chain, _resolve(chain, known)))


def _takes_all(name: str, module: str) -> bool:
    """Whether an import takes every name of a module of the system, so that nothing says where a name comes from."""
    return (name == "." or module.endswith(".*")) and re.match(r"(os|sys|shutil|net|syscall)\b", module) is not None


def _names_module(leaves: Sequence[SyntaxNode]) -> bool:
    words = (leaf.text for leaf in leaves if _WORDS.search(leaf.kind))
    return any(_IMPORTED["javascript"].fullmatch(word.strip("\"'`")) for word in words)


def _spell_without_texts(leaves: Sequence[SyntaxNode]) -> str:
    return " ".join('""' if _WORDS.search(leaf.kind) else leaf.text for leaf in leaves)


def _reaches(name: str, place: str) -> bool:
    return _REACHING[place].fullmatch(name) is not None or _is_reaching_module(name, place)


def _is_reaching_module(name: str, place: str) -> bool:
    return place in _IMPORTED and _IMPORTED[place].fullmatch(name) is not None


def _list_chains(leaves: Sequence[SyntaxNode]) -> Iterator[str]:
    """The names that leaves spell, with all that stands before their last dot; texts are left out."""
    for chain in _CHAIN.findall(_spell_without_texts(leaves)):
        yield re.sub(r"\?\.|->", ".", chain.replace(" ", "")).rstrip("!")


def _resolve(chain: str, known: Mapping[str, str]) -> str:
    """The name with what its first part was imported as."""
    first, dot, rest = chain.partition(".")
    return f"{known[first]}{dot}{rest}" if first in known else chain


def _list_imports(tree: SyntaxNode, place: str) -> dict[str, str]:
    """Name in the file → the module, or what of it, that the name stands for."""
    known: dict[str, str] = {}
    for node in tree.walk():
        if place == "python" and node.kind in _IMPORT_KINDS:
            known |= _read_python(_spell(node))
        elif place == "go" and node.kind == "import_spec":
            alias, module = _read_quoted(node)
            known[alias or module.rsplit("/", 1)[-1]] = module
        elif place == "javascript" and (node.kind == "import_statement" or node.kind == "variable_declarator"):
            known |= _read_javascript(node)
        elif place in {"ruby", "lua", "javascript"} and node.kind in {"call", "function_call", "call_expression"}:
            called, module = _read_quoted(node)
            if called.split("(")[0].strip() in {"require", "import", "require_relative"}:
                known.setdefault(f'"{module}"', module or "module")
    return known


def _spell(node: SyntaxNode) -> str:
    return " ".join(each.text for each in node.walk() if not each.children)


def _read_quoted(node: SyntaxNode) -> tuple[str, str]:
    """What stands before the first text of a node, and that text."""
    before: list[str] = []
    for leaf in (each for each in node.walk() if not each.children):
        if _WORDS.search(leaf.kind) and leaf.text not in {'"', "'"}:
            quoted = _QUOTED.match(leaf.text)
            return " ".join(before), quoted[2] if quoted else leaf.text
        before += [] if leaf.text in {'"', "'"} else [leaf.text]
    return " ".join(before), ""


def _read_python(text: str) -> dict[str, str]:
    """The names of ``import a . b as c`` and ``from a import b as c``."""
    module, _, names = text.removeprefix("from ").partition(" import ") if text.startswith("from ") else ("", "", text)
    module = module.replace(" ", "")
    known: dict[str, str] = {}
    for part in names.removeprefix("import ").strip("() ").split(","):
        name, _, alias = part.strip(" ()").partition(" as ")
        name = name.replace(" ", "")
        whole = f"{module}.{name}" if module else name
        known[alias or (name if module else name.split(".")[0])] = whole if alias or module else name.split(".")[0]
        if not module and not alias:
            known[f"import {name}"] = name
    return {name: whole for name, whole in known.items() if whole}


def _read_javascript(node: SyntaxNode) -> dict[str, str]:
    """The names of ``import a, {b as c} from "m"`` and ``const {b: c} = require("m")``."""
    before, module = _read_quoted(node)
    if not module or not (before.startswith("import") or re.search(r"=\s*(await )?(require|import)\s*\($", before)):
        return {}
    plain = module.removeprefix("node:")
    pairs = re.findall(r"([\w$]+)(?: (?:as|:) ([\w$]+))?", re.sub(r"^import|=.*$|\bfrom\b|\* as|\btype\b", " ", before))
    return {alias or name: plain for name, alias in pairs}
