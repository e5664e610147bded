"""The App, its webhook, its deliveries and its installations, as GitHub shows them to the App."""

from typing import Literal

from pydantic import AwareDatetime, BaseModel, Field

from domain.github.deliveries import DeliveryAttempt


class AppShown(BaseModel):
    html_url: str = ""
    slug: str | None = None
    permissions: dict[str, Literal["none", "read", "write", "admin"]] = {}

    @property
    def name(self) -> str:
        """Its slug, which GitHub may leave out; its page ends with it."""
        return self.slug or self.html_url.rstrip("/").rpartition("/")[2]


class HookShown(BaseModel):
    """The App's webhook settings; of a secret, GitHub shows only that there is one."""

    url: str | None = None
    secret: str | None = None
    insecure_ssl: str | int = "0"


class InstallationAccount(BaseModel):
    login: str


class InstallationShown(BaseModel):
    """A place where the App is installed."""

    id: int | None = None
    permissions: dict[str, str] = {}
    account: InstallationAccount | None = None
    suspended_at: str | None = None


class AttemptShown(BaseModel):
    """An entry of the delivery log."""

    id: int
    guid: str = Field(min_length=1, max_length=200)
    event: str
    delivered_at: AwareDatetime
    status_code: int | None = None

    def to_domain(self) -> DeliveryAttempt:
        return DeliveryAttempt(
            id=self.id,
            guid=self.guid,
            event=self.event[:100],
            at=self.delivered_at,
            status_code=self.status_code or 0,
        )
