"""Histories of agents, as their tools really answer: some that go in circles, and some that only look like it."""

from collections.abc import Sequence

from safety.guards import Iteration

History = Sequence[Iteration]


def steps(*turns: tuple[str, str]) -> History:
    """Turns of (action, output)."""
    return [Iteration(action=action, output=output) for action, output in turns]


def each(action: str, outputs: Sequence[str]) -> History:
    """The same action again and again."""
    return steps(*((action, output) for output in outputs))


def pytest_run(failing: Sequence[str], passed: int, seconds: float, folder: int = 0) -> str:
    shown = "\n".join(f"FAILED {name} - AssertionError: assert 3 == 4" for name in failing)
    return (
        "============================= test session starts ==============================\n"
        "platform linux -- Python 3.12.3, pytest-8.3.2, pluggy-1.5.0\nrootdir: /work/shop\n"
        f"collected {passed + len(failing)} items\n\ntests/test_cart.py {'.' * passed}{'F' * len(failing)}   [100%]\n"
        f"tmp_path = PosixPath('/tmp/pytest-of-forge/pytest-{folder}/test_total0')\n{shown}\n"
        f"==================== {len(failing)} failed, {passed} passed in {seconds:.2f}s ====================\n"
    )


def traceback(address: str, pid: int) -> str:
    return (
        f"[{pid}] Traceback (most recent call last):\n"
        '  File "/work/shop/app.py", line 42, in handle\n    return self.cart.total()\n'
        f"AttributeError: 'NoneType' object has no attribute 'total' (handler=<shop.Handler object at {address}>)\n"
        f"worker exited, pid {pid}\n"
    )


def build_log(second: int, lines: int = 25_000) -> str:
    """About 1 MB."""
    rows = (
        f"2026-03-01T12:{second:02}:{row % 60:02}.{row % 997:03}Z compile module_{row}.c ok" for row in range(lines)
    )
    return "\n".join(rows) + f"\nlinker: undefined reference to `cart_total'\nfailed after {second}.4s\n"


def poll_output(done: int, total: int = 14, status: str = "in_progress") -> str:
    return f'{{"status": "{status}", "conclusion": null, "jobs": {{"completed": {done}, "total": {total}}}}}'


def page(first: int) -> str:
    return "\n".join(
        f"{line:>5}\tdef handler_{line}(request: Request) -> Response:" for line in range(first, first + 40)
    )


def accounts(salt: int) -> str:
    rows = ",".join(f'{{"id": "{salt:08x}-1111-4111-8111-{row:012x}", "active": true}}' for row in range(8))
    return f'{{"items": [{rows}]}}'


TEST = "run_tests pytest -q tests/test_cart.py"
FAILING = ["tests/test_cart.py::test_total", "tests/test_cart.py::test_discount"]
FORTH = ('edit_file src/cart.py old="a + b" new="a - b"', "1 replacement in src/cart.py")
BACK = ('edit_file src/cart.py old="a - b" new="a + b"', "1 replacement in src/cart.py")
WORKER_DONE = [
    f"[gw{one}] [ {share}%] PASSED tests/test_{name}.py" for one, share, name in [(0, 33, "a"), (1, 66, "b")]
]

LOOPS: dict[str, History] = {
    "the same failing tests, each time in another temporary folder": each(
        TEST, [pytest_run(FAILING, 8, seconds, folder) for seconds, folder in [(0.31, 17), (0.29, 18), (1.04, 19)]]
    ),
    "the same command, each time announced in other words": [
        Iteration(thought, "run_command make build", "make: *** No rule to make target 'build'.  Stop.")
        for thought in (
            "Let me build the project.",
            "I should first make sure that it compiles.",
            "Before going on, a fresh build will show the state.",
        )
    ],
    "a change made and taken back": steps(FORTH, BACK, FORTH, BACK, FORTH, BACK),
    "two files read in turns": steps(
        *[("read_file src/cart.py", page(1)), ("read_file src/order.py", "class Order:\n    lines: list[Line]\n")] * 3
    ),
    "look, search, list, and again": steps(
        *[
            ("read_file README.md", "# Shop\n\nA shop."),
            ("grep total src", "src/cart.py:12:    def total(self) -> int:"),
            ("glob src/*.py", "src/cart.py\nsrc/order.py"),
        ]
        * 3
    ),
    "waiting for a runner that never comes": each(
        "get_check_run 17654321098",
        [
            f'{{"status": "queued", "elapsed": "{minutes}m 0{minutes}s", "now": "2026-03-01T12:0{minutes}:00Z"}}'
            for minutes in (1, 2, 3)
        ],
    ),
    "a request that is refused under a new id each time": each(
        'create_branch name="forge/fix-total"',
        [
            f"422 Reference already exists (request_id: {name}, at {when})"
            for name, when in [("9f2c41d07be3", "12:00:01"), ("03bb9e21fa77", "12:00:09"), ("77ae10c4d2f9", "12:00:31")]
        ],
    ),
    "a patch that does not apply, written to another file each time": [
        Iteration("", f"run_command git apply /tmp/tmp{name}.patch", "error: patch failed: src/cart.py:12", "patch")
        for name in ("k3v9x2", "p0q8zz", "a77b1c")
    ],
    "a crash at another address in another process": each(
        "run_command python -m shop",
        [traceback(*one) for one in [("0x7f3a10c4d2f0", 40213), ("0x7fd1aa02e910", 40377), ("0x7f00beef1230", 40412)]],
    ),
    "a huge log in which only the time moves": each("run_command make", [build_log(second) for second in (11, 23, 47)]),
    "parallel tests that report in another order": each(
        "run_tests pytest -n 2",
        [
            "\n".join([*WORKER_DONE, "2 passed, 1 failed in 1.2s"]),
            "\n".join([*WORKER_DONE[::-1], "2 passed, 1 failed in 1.4s"]),
            "\n".join([*WORKER_DONE, "2 passed, 1 failed in 1.1s"]),
        ],
    ),
    "the same tests with another flag": steps(
        ("pytest tests/test_cart.py", pytest_run(FAILING, 8, 0.3)),
        ("python -m pytest tests/test_cart.py", pytest_run(FAILING, 8, 0.4)),
        ("pytest tests/test_cart.py --no-header", pytest_run(FAILING, 8, 0.2)),
    ),
    "a server that never answers, with a counter": each(
        "run_command curl localhost:8000/health",
        [
            f"attempt {number}/3: connection refused (localhost:{port}), retry in {wait}s"
            for number, port, wait in [(1, 49152, 1), (2, 49160, 2), (3, 50211, 4)]
        ],
    ),
    "intentions and no deed": [
        Iteration(thought)
        for thought in (
            "I will now fix the discount test by updating the expected total.",
            "Now let me update the expected total so that the discount test is fixed.",
            "Next, I should fix the discount test: the expected total needs updating.",
        )
    ],
    "nothing at all": [Iteration(), Iteration(), Iteration()],
    "stuck after it had worked well": [
        *steps(("read_file src/cart.py", page(1)), FORTH, (TEST, pytest_run(FAILING, 8, 0.3))),
        *each(
            "run_linter src",
            ["src/cart.py:12:9: F841 unused variable", *["src/cart.py:12:9: F841 unused variable"] * 2],
        ),
    ],
    "the model's provider refuses each time": [
        Iteration("", "", f"400 invalid_request: messages.3 is empty (request id {number})", "BadRequest")
        for number in (881231, 881244, 881301)
    ],
    "jest": each(
        "run_command npm test",
        [
            "> shop@1.0.0 test\n> jest\n\nPASS src/a.test.js\nFAIL src/b.test.js\n  ● adds\n    Expected: 4\n"
            f"    Received: 3\n\nTests: 1 failed, 3 passed, 4 total\nTime: {took} s, estimated 2 s"
            for took in (1.234, 0.98, 2.001)
        ],
    ),
    "go test": each(
        "run_command go test ./...",
        [
            f"--- FAIL: TestTotal (0.0{n}s)\n    cart_test.go:12: got 3, want 4\nFAIL\tshop/cart\t0.01{n}s"
            for n in (0, 1, 2)
        ],
    ),
    "cargo": each(
        "run_command cargo build",
        [f"error[E0382]: borrow of moved value: `x`\n --> src/main.rs:4:20\n    Finished in {n}.2s" for n in (1, 3, 0)],
    ),
    "docker": each(
        "run_command docker build .",
        [f"#5 [2/4] RUN pip install foo\n#5 {n}.811 ERROR: No matching distribution found for foo" for n in (0, 1, 4)],
    ),
    "a pod that crashes and crashes": each(
        "run_command kubectl get pods",
        [f"shop-7d9f8b6c5-x2k4z 0/1 CrashLoopBackOff 5 ({n}s ago) {n // 6}m" for n in (10, 40, 55)],
    ),
}

UNSEEN_LOOPS: dict[str, History] = {
    "the same file read with another command": steps(
        *((f"run_command {command} src/cart.py", page(1)) for command in ("cat", "sed -n 1,40p", "head -n 40"))
    ),
    "a failure with a number that means nothing": each(
        TEST, [f"1 failed, 3 passed\npeak memory {kilobytes} KiB" for kilobytes in (81_234, 81_240, 80_998)]
    ),
    "ids of an unknown kind": each(
        "create_order",
        [f"error: conflict (reference {name})" for name in ("kx3-99a-pq1", "zz8-12b-mm0", "aa1-77c-xy9")],
    ),
}
"""What differs here could as well be news, so it passes; what a task may take bounds it all the same."""

FALSE_ALARMS: dict[str, History] = {
    "a command that goes on to the next commit, of which only the name is shown": each(
        "next_commit", [f"commit {sha} pending" for sha in ("1f2e3d4", "2f2e3d4", "3f2e3d4")]
    ),
    "a measurement that gets better by itself": each("profile", [f"slowest: {took} ms" for took in (900, 500, 100)]),
}
"""What tells here is what elsewhere differs every time."""

NO_LOOPS: dict[str, History] = {
    "fixing tests, one after the other": each(
        TEST, [pytest_run(FAILING, 8, 0.31), pytest_run(FAILING[:1], 9, 0.30), pytest_run([], 10, 0.29)]
    ),
    "edit and test until it works": steps(
        FORTH,
        (TEST, pytest_run(FAILING, 8, 0.3)),
        ('edit_file src/cart.py old="a - b" new="a * b"', "1 replacement in src/cart.py"),
        (TEST, pytest_run(FAILING, 8, 0.3)),
        ('edit_file src/cart.py old="a * b" new="b - a"', "1 replacement in src/cart.py"),
        (TEST, pytest_run(FAILING, 8, 0.3)),
    ),
    "another fix each time, and the same test fails": steps(
        *(
            (f'edit_file src/cart.py old="x" new="{new}"; {TEST}', pytest_run(FAILING, 8, 0.3))
            for new in ("y", "z + 1", "w")
        )
    ),
    "polling while jobs finish": each("get_check_run 17654321098", [poll_output(done) for done in (2, 5, 11, 14)]),
    "polling while the state moves": each(
        "get_check_run 17654321098",
        [poll_output(0, status="queued"), poll_output(0, status="in_progress"), poll_output(0, status="completed")],
    ),
    "polling what says how long it takes": each(
        "deployment_status production", [f"rolling out, about {left} minutes remaining" for left in (12, 8, 3)]
    ),
    "polling a build by its steps": each(
        "docker_status", [f"Step {step}/25 : RUN pip install -r requirements.txt" for step in (7, 8, 9)]
    ),
    "paging through a file": steps(
        *((f"read_file src/handlers.py offset={first} limit=40", page(first)) for first in (1, 41, 81, 121))
    ),
    "paging with the same command": each("next_page", [page(first) for first in (1, 41, 81)]),
    "paging through accounts that are nothing but ids": steps(
        *((f"http GET /api/accounts?page={number}", accounts(number)) for number in (1, 2, 3))
    ),
    "searching with other words": steps(
        *((f'grep pattern="{word}" path="src"', "No matches found.") for word in ("total", "sum_up", "amount"))
    ),
    "retrying with other arguments": steps(
        *(
            (f"run_command pip install {name}", "ERROR: No matching distribution found")
            for name in ("pil", "PIL", "pillow3")
        )
    ),
    "a longer time-out each time": steps(
        *((f"run_tests pytest tests/slow --timeout={seconds}", "1 error: timeout") for seconds in (30, 60, 120))
    ),
    "which branch holds a commit": steps(
        *((f"run_command git branch --contains {sha}", "* main") for sha in ("1f2e3d4c5b", "9a8b7c6d5e", "0f1e2d3c4b"))
    ),
    "writing one file after the other": steps(
        *((f"write_file src/{name}.py content=...", "ok") for name in ("cart", "order", "invoice", "tax"))
    ),
    "removing temporary files": steps(*((f"run_command rm /tmp/{name}", "") for name in ("a.txt", "b.txt", "c.txt"))),
    "features one after the other, with all tests passing": steps(
        *(
            (f'append_file src/cart.py text="def {name}(): ..."; {TEST}', pytest_run([], 10, 0.3))
            for name in ("add", "remove", "clear")
        )
    ),
    "lint positions that move on": each(
        "run_command fix-next-warning src/cart.py",
        [f"fixed src/cart.py:{line}:{column} E501 line too long" for line, column in [(10, 20), (31, 45), (47, 12)]],
    ),
    "twice the same, then something new": [
        *each(TEST, [pytest_run(FAILING, 8, 0.3)] * 2),
        *steps(("read_file src/cart.py", page(1))),
        *each(TEST, [pytest_run(FAILING, 8, 0.3)] * 2),
    ],
    "two rounds of look and test": steps(*[("git diff", "-a + b\n+a - b"), (TEST, pytest_run(FAILING, 8, 0.3))] * 2),
    "a plan, part by part": [
        Iteration(thought)
        for thought in (
            "The cart needs a discount: a percentage, applied before tax.",
            "The invoice shows both sums; its template gets a second column.",
            "A migration adds the column `discount` with zero as its default.",
        )
    ],
    "counting down what is left to do": [
        Iteration(f"{left} of the failing tests are left; I go on with the next failing test.") for left in (7, 6, 5)
    ],
    "bisecting": steps(
        ("git bisect bad", "Bisecting: 12 revisions left to test after this (roughly 4 steps)\n[1f2e3d4c5b] Add tax"),
        ("git bisect bad", "Bisecting: 5 revisions left to test after this (roughly 3 steps)\n[9a8b7c6d5e] Add order"),
        ("git bisect bad", "Bisecting: 2 revisions left to test after this (roughly 1 step)\n[0f1e2d3c4b] Add cart"),
    ),
    "a huge log whose end changes": each(
        "run_command make", [build_log(11) + f"error {number} of 3 fixed\n" for number in (1, 2, 3)]
    ),
    "following a log": each(
        "run_command tail -n 1 app.log",
        [f"2026-03-01T12:00:0{n}Z GET /{path} 200" for n, path in [(1, "cart"), (4, "order"), (8, "tax")]],
    ),
    "one account after the other": steps(
        *(
            (f"http POST /users name={name}", f'201 {{"id": "{n}f1c2d3e-1111-4111-8111-abcdefabcdef"}}')
            for n, name in enumerate(("ann", "bob", "cy"))
        )
    ),
    "different files that hold the same": steps(
        *(
            (
                f"read_file {name}/package.json",
                '{"private": true, "license": "MIT", "type": "module", "scripts": {"test": "jest", "lint": "eslint"}}',
            )
            for name in ("api", "web", "cli")
        )
    ),
    "versions tried one after the other": steps(
        *((f"run_command pip install foo=={version}", "ERROR: conflict") for version in ("1.0", "1.1", "1.2"))
    ),
    "coverage that rises": each(
        "run_command pytest --cov", [f"TOTAL 100 {100 - n} {n}%\n10 passed in 1.0s" for n in (80, 85, 90)]
    ),
    "one day after the other": each("next_event", [f"release on 2026-03-0{day}" for day in (1, 2, 3)]),
}
