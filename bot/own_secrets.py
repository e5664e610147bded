"""Redacts the secrets of this process wherever it writes."""

from collections.abc import Sequence
from urllib.parse import unquote, urlsplit

from bot.setting_sources import provider_secrets
from bot.settings import DoorSettings, Settings
from domain.text.redaction import PROCESS_REDACTOR


def hide_own_secrets(settings: Settings) -> None:
    """Redact what a process that works knows: the App's key, too.

    :raises ConfigurationError: if there is no key or it cannot be read.
    """
    client = [settings.client_secret.get_secret_value()] if settings.client_secret else []
    PROCESS_REDACTOR.learn(settings.private_key_pem(), *client)
    hide_secrets_of_door(settings)


def hide_secrets_of_door(settings: DoorSettings) -> None:
    """Redact what a process that only takes webhooks knows."""
    PROCESS_REDACTOR.learn(
        *(secret.get_secret_value() for secret in settings.webhook_secret),
        *provider_secrets(),
        *_passwords(settings.database_url),
    )


def _passwords(url: str) -> Sequence[str]:
    """The password in an address, percent-encoded and decoded."""
    password = urlsplit(url).password
    return (password, unquote(password)) if password else ()
