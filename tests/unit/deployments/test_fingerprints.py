"""Two reports have one fingerprint if they are about the same problem, and two if they are not."""

from datetime import UTC, datetime

import pytest

from domain.deployments.problems import AnomalyReport, fingerprint_stack, make_fingerprint
from domain.deployments.stack import Frame, parse_stack

PYTHON = """\
Traceback (most recent call last):
  File "/srv/app-20260501/shop/views.py", line 12, in total
    return price(amount)
  File "/srv/app-20260501/shop/app.py", line 3, in price
    return amount / 0
ZeroDivisionError: division by zero: order 81234 of "alice"
"""
NODE = """\
TypeError: Cannot read properties of undefined (reading 'id')
    at total (/srv/app/src/cart.js:12:5)
    at async Object.<anonymous> (file:///srv/app/src/index.js:3:1)
    at /srv/app/src/start.js:3:1
"""
JAVA = """\
Exception in thread "worker-17" java.lang.IllegalStateException: cart 9911 is closed
\tat com.shop.Cart.total(Cart.java:12)
\tat com.shop.Main.main(Main.java)
\tat java.base/jdk.internal.Invoker.invoke(Native Method)
"""
DOTNET = """\
System.InvalidOperationException: no
   at Shop.Cart.Total(Decimal amount) in C:\\build\\Shop\\Cart.cs:line 12
   at Shop.Program.Main(String[] args) in C:\\build\\Shop\\Program.cs:line 3
"""
GO = """\
panic: runtime error: index out of range [5] with length 3

goroutine 1 [running]:
main.total(0xc00001c0a8, 0x3)
\t/srv/app/main.go:12 +0x1d
main.main()
\t/srv/app/main.go:20 +0x1d
"""
RUBY = """\
app.rb:3:in `price': divided by 0 (ZeroDivisionError)
\tfrom app.rb:9:in `block in main'
"""
PHP = """\
PHP Fatal error:  Uncaught DivisionByZeroError: Division by zero in /srv/app.php:3
Stack trace:
#0 /srv/app.php(9): price(1, 'x')
#1 {main}
"""
RUST = """\
thread 'main' panicked at src/main.rs:4:5:
index out of bounds
   0: shop::total
             at ./src/main.rs:4:5
"""
ALL = {"python": PYTHON, "node": NODE, "java": JAVA, "dotnet": DOTNET, "go": GO, "ruby": RUBY, "php": PHP, "rust": RUST}


@pytest.mark.parametrize(
    ("language", "exception", "nearest"),
    [
        ("python", "ZeroDivisionError", Frame(path="/srv/app-20260501/shop/app.py", line=3, function="price")),
        ("node", "TypeError", Frame(path="/srv/app/src/cart.js", line=12, function="total")),
        ("java", "java.lang.IllegalStateException", Frame(path="Cart.java", line=12, function="com.shop.Cart.total")),
        (
            "dotnet",
            "System.InvalidOperationException",
            Frame(path="C:/build/Shop/Cart.cs", line=12, function="Shop.Cart.Total"),
        ),
        ("go", "panic", Frame(path="/srv/app/main.go", line=12, function="main.total")),
        ("ruby", "ZeroDivisionError", Frame(path="app.rb", line=3, function="price")),
        ("php", "DivisionByZeroError", Frame(path="/srv/app.php", line=9, function="price")),
        ("rust", "panic", Frame(path="./src/main.rs", line=4)),
    ],
)
def test_stacks_of_common_languages_are_read(language: str, exception: str, nearest: Frame) -> None:
    stack = parse_stack(ALL[language])
    assert (stack.exception, stack.frames[0]) == (exception, nearest)


def test_of_python_the_error_that_was_raised_last_counts() -> None:
    first = PYTHON.replace("ZeroDivisionError", "KeyError")
    text = f"{first}\nDuring handling of the above exception, another exception occurred:\n\n{PYTHON}"
    assert parse_stack(text) == parse_stack(PYTHON)


@pytest.mark.parametrize("language", ALL)
def test_languages_have_fingerprints_of_their_own(language: str) -> None:
    others = {name: fingerprint_stack(text) for name, text in ALL.items() if name != language}
    assert fingerprint_stack(ALL[language]) not in others.values()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (PYTHON, PYTHON.replace("line 3", "line 4").replace("line 12", "line 99")),
        (PYTHON, PYTHON.replace("20260501", "20260502")),
        (PYTHON, PYTHON.replace("81234", "5").replace('"alice"', '"bob"')),
        (NODE, NODE.replace(":12:5", ":13:7").replace("start.js:3:1", "start.js?v=81ab:4:1")),
        (NODE, NODE.replace("'id'", "'name'")),
        (JAVA, JAVA.replace("worker-17", "worker-3").replace("9911", "9912").replace("Cart.java:12", "Cart.java:13")),
        (GO, GO.replace("0xc00001c0a8", "0xc00009ffff").replace("+0x1d", "+0x2e").replace("[5]", "[6]")),
        ("out of memory at 0x7f12, job 17", "out of memory at 0x81aa, job 18"),
        ("no such user 'alice'", "no such user 'bob'"),
    ],
)
def test_what_differs_from_time_to_time_does_not_count(before: str, after: str) -> None:
    assert before != after
    assert fingerprint_stack(before) == fingerprint_stack(after)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (PYTHON, PYTHON.replace("ZeroDivisionError", "ValueError")),
        (PYTHON, PYTHON.replace("in price", "in discount")),
        (PYTHON, PYTHON.replace("shop/app.py", "shop/other.py")),
        (PYTHON, PYTHON.replace("in total", "in order")),
        (JAVA, JAVA.replace("com.shop.Cart.total", "com.shop.Cart.tax")),
        ("out of memory", "out of disk space"),
    ],
)
def test_other_errors_are_told_apart(one: str, other: str) -> None:
    assert fingerprint_stack(one) != fingerprint_stack(other)


def test_only_the_frames_next_to_the_error_count() -> None:
    deep = NODE + "    at serve (/srv/lib/serve.js:1:1)\n    at run (/srv/lib/run.js:1:1)\n"
    assert fingerprint_stack(f"{deep}    at one (/srv/a.js:1:1)\n") == fingerprint_stack(
        f"{deep}    at two (/srv/b.js:1:1)"
    )


@pytest.mark.parametrize(
    "text", ["", " ", "\n" * 100, "at " * 6_000, "a(" * 9_000, '"' * 19_999, "\0", "@:1:1" * 4_000]
)
def test_any_text_has_a_fingerprint(text: str) -> None:
    assert len(fingerprint_stack(text)) == 16


def _anomaly(environment: str = "production", metric: str = "error_rate", current: float = 0.2) -> AnomalyReport:
    at = datetime(2026, 5, 1, 12, tzinfo=UTC)
    return AnomalyReport(environment=environment, metric=metric, baseline=0.1, current=current, at=at)


def test_an_anomaly_is_its_environment_and_its_metric() -> None:
    found = [make_fingerprint(each) for each in (_anomaly(), _anomaly(current=0.9))]
    assert found[0] == found[1]
    assert make_fingerprint(_anomaly(environment="staging")) != found[0]
    assert make_fingerprint(_anomaly(metric="latency_p95")) != found[0]
