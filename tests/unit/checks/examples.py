"""Code that each rule of our own tables must find, and code that it must leave alone, by the rule's id."""

from collections.abc import Mapping
from typing import NamedTuple


class Examples(NamedTuple):
    """Of one rule."""

    bad: tuple[str, ...]
    good: tuple[str, ...]


PATTERNS: Mapping[str, Examples] = {
    "shell/curl-pipe": Examples(
        bad=(
            "curl -sSL https://get.site.org | sh",
            "wget -qO- https://site.org/x.sh | sudo -E bash -",
            "bash <(curl -s https://site.org/i.sh)",
            'sh -c "$(curl -fsSL https://site.org/install.sh)"',
            "curl https://site.org/get.py | python3 -",
            "curl -fsSL \\\n  https://site.org/i.sh \\\n  | bash",
        ),
        good=(
            "curl -sSL https://site.org/a.json | jq .name",
            "curl -o install.sh https://site.org/i.sh && sha256sum -c sums && sh install.sh",
            "# curl https://site.org | sh",
            'echo "install with curl https://site.org > x"',
            "curl https://site.org/d.json | python3 -m json.tool",
            "curl -s https://site.org | shasum -a 256",
            "curl http://site.org | sh",
        ),
    ),
    "shell/open-curl-pipe": Examples(
        bad=(
            "curl http://site.org/install.sh | sh",
            'wget -qO- "$URL" | sudo bash',
            "bash <(curl -s http://$HOST/i.sh)",
            "curl get.site.org | sh",
        ),
        good=(
            "curl -sSL https://get.site.org | sh",
            "curl http://localhost:8080/x.sh | sh",
            "*) echo \"Run 'curl -L get.site.org | bash' later\"",
            "curl http://site.org/a.json | jq .name",
        ),
    ),
    "shell/insecure-tls": Examples(
        bad=(
            "curl -k https://site.org/x",
            "curl -sSLk https://site.org/x -o y",
            "wget --no-check-certificate https://site.org/x",
            "git config --global http.sslVerify false",
            "pip install --trusted-host mirror.site.org thing",
        ),
        good=(
            "curl --cacert ca.pem https://site.org",
            "curl -sSL https://site.org/-k-/x",
            "curl -k https://localhost:8443/health",
            "wget https://site.org/x",
            "curl --keepalive-time 3 https://site.org",
            "git config http.sslVerify true",
        ),
    ),
    "pipfile/insecure-tls": Examples(
        bad=("verify_ssl = false", '  "verify_ssl"=false  # the certificate is old'),
        good=("verify_ssl = true", "# verify_ssl = false", 'note = "verify_ssl = false"'),
    ),
    "shell/world-writable": Examples(
        bad=("chmod 777 /srv/data", "chmod -R 0777 .", "RUN chmod a+rwx /app", "sudo chmod -R 777 x"),
        good=("chmod 755 x", "chmod +x run.sh", "chmod 1777 /tmp", "echo 777", "chmod u+rwx x"),
    ),
    "shell/eval-input": Examples(
        bad=(
            *("eval $1", 'eval "$cmd"', "if x; then eval $CMD; fi", 'eval "$@"', 'eval "sudo $command"'),
            'payload=$(curl -s http://site.org)\neval "$payload"',
            "cmd='ls'\ncmd=\"$cmd $1\"\neval $cmd",
            "cmd='ls'\nread -r cmd\neval $cmd",
        ),
        good=(
            'eval "$(ssh-agent -s)"',
            "eval $(minikube docker-env)",
            "evaluate $x",
            'echo "eval $x"',
            'eval "${name@Q}"',
            "# eval $1",
            "trace='echo \"$0\"'\neval $trace",
        ),
    ),
    "shell/eval-text": Examples(
        bad=("trace='echo \"$0\"'\neval $trace", "a='ls'; if x; then eval $a; fi"),
        good=("eval $1", 'eval "$cmd"', 'trace="echo $1"\neval $trace'),
    ),
    "shell/rm-empty-variable": Examples(
        bad=('rm -rf "$DIR"/', "rm -rf $DIR/*", 'rm -r -f "${BUILD_DIR}/"', 'cd x && rm -fr "$OUT"/*'),
        good=(
            'rm -rf "${DIR:?}"/',
            'rm -rf "$DIR"',
            'rm -rf "$DIR/build"',
            'set -euo pipefail\nrm -rf "$DIR"/*',
            "rm -rf build/*",
            'rm -f "$DIR"/x',
            "rm -rf /var/lib/apt/lists/*",
            'rm -rf /srv/"$DIR"/*',
        ),
    ),
    "shell/apt-unauthenticated": Examples(
        bad=(
            "apt-get install -y --allow-unauthenticated thing",
            'echo "deb [trusted=yes] http://site.org /" | tee /etc/apt/sources.list.d/x.list && sh x',
            "RUN yum install -y --nogpgcheck thing",
        ),
        good=(
            "apt-get install -y thing",
            "RUN apt-get update",
            "dnf install thing",
            'echo "deb [ trusted=yes ] file://$folder ./" > /etc/apt/sources.list.d/own.list',
            'echo "deb [signed-by=/k] https://x /"',
        ),
    ),
    "docker/secret-in-image": Examples(
        bad=(
            "ENV DB_PASSWORD=" + "hunter2",
            "ARG NPM_TOKEN",
            "ENV A=1 \\\n    API_KEY=abc",
            "ARG AWS_SECRET_ACCESS_KEY=x",
            "ENV SECRET_KEY thing",
        ),
        good=(
            "ENV DB_PASSWORD_FILE=/run/secrets/db",
            "ENV TOKENIZERS_PARALLELISM=false",
            "ARG VERSION=1",
            'ENV DB_PASSWORD=""',
            "ENV DB_PASSWORD=changeme",
            'ENV DB_PASSWORD="FillInCorrectPassword"',
            "RUN --mount=type=secret,id=token cat /run/secrets/token",
            "ENV PATH=/x:$PATH",
            "ENV KEYBOARD=us",
        ),
    ),
    "docker/latest-tag": Examples(
        bad=(
            "FROM python",
            "FROM python:latest AS build",
            "FROM --platform=linux/amd64 ghcr.io/a/b",
            "FROM host:5000/a/b",
        ),
        good=(
            "FROM python:3.12-slim",
            "FROM scratch",
            "FROM python@sha256:" + "0" * 64,
            "ARG BASE\nFROM $BASE",
            "FROM python:3 AS build\nFROM build",
            "FROM host:5000/a/b:1.2",
        ),
    ),
    "docker/root-user": Examples(
        bad=("FROM a:1\nUSER app\nUSER root\nCMD x", "FROM a:1\nUSER 0"),
        good=("FROM a:1\nUSER root\nRUN x\nUSER app", "FROM a:1\nCMD x", "FROM a:1\nUSER root\nFROM b:1\nUSER 1000"),
    ),
    "docker/add-url": Examples(
        bad=("ADD https://site.org/x.tar.gz /opt/", "ADD --chown=1 http://site.org/x /y"),
        good=(
            "ADD --checksum=sha256:00 https://site.org/x /y",
            "ADD x.tar.gz /opt/",
            "COPY x /y",
            "ADD https://host/a.git#v1 /src",
        ),
    ),
    "docker/sudo": Examples(
        bad=("RUN sudo apt-get update", "RUN apt-get update && sudo make install"),
        good=("RUN apt-get install -y sudo", "RUN apt-get update", "USER root"),
    ),
}
DANGERS: Mapping[str, Examples] = {
    "python/sql-from-text": Examples(
        bad=(
            "db.execute(f\"SELECT a FROM b WHERE c = '{d}'\")",
            'def f(d):\n    sql = "SELECT a FROM b WHERE c = \'" + d + "\'"\n    rows = db.execute(sql).fetchall()',
            "db.execute('DELETE FROM a WHERE b = %s' % c)",
            "db.execute('DELETE FROM a WHERE b = {}'.format(c))",
            "db.execute(text(f'SELECT a FROM {b}'))",
            "def f(d):\n    sql = \"SELECT a FROM b WHERE c = '%s'\"\n    db.execute(sql % d)",
            "def f(d):\n    sql = \"SELECT a FROM b WHERE c = '{}'\"\n    db.execute(sql.format(d))",
        ),
        good=(
            'sql = "SELECT a FROM b WHERE c = %d"\ndb.execute(sql % 5)',
            'def f(d):\n    sql = "SELECT a FROM b WHERE c = %s"\n    db.execute(sql, (d,))',
            'def f(d):\n    sql = "SELECT a FROM b WHERE c = %s"\n    print(sql % d)',
            "db.execute('SELECT a FROM b WHERE c = ?', (d,))",
            "db.execute('SELECT a FROM b WHERE c = %s', (d,))",
            "print(f\"SELECT a FROM b WHERE c = '{d}'\")",
            "db.execute('SELECT a ' 'FROM b')",
        ),
    ),
    "js/command-from-text": Examples(
        bad=("exec('ls ' + dir)", "cp.exec(`ls ${dir}`, done)", "child_process.execSync('ls ' + a.b)"),
        good=("exec('ls')", "/a/.exec('x' + y)", "execFile('ls', [dir])", "exec('a' + 'b')", "re.exec(`${a}`)"),
    ),
    "js/sql-from-text": Examples(
        bad=("db.query('SELECT * FROM a WHERE id = ' + id)", "db.query(`DELETE FROM a WHERE b = ${c}`, done)"),
        good=("db.query('SELECT a FROM b WHERE c = ?', [c])", "db.get(`/users/${id}`)", "sql`SELECT a FROM b ${c}`"),
    ),
    "js/html-from-text": Examples(
        bad=("a.innerHTML = '<b>' + name", "a.b.outerHTML = `<i>${x}</i>`", "document.write('<b>' + x)"),
        good=("a.innerHTML = ''", "a.textContent = '<b>' + name", "a.innerHTML = '<b>' + '</b>'"),
    ),
    "js/tls-unchecked": Examples(
        bad=("f({ rejectUnauthorized: false })", "process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0'"),
        good=("f({ rejectUnauthorized: true })", "f({ rejectUnauthorized: !dev })", "// rejectUnauthorized: false"),
    ),
    "js/weak-password-hash": Examples(
        bad=("h = createHash('md5').update(password)", 'crypto.createHash("sha1").update(u.passwd).digest()'),
        good=("createHash('md5').update(file)", "createHash('sha256').update(x)", "scrypt(password, salt, 64, done)"),
    ),
    "js/path-from-request": Examples(
        bad=("fs.readFile('./a/' + req.params.name, done)", "fs.createReadStream(path.join(d, req.query.f))"),
        good=("fs.readFile('./a', done)", "res.sendFile(path.basename(req.params.f))", "save(req.body)"),
    ),
    "ruby/command-from-text": Examples(
        bad=('system("ls #{x}")', "`ls #{x}`", 'IO.popen("ls " + x)'),
        good=(
            "system('ls', x)",
            "`ls`",
            'system("ls")',
            'system("ls #{x.shellescape}")',
            'system("tar", "--file=#{x}")',
            'Open3.capture2("git", "log", "--author=" + x)',
        ),
    ),
    "ruby/eval-text": Examples(
        bad=("eval(params[:code])", 'eval("x = #{y}")', "eval(request.body.read)"),
        good=("eval('1')", "instance_eval { x }", "instance_eval(&block)", "evaluate(params[:x])"),
    ),
    "ruby/template-from-text": Examples(
        bad=("render inline: params[:body]", 'render inline: "<p>#{x}</p>"', 'render inline: "Hello, #{x}"'),
        good=("render inline: '<%= @a %>'", "render template: params[:x]", "render json: params[:x]"),
    ),
    "ruby/unsafe-load": Examples(
        bad=("YAML.load(x)", "Marshal.load(cookie)", "YAML.unsafe_load(File.read(a))"),
        good=("YAML.safe_load(x)", "Marshal.load(Marshal.dump(x))", "JSON.parse(x)", "YAML.load_file(a)"),
    ),
    "ruby/sql-from-text": Examples(
        bad=("User.where(\"name = '#{name}'\")", 'c.execute("DELETE FROM a WHERE b = " + x)'),
        good=("User.where('name = ?', name)", "User.where(name: name)", 'run.execute("#{step}")'),
    ),
    "ruby/tls-unchecked": Examples(
        bad=("http.verify_mode = OpenSSL::SSL::VERIFY_NONE", "f(verify_mode: OpenSSL::SSL::VERIFY_NONE)"),
        good=("http.verify_mode = OpenSSL::SSL::VERIFY_PEER", "x = 'VERIFY_NONE'"),
    ),
    "php/unserialize-input": Examples(
        bad=("<?php $a = unserialize($_GET['a']);", "<?php unserialize(base64_decode($_COOKIE['a']));"),
        good=("<?php unserialize($row, ['allowed_classes' => false]);", "<?php json_decode($_GET['a']);"),
    ),
    "php/eval-variable": Examples(
        bad=("<?php eval($_POST['x']);", '<?php eval("return $x;");'),
        good=("<?php assert($a > 1);", "<?php $this->eval('x');", "<?php evaluate($_GET['x']);"),
    ),
    "php/command-from-text": Examples(
        bad=("<?php system('ls ' . $dir);", '<?php shell_exec("ls $dir");', "<?php exec($_GET['c']);"),
        good=("<?php system('ls');", "<?php exec('ls ' . escapeshellarg($d));", "<?php $db->exec('x' . $y);"),
    ),
    "php/sql-from-text": Examples(
        bad=('<?php $db->query("SELECT a FROM b WHERE c = $d");', "<?php mysqli_query($l, 'DELETE FROM a ' . $w);"),
        good=("<?php $db->prepare('SELECT a FROM b WHERE c = ?');", '<?php $http->query("/a/$b");'),
    ),
    "php/include-input": Examples(
        bad=("<?php include $_GET['page'];", "<?php require_once('pages/' . $_REQUEST['p'] . '.php');"),
        good=("<?php include 'a.php';", "<?php require $base . '/a.php';"),
    ),
    "php/tls-unchecked": Examples(
        bad=(
            "<?php curl_setopt($c, CURLOPT_SSL_VERIFYPEER, false);",
            "<?php curl_setopt($c, CURLOPT_SSL_VERIFYHOST, 0);",
        ),
        good=("<?php curl_setopt($c, CURLOPT_SSL_VERIFYPEER, true);", "<?php curl_setopt($c, CURLOPT_POST, 0);"),
    ),
    "go/command-from-text": Examples(
        bad=('exec.Command("sh", "-c", "ls "+dir)', 'exec.CommandContext(ctx, "bash", "-c", fmt.Sprintf("ls %s", d))'),
        good=('exec.Command("ls", "-l"+x)', 'exec.Command("sh", "-c", "ls")', 'exec.Command("git", "-C", "a"+b)'),
    ),
    "go/sql-from-text": Examples(
        bad=(
            'db.Query("SELECT a FROM b WHERE c = " + d)',
            "db.ExecContext(ctx, fmt.Sprintf(\"DELETE FROM a WHERE b = '%s'\", c))",
        ),
        good=('db.Query("SELECT a FROM b WHERE c = $1", d)', 'u.Query("a" + b)', 'db.Exec("SELECT a " + "FROM b")'),
    ),
    "go/tls-unchecked": Examples(
        bad=("f(tls.Config{InsecureSkipVerify: true})", "c.InsecureSkipVerify = true"),
        good=("f(tls.Config{InsecureSkipVerify: insecure})", "c.InsecureSkipVerify = false"),
    ),
    "go/weak-password-hash": Examples(
        bad=("h := md5.Sum([]byte(password))", "sha1.Sum([]byte(u.Passwd))"),
        good=("md5.Sum(data)", "sha256.Sum256([]byte(password))"),
    ),
    "java/command-from-text": Examples(
        bad=('Runtime.getRuntime().exec("ls " + dir);', 'runtime.exec("sh -c " + a.b());'),
        good=(
            'Runtime.getRuntime().exec(new String[] {"ls", dir});',
            'Runtime.getRuntime().exec("ls");',
            'q.exec("a" + b);',
        ),
    ),
    "java/sql-from-text": Examples(
        bad=(
            's.executeQuery("SELECT a FROM b WHERE c = \'" + d + "\'");',
            'em.createQuery("select a from B a where a.c=" + x);',
        ),
        good=('c.prepareStatement("SELECT a FROM b WHERE c = ?");', 'p.execute("task " + name);'),
    ),
    "java/tls-unchecked": Examples(
        bad=(
            "class T { public void checkServerTrusted(X[] c, String a) { } }",
            "b.setHostnameVerifier((h, s) -> true);",
            "b.f(NoopHostnameVerifier.INSTANCE);",
        ),
        good=(
            "class T { public void checkServerTrusted(X[] c, String a) { d.check(c); } }",
            "b.setHostnameVerifier(v);",
        ),
    ),
    "java/weak-cipher": Examples(
        bad=('Cipher.getInstance("DES");', 'Cipher.getInstance("AES/ECB/PKCS5Padding");'),
        good=('Cipher.getInstance("AES/GCM/NoPadding");', 'Thing.getInstance("DES");'),
    ),
    "csharp/command-from-text": Examples(
        bad=('Process.Start("cmd", "/c dir " + path);', 'Process.Start($"ls {x}");'),
        good=('Process.Start("cmd");', "Process.Start(info);", 'timer.Start("a" + b);'),
    ),
    "csharp/sql-from-text": Examples(
        bad=(
            'var c = new SqlCommand("SELECT a FROM b WHERE c = " + d, e);',
            'db.ExecuteSqlRaw($"DELETE FROM a WHERE b = {c}");',
        ),
        good=(
            'new SqlCommand("SELECT a FROM b WHERE c = @d", e);',
            'db.ExecuteSqlInterpolated($"DELETE FROM a WHERE b = {c}");',
        ),
    ),
    "csharp/unsafe-formatter": Examples(
        bad=("var f = new BinaryFormatter();", "new System.Web.UI.LosFormatter();"),
        good=("new JsonFormatter();", "var BinaryFormatter = 1;"),
    ),
    "csharp/tls-unchecked": Examples(
        bad=(
            "h.ServerCertificateCustomValidationCallback = (a, b, c, d) => true;",
            "h.C = HttpClientHandler.DangerousAcceptAnyServerCertificateValidator;",
        ),
        good=("h.ServerCertificateCustomValidationCallback = (a, b, c, d) => Check(b);", "h.Callback = x => true;"),
    ),
    "rust/unsafe-block": Examples(
        bad=("fn f() { unsafe { x() } }", "fn f() { let a = unsafe { *p }; }"),
        good=("fn f() { x() }", "fn f() {\n// SAFETY: checked\nunsafe { x() }\n}", "unsafe fn f() {}"),
    ),
    "rust/command-from-text": Examples(
        bad=(
            'fn f() { Command::new("sh").arg("-c").arg(format!("ls {}", d)); }',
            'fn f() { c.arg("-c").arg(&format!("ls {d}")); }',
        ),
        good=('fn f() { Command::new("ls").arg(format!("{}", d)); }', 'fn f() { c.arg("-c").arg("ls"); }'),
    ),
    "rust/sql-from-text": Examples(
        bad=(
            'fn f() { c.execute(&format!("DELETE FROM a WHERE b = {}", x), []); }',
            'fn f() { sqlx::query(&format!("SELECT a FROM {t}")); }',
        ),
        good=('fn f() { c.execute("DELETE FROM a WHERE b = ?1", [x]); }', 'fn f() { c.execute(format!("run {x}")); }'),
    ),
    "rust/tls-unchecked": Examples(
        bad=(
            "fn f() { b.danger_accept_invalid_certs(true).build(); }",
            "fn f() { b.danger_accept_invalid_hostnames(true); }",
        ),
        good=("fn f() { b.danger_accept_invalid_certs(false); }", "fn f() { b.accept(true); }"),
    ),
    "c/gets": Examples(
        bad=("void f() { gets(b); }", "void f() { if (gets(b)) x(); }"),
        good=("void f() { fgets(b, sizeof b, stdin); }", "void f() { a.gets(b); }"),
    ),
    "c/unbounded-copy": Examples(
        bad=("void f() { strcpy(a, b); }", "void f() { std::strcat(a, x->y); }", 'void f() { sprintf(a, "%s", b); }'),
        good=(
            'void f() { strcpy(a, "x"); }',
            'void f() { snprintf(a, n, "%s", b); }',
            'void f() { sprintf(a, "%d", b); }',
        ),
    ),
    "c/command-from-text": Examples(
        bad=("void f() { system(cmd); }", "void f() { std::system(s.c_str()); }", 'void f() { popen(c, "r"); }'),
        good=('void f() { system("ls"); }', "void f() { file_system(a); }", 'void f() { popen("ls", mode); }'),
    ),
    "c/format-from-variable": Examples(
        bad=("void f() { printf(s); }", "void f() { syslog(1, s); }"),
        good=('void f() { printf("%s", s); }', "void f() { printf(FORMAT_OF_X); }", "void f() { puts(s); }"),
    ),
    "c/guessable-file": Examples(
        bad=("void f() { char *n = tmpnam(0); }", "void f() { mktemp(t); }"),
        good=("void f() { mkstemp(t); }", "void f() { x.mktemp(t); }"),
    ),
}
