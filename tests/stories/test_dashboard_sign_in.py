"""Who signs in to the dashboard, what they see there, and who does not."""

import re
from urllib.parse import parse_qs, urlsplit

import pytest

from bot.dashboard import overview
from memory.process import sessions
from safety.authorization import MOST_SIGN_INS
from tests.stories.driver import Story
from tests.world.dashboard import SeenPage, Visitor, dashboard_origin, signed_in, visit

FILES = {"README.md": "# Shop\n"}
SHOP = "/dashboard/octo-org/shop"
SECRET = "/dashboard/octo-org/secret"


def add_private(story: Story, *readers: str) -> None:
    """A private repository with Forge that these people may read."""
    repository = story.github.create_repository("octo-org/secret", files=FILES, private=True)
    story.github.install(repository)
    for login in readers:
        story.github.grant(repository, story.github.user(login), "read")


async def begin_sign_in(visitor: Visitor) -> str:
    """The address that GitHub sends this browser back to, which it has not opened yet."""
    to_github = (await visitor.request("GET", "/dashboard/to-github")).headers["location"]
    return (await visitor.request("GET", to_github)).headers["location"]


async def test_a_person_signs_in_and_sees_the_repositories_they_may_read(story: Story) -> None:
    story.repository(FILES)
    add_private(story)
    async with visit(story, "alice") as alice:
        welcome = await alice.open("/")
        assert (await alice.open("/setup")).text == welcome.text
        asked = await alice.open(SHOP)
        arrived = await alice.sign_in(SHOP)
        listed = await alice.open()
        hidden = await alice.open(SECRET)
        absent = await alice.open("/dashboard/octo-org/nothing")
    assert "Forge, a GitHub App" in welcome.text
    assert (asked.status, asked.address) == (200, "/dashboard/sign-in?to=%2Fdashboard%2Focto-org%2Fshop")
    assert (arrived.status, arrived.address) == (200, SHOP)
    assert "octo-org/shop" in listed.text
    assert "secret" not in listed.text
    assert (hidden.status, absent.status) == (404, 404)
    assert hidden.text == absent.text.replace("/dashboard/octo-org/nothing", SECRET)


async def test_each_repository_of_a_long_list_is_on_one_page(story: Story) -> None:
    names = [f"octo-org/part-{number:02}" for number in range(overview.LISTED + 2)]
    for name in names:
        repository = story.github.create_repository(name, files=FILES)
        story.github.install(repository)
        story.github.grant(repository, story.github.user("alice"), "read")
    async with signed_in(story, "alice") as alice:
        first = await alice.open()
        [more] = re.findall(r'rel="next" href="([^"]+)"', first.html)
        second = await alice.open(more)
    listed = [re.findall(r'<th scope="row"><a href="[^"]+">([^<]+)</a>', page.html) for page in (first, second)]
    assert listed == [names[: overview.LISTED], names[overview.LISTED :]]
    assert 'rel="next"' not in second.html


async def test_nothing_of_a_person_is_kept_but_a_digest(story: Story) -> None:
    """Their token is ended before they arrive, and the cookie is one that no script and no other site can send."""
    story.repository(FILES)
    async with visit(story, "alice") as alice:
        back = await begin_sign_in(alice)
        arrived = await alice.request("GET", back)
    assert not [token for token in story.github.world.tokens.values() if token.user is not None]
    kept, known, forgotten = arrived.headers.get_list("set-cookie")
    assert "HttpOnly; Max-Age=28800; Path=/; SameSite=Lax" in kept
    assert known.startswith("forge-known=")
    assert forgotten.startswith('forge-sign-in=""')
    session_id = kept.partition("=")[2].partition(";")[0]
    assert await sessions.find(story.forge.services.database, session_id, story.clock.now()) is None


async def test_a_person_who_does_not_allow_it_is_not_signed_in(story: Story) -> None:
    async with visit(story, None) as nobody:
        refused = await nobody.sign_in()
        again = await nobody.open()
    assert (refused.status, "did not allow it" in refused.text) == (403, True)
    assert again.address == "/dashboard/sign-in"


async def test_a_forged_state_signs_nobody_in(story: Story) -> None:
    """Neither one that was made up, nor that of another browser."""
    async with visit(story, "mallory") as mallory, visit(story, "alice") as alice:
        stolen = await begin_sign_in(mallory)
        unknown = await alice.open(stolen)
        await begin_sign_in(alice)
        other = await alice.open(stolen)
        made_up = await alice.open("/dashboard/signed-in?code=0123&state=4567")
        assert [each.status for each in (unknown, other, made_up)] == [400, 400, 400]
        assert (await alice.open()).address == "/dashboard/sign-in"


async def test_a_code_of_somebody_else_is_worth_nothing(story: Story) -> None:
    """GitHub takes it only with the verifier of the browser that began."""
    async with visit(story, "mallory") as mallory, visit(story, "alice") as alice:
        code = parse_qs(urlsplit(await begin_sign_in(alice)).query)["code"][0]
        state = parse_qs(urlsplit(await begin_sign_in(mallory)).query)["state"][0]
        injected = await mallory.open(f"/dashboard/signed-in?code={code}&state={state}")
        assert (injected.status, "GitHub did not take the sign-in" in injected.text) == (403, True)
        assert (await mallory.open()).address == "/dashboard/sign-in"


async def test_a_sign_in_counts_once(story: Story) -> None:
    async with visit(story, "alice") as alice:
        back = await begin_sign_in(alice)
        [kept] = [each for each in alice.http.cookies.jar if each.name == "forge-sign-in"]
        assert (await alice.open(back)).address == "/dashboard"
        replayed = await alice.http.get(back, headers={"Cookie": f"forge-sign-in={kept.value}"})
    assert replayed.status_code == 400


async def test_strangers_lock_nobody_out_who_signed_in_before(story: Story) -> None:
    """Nor can somebody who signed in once go on without end in their place."""
    async with signed_in(story, "alice") as alice, visit(story, "bob") as bob:
        await alice.send("/dashboard/sign-out")
        for number in range(MOST_SIGN_INS):
            await sessions.claim_sign_in(story.forge.services.database, f"{number}", story.clock.now())
        [known] = [each.value or "" for each in alice.http.cookies.jar if each.name == "forge-known"]
        locked = await bob.sign_in()
        assert (await alice.sign_in()).address == "/dashboard"
        await alice.send("/dashboard/sign-out")
        assert (await alice.sign_in()).address == "/dashboard"
        alice.http.cookies.clear()
        alice.http.cookies.set("forge-known", known, domain="127.0.0.1")
        spent = await alice.sign_in()
        story.clock.move(minutes=2)
        assert (await bob.sign_in()).address == "/dashboard"
    for each in (locked, spent):
        assert (each.status, "try again in a minute" in each.text) == (429, True)


async def test_a_sign_in_that_takes_too_long_is_over(story: Story) -> None:
    async with visit(story, "alice") as alice:
        back = await begin_sign_in(alice)
        story.clock.move(minutes=11)
        assert (await alice.open(back)).status == 400


async def test_a_session_ends_after_an_hour_without_a_page_and_after_eight_in_any_case(story: Story) -> None:
    story.repository(FILES)
    async with signed_in(story, "alice") as alice:
        for _ in range(9):
            story.clock.move(minutes=50)
            assert (await alice.open(SHOP)).status == 200
        story.clock.move(minutes=50)
        assert (await alice.open(SHOP)).address.startswith("/dashboard/sign-in")
        fields = {"content": "Typed for an <hour>.", "tags": ""}
        late = await alice.send(f"{SHOP}/memories/new", **fields)
        forged = await alice.request(
            "POST", f"{SHOP}/memories/new", data=fields, headers={"Origin": "https://evil.example"}
        )
        nothing = await alice.send(f"{SHOP}/memories/M-000000/archive")
        await alice.sign_in()
        assert "Typed for an" not in (await alice.open(f"{SHOP}/memories")).text
        story.clock.move(minutes=61)
        assert (await alice.open(SHOP)).address.startswith("/dashboard/sign-in")
    assert (late.status, "nothing was changed" in late.text) == (403, True)
    assert "readonly>\nTyped for an &lt;hour&gt;.</textarea>" in late.html
    assert late.html.count("<textarea") == 1
    assert f'href="/dashboard/to-github?to={SHOP}/memories/new"' in late.html
    assert (forged.status_code, "Typed" in forged.text) == (403, False)
    assert nothing.address == "/dashboard/sign-in"


async def test_permission_taken_away_between_two_clicks(story: Story) -> None:
    add_private(story, "alice")
    repository = next(iter(story.github.world.repositories.values()))
    async with signed_in(story, "alice") as alice:
        assert (await alice.open(SECRET)).status == 200
        story.github.revoke(repository, story.github.user("alice"))
        assert (await alice.open(SECRET)).status == 404
        assert "secret" not in (await alice.open()).text
        story.github.grant(repository, story.github.user("alice"), "read")
        story.github.remove_from_installation(repository)
        assert (await alice.open(SECRET)).status == 404


async def test_a_login_that_belongs_to_somebody_else_now_reads_nothing(story: Story) -> None:
    add_private(story, "alice")
    async with signed_in(story, "alice") as old:
        world = story.github.world
        world.accounts["alicia"] = world.accounts.pop("alice")
        world.accounts["alicia"].login = "alicia"
        successor = world.account("alice")
        next(iter(world.repositories.values())).roles[successor.id] = "admin"
        assert (await old.open(SECRET)).status == 404


async def test_an_installation_that_github_hides_keeps_nobody_out(story: Story) -> None:
    """One that is suspended, or whose organisation asks for a sign-in of its own; what is left is listed."""
    story.repository(FILES)
    other = story.github.create_repository("other-org/tools", files=FILES, private=True)
    story.github.grant(other, story.github.user("alice"), "read")
    hidden = story.github.install(other)
    async with signed_in(story, "alice") as alice:
        assert "other-org/tools" in (await alice.open()).text
        story.github.suspend(hidden)
        suspended = await alice.sign_in()
        story.github.unsuspend(hidden)
        path = f"/user/installations/{hidden.id}/repositories"
        story.github.faults.add(kind="before", path=path, status=403, message="Resource protected by SAML enforcement")
        protected = await alice.sign_in()
        story.github.faults.add(
            kind="before", path=path, status=403, message="You have exceeded a secondary rate limit"
        )
        limited = await alice.sign_in()
    for page in (suspended, protected):
        assert (page.status, "octo-org/shop" in page.text, "other-org" in page.text) == (200, True, False)
    assert limited.status == 503  # a list with holes would last as long as the session


async def test_a_stranger_reads_what_is_public(story: Story) -> None:
    """As on GitHub, under its address; the list has only what one was given access to."""
    repository, alice = story.repository(FILES)
    await story.propose(repository, alice, {"notes.md": "Words.\n"})
    add_private(story)
    [run] = await story.runs()
    async with signed_in(story, "stranger") as stranger:
        assert "octo-org" not in (await stranger.open()).text
        assert (await stranger.open(f"{SHOP}/runs/{run.id}")).status == 200
        assert (await stranger.open(f"{SHOP}/runs/{run.id}/checkpoints")).status == 404
        assert (await stranger.open(SECRET)).status == 404
        assert (await stranger.open(f"{SECRET}/runs/{run.id}")).status == 404
        story.github.faults.add(kind="before", path="/collaborators/stranger/permission", times=None, status=502)
        silent, unknown = await stranger.open(SHOP), await stranger.open("/dashboard/octo-org/nothing")
    assert silent.status == 404  # another answer than for what Forge does not know would tell that it knows the name
    assert silent.text == unknown.text.replace("/dashboard/octo-org/nothing", SHOP)


async def test_a_renamed_repository_is_found_under_both_names(story: Story) -> None:
    repository, _ = story.repository(FILES)
    async with signed_in(story, "alice") as alice:
        story.github.rename(repository, "store")
        for query in ("state=failed", "q=a%26b%3Dc", "q=%0D%0Ax%3A%20y", "q=%C3%A9"):
            found = await alice.open(f"{SHOP}/memories?{query}")
            assert (found.status, found.address) == (200, f"/dashboard/octo-org/store/memories?{query}")
        assert (await alice.open()).text.count("octo-org/store") == 1


async def test_who_signed_out_is_out(story: Story) -> None:
    """Also with the old cookie, and with that of a session which another sign-in replaced."""
    story.repository(FILES)
    async with signed_in(story, "alice") as alice:
        [replaced] = [each for each in alice.http.cookies.jar if each.name == "forge-session"]
        await alice.sign_in()
        [cookie] = [each for each in alice.http.cookies.jar if each.name == "forge-session"]
        out = await alice.send("/dashboard/sign-out")
        alice.http.cookies.clear()
        again = [
            await alice.http.get(dashboard_origin(story) + SHOP, headers={"Cookie": f"forge-session={each.value}"})
            for each in (replaced, cookie)
        ]
    assert "You are signed out." in out.text
    assert [each.status_code for each in again] == [303, 303]


async def test_forms_of_others_are_not_taken(story: Story) -> None:
    """Without the token, with that of another session, from another site, or from nowhere."""
    async with signed_in(story, "alice") as alice, signed_in(story, "mallory") as mallory:
        hers = mallory.token
        wrong = [
            await alice.request("POST", "/dashboard/sign-out", data={"csrf": token}, headers={"Origin": origin})
            for token, origin in (
                ("", alice.home),
                (hers, alice.home),
                (alice.token, "https://evil.example"),
                (alice.token, "null"),
            )
        ]
        wrong.append(await alice.request("POST", "/dashboard/sign-out", data={"csrf": alice.token}))
        wrong.append(
            await alice.request(
                "POST", "/dashboard/sign-out", json={"csrf": alice.token}, headers={"Origin": alice.home}
            )
        )
        assert [each.status_code for each in wrong] == [403, 403, 403, 403, 403, 415]
        assert (await alice.open()).status == 200


@pytest.mark.parametrize(
    "target",
    [
        "https://evil.example/",
        "//evil.example",
        "/dashboard//evil.example",
        "/dashboard/../webhook",
        "/dashboardx",
        "/",
    ],
)
async def test_a_sign_in_leads_to_own_pages_only(target: str, story: Story) -> None:
    async with visit(story, "alice") as alice:
        assert (await alice.sign_in(target)).address == "/dashboard"


async def test_pages_keep_to_themselves(story: Story) -> None:
    """No frame, no script, no cache, no word to other sites."""
    story.repository(FILES)
    async with signed_in(story, "alice") as alice:
        pages = [await alice.open(each) for each in ("/dashboard", SHOP, f"{SHOP}/runs", f"{SHOP}/nothing")]
        assert (await alice.open(f"{SHOP}/runs/?state=failed")).address == f"{SHOP}/runs?state=failed"
        for method in ("PUT", "DELETE", "POST"):
            for address in ("/dashboard", f"{SHOP}/runs"):
                answer = await alice.request(method, address)
                pages.append(SeenPage(answer.status_code, address, answer.text, answer.headers))
    assert [each.status for each in pages] == [200, 200, 200, *[404] * 7]
    for page in pages:
        assert page.headers["content-security-policy"].startswith("default-src 'none'; style-src 'self';")
        assert "frame-ancestors 'none'" in page.headers["content-security-policy"]
        assert page.headers["cache-control"] == "no-store"
        assert page.headers["x-content-type-options"] == "nosniff"
        assert page.headers["referrer-policy"] == "same-origin"
        assert "<script" not in page.html


async def test_who_loads_page_after_page_stops_no_review(story: Story) -> None:
    """Of one repository after the other: what GitHub said before, and says again, takes no request of the hour."""
    repository, alice = story.repository(FILES)
    others = [story.repository(FILES, f"octo-org/other-{number}")[0] for number in range(50)]
    async with signed_in(story, "alice") as reader:
        shown = await reader.open(SHOP)
        for each in story.github.world.installations.values():
            each.rate_limit = 100
        for each in others:
            if shown.status == 200:
                shown = await reader.open(f"/dashboard/{each.full_name}")
        assert shown.status == 503
        assert "Few are left, and Forge needs these for its work" in shown.text
        assert "Load the page again after" in shown.text
    _, head = await story.propose(repository, alice, {"app.py": "print(1)\n"})
    assert story.check(repository, head).status == "completed"


async def test_nothing_is_shown_while_github_does_not_answer(story: Story) -> None:
    story.repository(FILES)
    async with signed_in(story, "alice") as alice:
        story.github.faults.add(
            kind="before", method="GET", path="/collaborators/alice/permission", times=None, status=502
        )
        silent = await alice.open(SHOP)
        listed = await alice.open()
        story.github.faults.clear()
        assert (silent.status, listed.status) == (503, 503)
        assert "GitHub did not say what you may read here" in silent.text
        assert (await alice.open(SHOP)).status == 200
