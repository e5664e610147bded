"""Dangers in JavaScript, TypeScript, Ruby and PHP."""

from agents.review.checks.dangers.rule import SQL, DangerRule, Shape, both, call, concatenate, either, inside, pattern
from domain.review.findings import Severity

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


JAVASCRIPT = (
    DangerRule(
        "js/command-from-text",
        _JS,
        Severity.warning,
        _SHELL + "Call execFile or spawn with a list of arguments.",
        call(
            "call_expression", "function", r"^(exec|execSync|\w*(child_process|cp)\w*\.exec|\w+\.execSync)$", _JS_TEXT
        ),
        bad=("exec('ls ' + dir)", "cp.exec(`ls ${dir}`, done)", "child_process.execSync('ls ' + a.b)"),
        good=("exec('ls')", "/a/.exec('x' + y)", "execFile('ls', [dir])", "exec('a' + 'b')", "re.exec(`${a}`)"),
    ),
    DangerRule(
        "js/sql-from-text",
        _JS,
        Severity.warning,
        _STATEMENT + "Pass the values as parameters of the query.",
        both(call("call_expression", "function", r"\.(query|execute|raw|run|all|get)$", _JS_TEXT), {"regex": SQL}),
        bad=("db.query('SELECT * FROM a WHERE id = ' + id)", "db.query(`DELETE FROM a WHERE b = ${c}`, done)"),
        good=("db.query('SELECT a FROM b WHERE c = ?', [c])", "db.get(`/users/${id}`)", "sql`SELECT a FROM b ${c}`"),
    ),
    DangerRule(
        "js/html-from-text",
        _JS,
        Severity.warning,
        "This writes text as HTML, so a value from outside can bring a script. Use textContent, or clean the value.",
        either(
            both(
                {"kind": "assignment_expression"},
                {"has": {"field": "left", "regex": r"\.(inner|outer)HTML$"}},
                {"has": {"field": "right", **_JS_TEXT}},
            ),
            call("call_expression", "function", r"^document\.write(ln)?$|\.insertAdjacentHTML$", _JS_TEXT),
        ),
        bad=("a.innerHTML = '<b>' + name", "a.b.outerHTML = `<i>${x}</i>`", "document.write('<b>' + x)"),
        good=("a.innerHTML = ''", "a.textContent = '<b>' + name", "a.innerHTML = '<b>' + '</b>'"),
    ),
    DangerRule(
        "js/tls-unchecked",
        _JS,
        Severity.warning,
        _TLS + "Remove this; if the server has its own authority, pass its certificate as `ca`.",
        either(
            both({"kind": "pair"}, {"regex": r"^[\"']?rejectUnauthorized[\"']?\s*:\s*false$"}),
            both({"kind": "assignment_expression"}, {"regex": r"NODE_TLS_REJECT_UNAUTHORIZED\W*=\s*[\"']?0[\"']?$"}),
        ),
        bad=("f({ rejectUnauthorized: false })", "process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0'"),
        good=("f({ rejectUnauthorized: true })", "f({ rejectUnauthorized: !dev })", "// rejectUnauthorized: false"),
    ),
    DangerRule(
        "js/weak-password-hash",
        _JS,
        Severity.warning,
        _HASH + "Use scrypt or argon2.",
        both(
            {"kind": "call_expression"},
            {"regex": r"(?i)createHash\([\"'](md5|sha1)[\"']\)\s*\.update\([^)]*passw[^)]*\)$"},
        ),
        bad=("h = createHash('md5').update(password)", 'crypto.createHash("sha1").update(u.passwd).digest()'),
        good=("createHash('md5').update(file)", "createHash('sha256').update(x)", "scrypt(password, salt, 64, done)"),
    ),
    DangerRule(
        "js/path-from-request",
        _JS,
        Severity.warning,
        "The request chooses the file, and `..` in it leaves the folder. Take its base name, or check the whole path.",
        call(
            "call_expression",
            "function",
            r"(^|\.)(readFile|readFileSync|createReadStream|writeFile|writeFileSync|unlink|sendFile)$",
            both({"regex": r"\breq(uest)?\.(params|query|body)\b"}, {"not": {"regex": r"basename\("}}),
        ),
        bad=("fs.readFile('./a/' + req.params.name, done)", "fs.createReadStream(path.join(d, req.query.f))"),
        good=("fs.readFile('./a', done)", "res.sendFile(path.basename(req.params.f))", "save(req.body)"),
    ),
)

_RUBY = ("ruby",)
RUBY = (
    DangerRule(
        "ruby/command-from-text",
        _RUBY,
        Severity.warning,
        _SHELL + "Pass the arguments one by one, as system('ls', folder).",
        either(
            both({"kind": "subshell"}, inside({"kind": "interpolation"}), {"not": {"regex": "shellescape|Shellwords"}}),
            both(
                call("call", "method", r"^(system|exec|spawn|popen|capture2e?|capture3)$", _RUBY_TEXT),
                {"not": {"regex": "shellescape|Shellwords"}},
            ),
        ),
        bad=('system("ls #{x}")', "`ls #{x}`", 'IO.popen("ls " + x)'),
        good=("system('ls', x)", "`ls`", 'system("ls")', 'system("ls #{x.shellescape}")'),
    ),
    DangerRule(
        "ruby/eval-text",
        _RUBY,
        Severity.warning,
        "This runs text as code; any part that comes from outside can do whatever the program may. Avoid it.",
        call("call", "method", r"^(eval|instance_eval|class_eval)$", either(_RUBY_TEXT, {"regex": r"^params\b"})),
        bad=("eval(params[:code])", 'eval("x = #{y}")'),
        good=("eval('1')", "instance_eval { x }", "instance_eval(&block)", "evaluate(params[:x])"),
    ),
    DangerRule(
        "ruby/unsafe-load",
        _RUBY,
        Severity.warning,
        "Loading this can build any object, that is, run code from the data. Use YAML.safe_load or JSON.",
        both(
            pattern("YAML.load($$$A)", "YAML.unsafe_load($$$A)", "Psych.unsafe_load($$$A)", "Marshal.load($$$A)"),
            {"not": {"regex": r"Marshal\.dump|permitted_classes"}},
        ),
        bad=("YAML.load(x)", "Marshal.load(cookie)", "YAML.unsafe_load(File.read(a))"),
        good=("YAML.safe_load(x)", "Marshal.load(Marshal.dump(x))", "JSON.parse(x)", "YAML.load_file(a)"),
    ),
    DangerRule(
        "ruby/sql-from-text",
        _RUBY,
        Severity.warning,
        _STATEMENT + "Use placeholders, as where('name = ?', name).",
        both(
            call("call", "method", r"^(where|find_by_sql|execute|select_all|exec_query|delete_all)$", _RUBY_TEXT),
            {"regex": r"(?i)(=|<|>|\blike\b|\bfrom\b|\bin\b)"},
        ),
        bad=("User.where(\"name = '#{name}'\")", 'c.execute("DELETE FROM a WHERE b = " + x)'),
        good=("User.where('name = ?', name)", "User.where(name: name)", 'run.execute("#{step}")'),
    ),
    DangerRule(
        "ruby/tls-unchecked",
        _RUBY,
        Severity.warning,
        _TLS + "Use VERIFY_PEER.",
        pattern("OpenSSL::SSL::VERIFY_NONE"),
        bad=("http.verify_mode = OpenSSL::SSL::VERIFY_NONE", "f(verify_mode: OpenSSL::SSL::VERIFY_NONE)"),
        good=("http.verify_mode = OpenSSL::SSL::VERIFY_PEER", "x = 'VERIFY_NONE'"),
    ),
)

_PHP = ("php",)
PHP = (
    DangerRule(
        "php/unserialize-input",
        _PHP,
        Severity.error,
        "unserialize() builds any object the request names, which runs code of its class. Use json_decode.",
        call("function_call_expression", "function", "^unserialize$", _argument(_PHP_INPUT)),
        bad=("<?php $a = unserialize($_GET['a']);", "<?php unserialize(base64_decode($_COOKIE['a']));"),
        good=("<?php unserialize($row);", "<?php json_decode($_GET['a']);"),
    ),
    DangerRule(
        "php/eval-variable",
        _PHP,
        Severity.warning,
        "eval() runs text as code; any part that comes from outside can do whatever the program may. Avoid it.",
        call(
            "function_call_expression",
            "function",
            "^(eval|create_function)$",
            _argument(either(_PHP_TEXT, _PHP_INPUT, {"regex": r"^\$code"})),
        ),
        bad=("<?php eval($_POST['x']);", '<?php eval("return $x;");'),
        good=("<?php assert($a > 1);", "<?php $this->eval('x');", "<?php evaluate($_GET['x']);"),
    ),
    DangerRule(
        "php/command-from-text",
        _PHP,
        Severity.warning,
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
        bad=("<?php system('ls ' . $dir);", '<?php shell_exec("ls $dir");', "<?php exec($_GET['c']);"),
        good=("<?php system('ls');", "<?php exec('ls ' . escapeshellarg($d));", "<?php $db->exec('x' . $y);"),
    ),
    DangerRule(
        "php/sql-from-text",
        _PHP,
        Severity.warning,
        _STATEMENT + "Prepare it with placeholders.",
        both(
            either(
                call("function_call_expression", "function", "^(mysqli?_query|pg_query)$", _argument(_PHP_TEXT)),
                call("member_call_expression", "name", "^(query|exec|prepare)$", _argument(_PHP_TEXT)),
            ),
            {"regex": SQL},
        ),
        bad=('<?php $db->query("SELECT a FROM b WHERE c = $d");', "<?php mysqli_query($l, 'DELETE FROM a ' . $w);"),
        good=("<?php $db->prepare('SELECT a FROM b WHERE c = ?');", '<?php $http->query("/a/$b");'),
    ),
    DangerRule(
        "php/include-input",
        _PHP,
        Severity.error,
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
        bad=("<?php include $_GET['page'];", "<?php require_once('pages/' . $_REQUEST['p'] . '.php');"),
        good=("<?php include 'a.php';", "<?php require $base . '/a.php';"),
    ),
    DangerRule(
        "php/tls-unchecked",
        _PHP,
        Severity.warning,
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
        bad=(
            "<?php curl_setopt($c, CURLOPT_SSL_VERIFYPEER, false);",
            "<?php curl_setopt($c, CURLOPT_SSL_VERIFYHOST, 0);",
        ),
        good=("<?php curl_setopt($c, CURLOPT_SSL_VERIFYPEER, true);", "<?php curl_setopt($c, CURLOPT_POST, 0);"),
    ),
)
