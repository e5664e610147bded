"""Follows README.md and docs/install.md's plain way from a clone to the first review in a browser."""

import re
import shlex
from collections.abc import Callable

from playwright.async_api import Error as PageError
from playwright.async_api import Page

from tests.install.known import INSTALL, README
from tests.install.page import find_block
from tests.install.reader import FORGE, BrokenPromiseError, Reader
from tests.world.browser import BROWSER, open_page
from tests.world.first_run import begin, choose, finish, press

_GIVEN = "apt-get update -qq && apt-get install -qq --yes --no-install-recommends python3 git make ca-certificates"
GITHUB = "http://127.0.0.1:8100"
"""Where docs/install.md lets the simulator listen."""
_SAMPLE = """
git init --quiet --initial-branch main /root/sample && cd /root/sample
git config user.name Ada && git config user.email ada@example.com
printf 'def total(prices: list[int]) -> int:\\n    return sum(prices)\\n' > cart.py
git add . && git commit --quiet --message Begin && git switch --quiet --create topic
printf '\\n\\ndef count(prices: list[int]) -> int:\\n    return len(prices)\\n' >> cart.py
"""
_ADDRESS = re.compile(r"https?://\S+/setup\S*")
NUMBER = 7
"""Of the pull request in README.md."""


async def follow(reader: Reader) -> None:
    """What README.md takes for granted, then its commands, and the steps below “Try it without GitHub”."""
    await reader.type(_GIVEN, "Python, git and make", stay=True)
    printed = await reader.type(_expect_code(reader.fill(INSTALL, "Plain"), 1), find_block(INSTALL, "Plain").name)
    reader.see("`forge doctor` says what is missing", "FORGE_APP_ID" in printed, printed)
    reader.see("the demo runs to its end", "ran to its end" in await reader.follow(README, "Try it"), "")
    await reader.type(_SAMPLE, "a repository to review", stay=True)
    await reader.follow(README, "Without a server")
    await _review_by_address(reader)
    await _try_without_github(reader)


def _expect_code(commands: str, code: int) -> str:
    """Commands of which the last one ends with this code."""
    return f"{commands.rstrip()} || test $? = {code}"


async def _review_by_address(reader: Reader) -> None:
    """`forge review --pr`, with the token of a person."""
    github = reader.github
    repository = github.create_repository(f"{reader.values['OWNER']}/{reader.values['REPO']}", {"a.py": "x = 1\n"})
    alice = github.user("alice")
    github.grant(repository, alice, "write")
    for number in range(1, NUMBER):
        await alice.open_issue(repository, f"Issue {number}")
    await alice.push(repository, "topic", {"a.py": "x = 1\nprint(eval(input()))\n"}, base="main")
    pull = await alice.open_pull_request(repository, "topic", title="Ask")
    assert pull.number == NUMBER
    reader.values = {**reader.values, "…": github.personal_token(alice)}
    commands = reader.fill(README, "Without a server", 2)
    settings = f"export FORGE_GITHUB_API_URL={github.api_url} FORGE_GITHUB_WEB_URL={github.url}"
    theirs = commands.partition(" #")[0].replace("https://github.com", github.url)
    ours = _expect_code(theirs.replace("GH_TOKEN", "GH_ENTERPRISE_TOKEN"), 1)
    printed = await reader.type(f"{settings}\n{ours}", "`forge review --pr`")
    reader.see("it finds what the pull request introduces", "a.py:2" in printed, printed)


async def _try_without_github(reader: Reader) -> None:
    """The two terminals, and the numbered steps below them."""
    simulator, serve = find_block(INSTALL, "Try it without GitHub").text.splitlines()
    for number, command in enumerate((simulator, serve), 1):
        terminal = f"nohup bash -c {shlex.quote(command)} >/root/terminal{number} 2>&1 &"
        await reader.type(terminal, f"“{command.partition(' #')[0].strip()}”")
    looked = "for i in $(seq 300); do grep -o 'http[^ ]*/setup[^ ]*' /root/terminal2 && break; sleep 0.2; done"
    address = _ADDRESS.search(await reader.type(looked, "the address that it prints"))
    reader.see(
        "`forge serve` prints the address of the set-up", address is not None, reader.machine.read("/root/terminal2")
    )
    assert address is not None
    try:
        async with open_page() as page:
            try:
                await _take_steps(page, address[0])
                await reader.wait_until_ready()
                await _propose_change(page)
                await _see_finding(reader, page)
                await _see_gate_wait(reader, page)
            except PageError as error:
                raise BrokenPromiseError(f"{error}\n{page.url}\n{await page.inner_text('body')}") from error
    finally:
        await BROWSER.close()


async def _take_steps(page: Page, address: str) -> None:
    """Steps 1 and 2."""
    await begin(page, address)
    await choose(page, name="Forge of Ada", web_url=GITHUB, public_url=FORGE)
    await press(page, "Continue on 127.0.0.1:8100")
    await press(page, "Create GitHub App for ada")
    await press(page, "Go on without a model")
    await finish(page)
    await page.get_by_role("link", name="Install the App on repositories").click()
    await page.get_by_label("ada/shop").check()
    await press(page, "Install")


async def _propose_change(page: Page) -> None:
    """Step 3."""
    await _edit(page, "shop/cart.py", lambda text: f"import os\n{text}", "topic")


async def _edit(page: Page, path: str, change: Callable[[str], str], branch: str) -> None:
    await page.goto(f"{GITHUB}/ada/shop")
    await page.locator(".row", has_text=path).get_by_role("link", name="Edit").click()
    box = page.locator("textarea[name=content]")
    await box.fill(change(await box.input_value()))
    await page.fill("input[name=new_branch]", branch)
    await press(page, "Commit changes")


async def _see_finding(reader: Reader, page: Page) -> None:
    """Load the page again until the finding is there, and look for the run on the dashboard (step 6)."""
    for _ in range(120):
        if await page.get_by_text("F401").count():
            break
        await page.wait_for_timeout(1000)
        await page.goto(f"{GITHUB}/ada/shop/pull/1")
    told = await page.inner_text("body")
    reader.see("the browser shows a finding on the pull request", "F401" in told, told)
    await page.goto(f"{FORGE}/dashboard")
    await page.get_by_role("link", name="Sign in with GitHub").click()
    await page.wait_for_url(f"{FORGE}/dashboard**")
    told = await page.inner_text("body")
    reader.see("the dashboard shows the repository", "ada/shop" in told, told)


async def _see_gate_wait(reader: Reader, page: Page) -> None:
    """Step 5, and what the dashboard says of the gate (step 6)."""
    await _edit(page, ".github/workflows/look.yml", lambda text: text.replace("nothing", "something"), "workflow")
    for _ in range(120):
        await page.goto(f"{FORGE}/dashboard/gates")
        if await page.get_by_text("protected_paths").count():
            break
        await page.wait_for_timeout(1000)
    told = await page.inner_text("body")
    reader.see("the dashboard shows the gate that waits, and why", "protected_paths" in told, told)
