"""T-P16: a page of others that reaches the dashboard under a name of theirs (DNS rebinding) is shown nothing."""

import httpx2
import pytest

from tests.stories.driver import Story
from tests.threats.knocking import send_webhook, webhook_url
from tests.world.dashboard import dashboard_origin, signed_in

pytestmark = pytest.mark.parametrize("backend", ["sqlite"])  # nothing here depends on the database

NAMES = (
    "evil.example",
    "127.0.0.1.evil.example",
    "localhost.evil.example:3000",
    "10.0.0.7",
    "a@127.0.0.1",
    "localhost:80:evil.example",
)


async def test_t_p16_names_of_others_get_no_page(story: Story) -> None:
    """Not even with the cookie of somebody who is signed in; health and webhooks are answered as before."""
    story.repository({"README.md": "# Shop\n"})
    home = dashboard_origin(story)
    async with signed_in(story, "alice") as alice:
        own = await alice.request("GET", "/dashboard/octo-org/shop")
        assert alice.http.cookies
        for name in NAMES:
            for path in ("/", "/dashboard", "/dashboard/octo-org/shop", "/dashboard/sign-in", "/dashboard/nothing"):
                shown = await alice.request("GET", path, headers={"Host": name})
                assert (shown.status_code, len(shown.text.splitlines())) == (421, 1), (name, path)
                assert "FORGE_PUBLIC_URL" in shown.text
                assert "set-cookie" not in shown.headers
            headers = {"Host": name, "Origin": f"http://{name}"}
            sent = await alice.request("POST", "/dashboard/sign-out", data={"csrf": alice.token}, headers=headers)
            assert sent.status_code == 421
        still = await alice.request("GET", "/dashboard/octo-org/shop")
    assert (own.status_code, still.status_code) == (200, 200)
    async with httpx2.AsyncClient() as http:
        for name in NAMES:
            assert (await http.get(home + "/metrics", headers={"Host": name})).status_code == 421, name
        assert (await http.get(home + "/metrics")).status_code == 200
        for path in ("/healthz", "/readyz", "/schema/forge.yml.json"):
            assert (await http.get(home + path, headers={"Host": "10.0.0.7"})).status_code == 200, path
    taken = await send_webhook(webhook_url(story), b"{}", event="ping", headers={"Host": "10.0.0.7:8080"})
    assert taken.status < 300
