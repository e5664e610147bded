"""Hides the secrets of this process wherever it writes."""

from collections.abc import Sequence
from urllib.parse import unquote, urlsplit

from bot.setting_sources import provider_secrets
from bot.settings import Settings
from domain.text.redaction import PROCESS_REDACTOR


def hide_own_secrets(settings: Settings) -> None:
    """Redact the secrets of this process wherever it writes."""
    PROCESS_REDACTOR.learn(
        settings.private_key_pem(),
        *(secret.get_secret_value() for secret in settings.webhook_secret),
        *([settings.client_secret.get_secret_value()] if settings.client_secret else []),
        *provider_secrets(),
        *_passwords(settings.database_url),
    )


def _passwords(url: str) -> Sequence[str]:
    """The password in an address, percent-encoded and decoded."""
    password = urlsplit(url).password
    return (password, unquote(password)) if password else ()
