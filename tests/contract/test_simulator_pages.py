"""The simulator's pages: what a browser sees, what its forms do, and what they refuse."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest

from simulator import Commit, Simulator
from simulator.gitstore import FileContent
from simulator.pages.html import element
from simulator.pages.markdown import Scope, render
from simulator.state import CheckRun, PullRequest, Repository, ReviewComment

CODE = "".join(f"line {number}\n" for number in range(1, 21))
CHANGED = CODE.replace("line 5\n", "line five\n").replace("line 6\n", "line six\n")
EVIL = "<script>alert(1)</script>"
NAME = "docs/<img src=x onerror=alert(1)>.md"
SHOP = "/octo-org/shop"
PULL = f"{SHOP}/pull/1"


@dataclass
class Browser:
    """A browser without cookies of its own: each request says who is acting."""

    client: httpx2.AsyncClient

    async def get(self, path: str, /, as_: str = "alice") -> httpx2.Response:
        return await self.client.get(path, headers={"Cookie": f"acting_as={as_}"})

    async def post(self, path: str, /, as_: str = "alice", **fields: Any) -> httpx2.Response:
        return await self.client.post(path, data=fields, headers={"Cookie": f"acting_as={as_}"})


@dataclass
class Scene:
    """alice (write) is the author, bob maintains, mallory is a stranger."""

    sim: Simulator
    repository: Repository
    pull: PullRequest
    browser: Browser

    def comment(self) -> ReviewComment:
        return self.sim.review_comments(self.pull)[0]

    async def suggest(self, body: str) -> ReviewComment:
        bob = self.sim.user("bob")
        return await bob.comment_on_line(self.pull, "cart.py", 6, body, start_line=5, start_side="RIGHT")

    async def call(self, path: str, body: object) -> Any:
        """As the App over its API."""
        headers = {"Authorization": f"token {self.sim.token(self.sim.install(self.repository))}"}
        async with httpx2.AsyncClient(base_url=self.sim.api_url, headers=headers) as github:
            made = await github.post(f"/repos{SHOP}{path}", json=body)
        assert made.status_code in (200, 201), made.text
        return made.json()

    async def deploy(self, sha: str, environment: str, state: str, **more: str) -> None:
        wanted = {"ref": sha, "environment": environment, "auto_merge": False}
        made = await self.call("/deployments", wanted)
        await self.call(f"/deployments/{made['id']}/statuses", {"state": state, **more})

    async def check(self, **more: Any) -> CheckRun:
        body = {"name": "Forge / review", "head_sha": self.pull.head_sha, "conclusion": "failure", **more}
        return self.sim.world.check_runs[(await self.call("/check-runs", body))["id"]]


@pytest.fixture
async def scene(tmp_path: Path) -> AsyncIterator[Scene]:
    async with Simulator(tmp_path) as sim:
        before: dict[str, FileContent] = {"cart.py": CODE, "README.md": "# Shop\n"}
        repository = sim.create_repository("octo-org/shop", before)
        sim.install(repository)
        alice, bob, _ = (sim.user(login) for login in ("alice", "bob", "mallory"))
        sim.grant(repository, alice, "write")
        sim.grant(repository, bob, "maintain")
        change = Commit(f"Change {EVIL}", {"cart.py": CHANGED, NAME: "text\n"})
        await alice.push_commits(repository, "feature/pay", [change], base="main")
        pull = await alice.open_pull_request(repository, "feature/pay", title=f"Pay {EVIL}", body=f"Hello {EVIL}")
        async with httpx2.AsyncClient(base_url=sim.url) as client:
            yield Scene(sim, repository, pull, Browser(client))


def find_unescaped(page: str) -> list[str]:
    """Elements that no page of ours has."""
    return re.findall(r"<(?:script|img|iframe|object|b onclick)[ >]", page)


PAGES = [
    "/",
    "/octo-org",
    "/alice",
    SHOP,
    PULL,
    f"{PULL}/files",
    f"{PULL}/files?on=cart.py&side=RIGHT&line=5",
    f"{PULL}/checks",
    f"{SHOP}/issues/2",
    f"{SHOP}/deployments",
    f"{SHOP}/compare/main...feature/pay",
    f"{SHOP}/blob/main/cart.py",
    f"{SHOP}/edit/feature%2Fpay/cart.py",
]


async def test_every_page_answers_and_escapes(scene: Scene) -> None:
    alice, output = scene.sim.user("alice"), {"title": EVIL, "summary": EVIL, "text": EVIL}
    await alice.open_issue(scene.repository, EVIL, EVIL, [EVIL])
    await alice.comment(scene.pull, f"{EVIL} <img src=x onerror=alert(1)>")
    await alice.review(scene.pull, "COMMENT", EVIL, [{"path": NAME, "line": 1, "body": EVIL}])
    note = {"start_line": 1, "end_line": 1, "annotation_level": "warning", "title": EVIL, "message": EVIL}
    button = {"label": "<b>x", "description": '"><script>', "identifier": '"><script>'}
    await scene.deploy(scene.pull.head_sha, EVIL, "failure", description=EVIL, log_url=f"javascript:{EVIL}")
    await scene.check(output={**output, "annotations": [{"path": NAME, **note}]}, actions=[button])
    for path in PAGES:
        answer = await scene.browser.get(path)
        assert (path, answer.status_code) == (path, 200)
        assert answer.headers["Content-Type"].startswith("text/html")
        assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
        assert (path, find_unescaped(answer.text)) == (path, [])


async def test_hostile_text_is_still_shown(scene: Scene) -> None:
    page = (await scene.browser.get(f"{PULL}/files")).text
    assert "Pay &lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "docs/&lt;img src=x onerror=alert(1)&gt;.md" in page


async def test_commit_page_is_reached_from_the_conversation(scene: Scene) -> None:
    found = re.search(rf'href="({SHOP}/commit/[0-9a-f]+)"', (await scene.browser.get(PULL)).text)
    assert found is not None
    page = await scene.browser.get(found[1])
    assert page.status_code == 200
    assert "+line five" in page.text
    assert find_unescaped(page.text) == []


async def test_git_still_works_beside_the_pages(scene: Scene) -> None:
    answer = await scene.browser.client.get(f"{SHOP}.git/info/refs?service=git-upload-pack")
    assert answer.status_code == 200
    assert "git-upload-pack" in answer.headers["Content-Type"]


@pytest.mark.parametrize(
    "path",
    ["/nobody", "/octo-org/none", f"{SHOP}/pull/99", f"{SHOP}/issues/99", f"{SHOP}/runs/9", f"{SHOP}/actions/runs/9"],
)
async def test_what_is_not_there_is_not_found(scene: Scene, path: str) -> None:
    assert (await scene.browser.get(path)).status_code == 404


async def test_private_repository_is_hidden_from_strangers(scene: Scene) -> None:
    secret = scene.sim.create_repository("octo-org/secret", private=True)
    scene.sim.grant(secret, scene.sim.user("bob"), "read")
    assert (await scene.browser.get("/octo-org/secret", as_="bob")).status_code == 200
    assert (await scene.browser.get("/octo-org/secret", as_="mallory")).status_code == 404
    assert "octo-org/secret" not in (await scene.browser.get("/", as_="mallory")).text


async def test_switching_sets_a_cookie_and_names_the_role(scene: Scene) -> None:
    answer = await scene.browser.client.post("/acting", data={"login": "bob", "back": PULL})
    assert (answer.status_code, answer.headers["Location"]) == (303, PULL)
    assert "acting_as=bob" in answer.headers["Set-Cookie"]
    page = (await scene.browser.get(PULL, as_="bob")).text
    assert 'Acting as <b>bob</b> <span class="quiet">maintainer (maintain)</span>' in page
    assert "author · collaborator (write)" in page
    assert "stranger (read)" in page


async def test_somebody_new_is_a_stranger(scene: Scene) -> None:
    await scene.browser.client.post("/acting", data={"other": "eve", "back": PULL})
    assert scene.repository.role_of(scene.sim.user("eve").account) == "read"
    assert (await scene.browser.client.post("/acting", data={"other": "<eve>"})).status_code == 422


async def test_switching_leads_nowhere_else(scene: Scene) -> None:
    for back in ("//evil.example", "https://evil.example", "/\\evil.example"):
        answer = await scene.browser.client.post("/acting", data={"login": "bob", "back": back})
        assert answer.headers["Location"] == "/"


async def test_comment_and_reaction(scene: Scene) -> None:
    answer = await scene.browser.post(f"{PULL}/comment", as_="mallory", body="@forge status")
    comment = scene.pull.comments[0]
    assert answer.headers["Location"] == f"{PULL}#issuecomment-{comment.id}"
    assert (comment.user.login, comment.body) == ("mallory", "@forge status")
    await scene.browser.post(f"{PULL}/react", subject=f"issuecomment-{comment.id}", content="eyes")
    assert [reaction.user.login for reaction in comment.reactions] == ["alice"]
    assert 'title="alice">👀 1' in (await scene.browser.get(PULL)).text
    assert (await scene.browser.post(f"{PULL}/comment", body=" ")).status_code == 422


async def test_thread_is_begun_answered_and_resolved(scene: Scene) -> None:
    place = {"path": "cart.py", "side": "RIGHT", "line": "6", "start_line": "5"}
    answer = await scene.browser.post(f"{PULL}/line", as_="bob", body="Why?", **place)
    comment = scene.comment()
    assert answer.headers["Location"] == f"{PULL}/files#discussion_r{comment.id}"
    assert (comment.start_line, comment.line) == (5, 6)
    await scene.browser.post(f"{PULL}/reply", comment=comment.id, body="Because.")
    assert [item.body for item in comment.thread.comments] == ["Why?", "Because."]
    await scene.browser.post(f"{PULL}/resolve", thread=comment.thread.id, resolved="yes")
    assert comment.thread.resolved
    assert "Resolved by" in (await scene.browser.get(PULL)).text
    await scene.browser.post(f"{PULL}/resolve", thread=comment.thread.id, resolved="no")
    assert not comment.thread.resolved


async def test_comment_off_the_diff_is_refused_with_the_reason(scene: Scene) -> None:
    answer = await scene.browser.post(f"{PULL}/line", path="cart.py", side="RIGHT", line="19", body="Why?")
    assert answer.status_code == 422
    assert "must be part of the diff" in answer.text


@pytest.mark.parametrize("fence", ["```", "````"])
async def test_suggestion_is_shown_and_applied(scene: Scene, fence: str) -> None:
    comment = await scene.suggest(f"Better:\r\n\r\n{fence}suggestion\r\nline 5+6\r\n{fence}\r\n")
    page = (await scene.browser.get(PULL)).text
    for line in ("-line five", "-line six", "+line 5+6"):
        assert f">{line}</td>" in page
    await scene.browser.post(f"{PULL}/apply", comment=comment.id)
    content = scene.repository.git.read(scene.pull.head_sha, "cart.py")
    assert content == CODE.replace("line 5\nline 6\n", "line 5+6\n").encode()
    assert "Outdated" in (await scene.browser.get(PULL)).text


async def test_review_is_submitted(scene: Scene) -> None:
    await scene.browser.post(f"{PULL}/review", as_="bob", event="APPROVE", body="Fine")
    assert [review.state for review in scene.sim.reviews(scene.pull)] == ["APPROVED"]
    own = await scene.browser.post(f"{PULL}/review", event="APPROVE", body="Fine")
    assert own.status_code == 422
    assert "Can not approve your own pull request" in own.text


async def test_draft_close_reopen_and_merge(scene: Scene) -> None:
    await scene.browser.post(f"{PULL}/ready", ready="no")
    assert scene.pull.draft
    assert "Merge pull request" not in (await scene.browser.get(PULL)).text
    await scene.browser.post(f"{PULL}/ready", ready="yes")
    await scene.browser.post(f"{PULL}/state", state="closed")
    assert scene.pull.state == "closed"
    await scene.browser.post(f"{PULL}/state", state="open")
    await scene.browser.post(f"{PULL}/merge", as_="bob")
    assert scene.pull.merged_by is scene.sim.user("bob").account
    assert "Merged" in (await scene.browser.get(PULL)).text


async def test_labels_of_an_issue(scene: Scene) -> None:
    await scene.browser.post(f"{SHOP}/issues", title="A bug", body="It breaks")
    address = f"{SHOP}/issues/2"
    await scene.browser.post(f"{address}/labels", as_="bob", add="forge:plan")
    assert "forge:plan" in (await scene.browser.get(address)).text
    await scene.browser.post(f"{address}/labels", as_="bob", remove="forge:plan")
    assert scene.repository.issues[2].labels == []
    await scene.browser.post(f"{address}/state", state="closed")
    assert scene.repository.issues[2].state == "closed"


async def test_check_is_shown_pressed_and_run_again(scene: Scene) -> None:
    button = {"label": "Review again", "description": "Start anew", "identifier": "review"}
    note = {"path": "cart.py", "start_line": 5, "end_line": 6, "annotation_level": "failure", "message": "Wrong"}
    output = {"title": "2 findings", "summary": "**Next:** fix", "annotations": [note]}
    run = await scene.check(output=output, actions=[button])
    moved = await scene.browser.get(f"{SHOP}/runs/{run.id}")
    page = (await scene.browser.get(moved.headers["Location"])).text
    for shown in ("2 findings", "<strong>Next:</strong> fix", "Wrong", "Review again", "Re-run"):
        assert shown in page
    assert "Wrong" in (await scene.browser.get(f"{PULL}/files")).text
    await scene.browser.post(f"{PULL}/press", as_="mallory", run=run.id, identifier="review")
    await scene.browser.post(f"{PULL}/rerun", run=run.id)
    actions = [item.payload["action"] for item in scene.sim.deliveries if item.event == "check_run"]
    assert actions[-2:] == ["requested_action", "rerequested"]
    assert (await scene.browser.post(f"{PULL}/press", run=run.id, identifier="none")).status_code == 422


async def test_check_of_an_earlier_head_is_still_found(scene: Scene) -> None:
    run = await scene.check(name="Old", output={"title": "Was wrong", "summary": "S"})
    await scene.sim.user("alice").push(scene.repository, "feature/pay", {"README.md": "# New\n"})
    assert "Was wrong" not in (await scene.browser.get(f"{PULL}/checks")).text
    moved = await scene.browser.get(f"{SHOP}/runs/{run.id}")
    assert "Was wrong" in (await scene.browser.get(moved.headers["Location"])).text


async def test_checks_load_again_only_while_one_is_under_way(scene: Scene) -> None:
    assert 'http-equiv="refresh"' in (await scene.browser.get(f"{PULL}/checks")).text
    await scene.check()
    assert 'http-equiv="refresh"' not in (await scene.browser.get(f"{PULL}/checks")).text


async def test_edited_file_is_committed_to_the_head_branch(scene: Scene) -> None:
    address = f"{SHOP}/edit/feature%2Fpay/cart.py"
    assert "\nline 1\n" in (await scene.browser.get(address)).text
    answer = await scene.browser.post(address, content="line 1\r\n", message="Shorten")
    assert answer.headers["Location"] == PULL
    assert scene.repository.git.read(scene.pull.head_sha, "cart.py") == b"line 1\n"


STRANGERS: list[tuple[str, dict[str, str]]] = [
    ("state", {"state": "closed"}),
    ("ready", {"ready": "no"}),
    ("merge", {}),
    ("labels", {"add": "bug"}),
    ("resolve", {"resolved": "yes"}),
    ("apply", {}),
]


@pytest.mark.parametrize(("verb", "fields"), STRANGERS)
async def test_stranger_is_refused(scene: Scene, verb: str, fields: dict[str, str]) -> None:
    comment = await scene.suggest("```suggestion\nx\n```")
    before, head = vars(scene.pull).copy(), scene.pull.head_sha
    marks = {"comment": str(comment.id), "thread": str(comment.thread.id)}
    answer = await scene.browser.post(f"{PULL}/{verb}", as_="mallory", **marks, **fields)
    assert answer.status_code == 403
    assert "mallory has read on octo-org/shop" in answer.text
    assert (vars(scene.pull), comment.thread.resolved, scene.pull.head_sha) == (before, False, head)
    assert (await scene.browser.post(f"{PULL}/{verb}", **marks, **fields)).status_code == 303


async def test_a_file_is_changed_on_a_new_branch_and_proposed(scene: Scene) -> None:
    assert f'href="{SHOP}/edit/main/cart.py"' in (await scene.browser.get(SHOP)).text
    edit = f"{SHOP}/edit/main/cart.py"
    answer = await scene.browser.post(edit, content="x = 1\n", message="Say less", new_branch="less")
    assert answer.headers["Location"] == f"{SHOP}/pull/2"
    pull = scene.sim.world.all_pulls()[-1]
    assert (pull.title, pull.head_ref, pull.base_ref, pull.user.login) == ("Say less", "less", "main", "alice")
    refused = await scene.browser.post(edit, as_="mallory", content="x", new_branch="mine")
    assert (refused.status_code, scene.repository.git.branch("mine")) == (403, None)


async def test_a_branch_that_somebody_pushed_is_proposed(scene: Scene) -> None:
    await scene.sim.user("alice").push(scene.repository, "from-git", {"cart.py": "x = 2\n"}, "Say more", base="main")
    compared = f"{SHOP}/compare/main...from-git"
    assert f'href="{compared}"' in (await scene.browser.get(SHOP)).text
    page = (await scene.browser.get(compared)).text
    assert 'value="Say more"' in page
    answer = await scene.browser.post(compared, title="Say more", body="As asked.")
    assert answer.headers["Location"] == f"{SHOP}/pull/2"
    pull = scene.sim.world.all_pulls()[-1]
    assert (pull.title, pull.body, pull.head_ref, pull.base_ref) == ("Say more", "As asked.", "from-git", "main")
    assert (await scene.browser.post(compared, title="Again")).status_code == 422
    sha = scene.repository.git.branch("from-git")
    assert "Open pull request" not in (await scene.browser.get(f"{SHOP}/compare/main...{sha}")).text


async def test_stranger_may_not_edit_files(scene: Scene) -> None:
    answer = await scene.browser.post(f"{SHOP}/edit/feature%2Fpay/cart.py", as_="mallory", content="x")
    assert answer.status_code == 403


RENDERED = [
    ("@bob", '<a href="/bob" class="mention">@bob</a>'),
    ("&#64;bob", '<a href="/bob" class="mention">@bob</a>'),
    ("`@bob`", "<code>@bob</code>"),
    ("@\u200bbob", "@\u200bbob"),
    ("@<!-- -->bob", "@bob"),
    ("bob@example.com", "bob@example.com"),
    ("#1 and #99", '<a href="/octo-org/shop/issues/1" class="reference">#1</a> and #99'),
    ("a/b#7", '<a href="/a/b/issues/7" class="reference">a/b#7</a>'),
    (
        "see https://x.example/a.",
        'see <a href="https://x.example/a" rel="nofollow noreferrer">https://x.example/a</a>.',
    ),
    ("[x](javascript:alert(1))", "[x](javascript:alert(1))"),
    ("~~old~~", "<s>old</s>"),
    ("<sub>small</sub>", "<sub>small</sub>"),
    ("<sub onclick=x>small", "<sub>small</sub>"),
    ("</p></div>text", "text"),
    ("<b>bold", "<b>bold</b>"),
    ("<details><summary>left open", "<details><summary>left open</summary></details>"),
    ('<a href="javascript:alert(1)">x</a>', "<a>x</a>"),
    ('<a href="//x.example" onclick="y">x</a>', '<a href="//x.example" rel="nofollow noreferrer">x</a>'),
    ("![alt](https://x.example/p.png)", '<span class="image">[image not loaded: alt https://x.example/p.png]</span>'),
    ("<style>p{}</style>", "&lt;style&gt;p{}&lt;/style&gt;"),
    ("<iframe src=x>", "&lt;iframe src=x&gt;"),
    ("one\ntwo", "one<br>\ntwo"),
]


def inner(text: str, scope: Scope) -> str:
    shown = render(text, scope).text.removeprefix('<div class="markdown">').removesuffix("</div>")
    return shown.strip().removeprefix("<p>").removesuffix("</p>")


async def test_markdown_is_rendered_as_on_github(scene: Scene) -> None:
    scope = Scope(scene.repository)
    assert [(text, inner(text, scope)) for text, _ in RENDERED] == RENDERED


async def test_markdown_blocks(scene: Scene) -> None:
    folded = "<details><summary>s</summary>\n\n**in**\n\n</details>\n</details>"
    text = f"- [ ] one\n- [x] two\n\n| a |\n|--:|\n| 1 |\n\n{folded}"
    shown = render(text, Scope(scene.repository)).text
    for part in ("<li>☐ one</li>", "<li>☑ two</li>", '<td style="text-align:right">1</td>'):
        assert part in shown
    assert shown.count("</details>") == shown.count("<details>") == 1
    assert shown.index("<strong>in</strong>") < shown.index("</details>")


def test_elements_escape_by_default() -> None:
    assert element("p", '<&"', title='"><').text == '<p title="&quot;&gt;&lt;">&lt;&amp;&quot;</p>'


async def test_the_merge_box_tells_who_approved_and_what_is_missing(scene: Scene) -> None:
    scene.sim.protect(scene.repository, "main", ["build"], approvals=1)
    scene.sim.report_status(scene.repository, scene.pull.head_sha, "ci/old", "failure")
    page = (await scene.browser.get(PULL, as_="bob")).text
    assert "Merging is blocked." in page
    assert "At least 1 approving review is required" in page
    assert "ci/old" in page
    assert "Merge pull request" not in page
    assert (await scene.browser.post(f"{PULL}/merge", as_="bob")).status_code == 405
    await scene.sim.user("bob").review(scene.pull, "APPROVE", "")
    scene.sim.report_check(scene.repository, scene.pull.head_sha, "build", "success")
    page = (await scene.browser.get(PULL, as_="bob")).text
    assert re.search(r"bob</a><span class=\"quiet\">approved", page)
    assert "Merge pull request" in page
    assert (await scene.browser.post(f"{PULL}/merge", as_="bob")).status_code == 303
    assert "Merged by" in (await scene.browser.get(PULL)).text


async def test_what_was_deployed_is_shown_where_people_look(scene: Scene) -> None:
    assert "Nothing has been deployed" in (await scene.browser.get(f"{SHOP}/deployments")).text
    assert "Deployments" not in (await scene.browser.get(PULL)).text
    merged = await scene.sim.user("bob").merge(scene.pull)
    links = {"log_url": "https://ci.example.org/1", "environment_url": "https://staging.example.org"}
    await scene.deploy(merged, "staging", "success", description="Three tests passed", **links)
    await scene.deploy(merged, "production", "in_progress")
    later = await scene.sim.user("alice").push(scene.repository, "main", {"later.py": "x\n"})
    await scene.deploy(later, "staging", "failure", description="Rolled back", environment_url="javascript:1")
    for path, elsewhere in (
        (PULL, False),
        (f"{SHOP}/deployments", True),
        (f"{SHOP}/deployments?environment=staging", True),
    ):
        page = (await scene.browser.get(path)).text
        assert "Three tests passed" in page
        assert f'href="{SHOP}/commit/{merged}"' in page
        assert '<a href="https://staging.example.org">View deployment</a>' in page
        assert '<a href="https://ci.example.org/1">Log</a>' in page
        assert ("Rolled back" in page) == elsewhere
        assert 'href="javascript' not in page
        assert ("production" in page) == ("?" not in path)
    assert '"refresh"' in (await scene.browser.get(f"{SHOP}/deployments")).text
    assert '"refresh"' not in (await scene.browser.get(f"{SHOP}/deployments?environment=staging")).text
    assert f'href="{SHOP}/deployments"' in (await scene.browser.get(SHOP)).text


async def test_a_workflow_run_has_a_page_with_its_log(scene: Scene) -> None:
    file = f"name: Deploy {EVIL}\non: workflow_dispatch\njobs: {{deploy: }}\n"
    await scene.sim.user("alice").push(scene.repository, "main", {".github/workflows/deploy.yml": file})
    asked = {"ref": "main", "return_run_details": True}
    told = await scene.call("/actions/workflows/deploy.yml/dispatches", asked)
    path = told["html_url"].removeprefix(scene.sim.url)
    assert '"refresh"' in (await scene.browser.get(path)).text
    scene.sim.finish_run(scene.repository.workflow_runs[-1], "failure", f"No disk {EVIL}\n")
    page = (await scene.browser.get(path)).text
    assert "No disk &lt;script&gt;" in page
    assert "Deploy &lt;script&gt;" in page
    assert '"refresh"' not in page
    assert find_unescaped(page) == []
