"""Who signs in to the dashboard, what they see there, and who does not."""

from tests.stories.driver import Story
from tests.world.dashboard import signed_in, visit

FILES = {"README.md": "# Shop\n"}


async def test_a_person_signs_in_and_sees_the_repositories_they_may_read(story: Story) -> None:
    repository, _ = story.repository(FILES)
    other = story.github.create_repository("octo-org/secret", files=FILES, private=True)
    story.github.install(other)
    async with visit(story, "alice") as alice:
        welcome = await alice.open("/")
        asked = await alice.open("/dashboard/octo-org/shop")
        arrived = await alice.sign_in("/dashboard/octo-org/shop")
        listed = await alice.open()
        hidden = await alice.open("/dashboard/octo-org/secret")
        absent = await alice.open("/dashboard/octo-org/nothing")
    assert "Forge, a GitHub App" in welcome.text
    assert (asked.status, asked.address) == (200, "/dashboard/sign-in?to=%2Fdashboard%2Focto-org%2Fshop")
    assert (arrived.status, arrived.address) == (200, "/dashboard/octo-org/shop")
    assert repository.full_name in listed.text
    assert "secret" not in listed.text
    assert (hidden.status, hidden.text) == (absent.status, absent.text) == (404, hidden.text)
    assert not [token for token in story.github.world.tokens.values() if token.user is not None]


async def test_permission_taken_away_between_two_clicks(story: Story) -> None:
    repository = story.github.create_repository("octo-org/secret", files=FILES, private=True)
    story.github.install(repository)
    story.github.grant(repository, story.github.user("alice"), "read")
    async with signed_in(story, "alice") as alice:
        assert (await alice.open("/dashboard/octo-org/secret")).status == 200
        story.github.revoke(repository, story.github.user("alice"))
        assert (await alice.open("/dashboard/octo-org/secret")).status == 404
        assert "secret" not in (await alice.open()).text
