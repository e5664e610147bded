"""What the operator lets the deploy commands of an environment reach and know."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class DeployAccess:
    """For one environment of one repository.

    :param host: the only host that the command reaches; empty: none.
    :param port: on it.
    :param secrets: environment variables by name.
    """

    host: str = ""
    port: int = 0
    secrets: Mapping[str, str] = field(default_factory=dict[str, str])


NO_ACCESS = DeployAccess()

DeployAccesses = Mapping[tuple[str, str], DeployAccess]
"""By the repository as ``owner/name`` in small letters, and the environment."""
