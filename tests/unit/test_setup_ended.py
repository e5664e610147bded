"""Where people are led after the set-up."""

import pytest

from bot.setup.choices import InstallPage, find_install_page


@pytest.mark.parametrize(
    ("page", "web_url", "address"),
    [
        ("https://github.com/apps/forge", "https://github.com", "https://github.com/apps/forge/installations/new"),
        ("https://evil.example/apps/forge", "https://github.com", ""),
        ("https://github.com.evil.example/apps/forge", "https://github.com", ""),
        ("javascript:alert(1)", "https://github.com", ""),
        ("https://github.com/apps/forge", "", ""),
    ],
)
def test_the_app_is_installed_on_its_own_github_only(page: str, web_url: str, address: str) -> None:
    """Whatever address the answer had that registered the App."""
    kept = {"SETUP_APP_PAGE": page, "SETUP_APP_OWNER": "octo-org"}
    assert find_install_page(kept, web_url) == InstallPage(address, "octo-org")


def test_an_app_that_was_made_by_hand_has_no_known_page() -> None:
    assert find_install_page({}, "https://github.com") == InstallPage()
