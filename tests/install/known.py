"""What is done with each block of the pages of installing: who follows it, and what is filled in.

A block that is not here fails the tests: somebody has to decide whether it can be followed.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

README, INSTALL = "README.md", "docs/install.md"
APP_ID = "12345"


class Way(StrEnum):
    """Who follows a block: one of the ways to install Forge, each on a machine of its own, or nobody."""

    plain = "plain"
    systemd = "systemd"
    docker = "docker"
    kubernetes = "kubernetes"
    nobody = "nobody"


@dataclass(frozen=True)
class Known:
    """A block that somebody looked at.

    :ivar fills: what the script replaces by a value of its own.
    :ivar keeps: what looks as if it were to be filled in and stands for itself, or is given by another program.
    :ivar apart: what is not done as it stands, why, and what is done in its place; empty: it is followed to the letter.
    """

    way: Way
    fills: frozenset[str] = frozenset()
    keeps: frozenset[str] = frozenset()
    apart: str = ""


_CLONE = frozenset({"OWNER"})  # inside, git takes that address from this checkout
BLOCKS: Mapping[tuple[str, str, int], Known] = {
    (README, "Try it", 1): Known(Way.plain),
    (README, "Without a server", 1): Known(Way.plain, fills=frozenset({"PATH"})),
    (README, "Without a server", 2): Known(
        Way.plain,
        fills=frozenset({"OWNER", "REPO", "…"}),
        apart="the simulator's address stands for https://github.com, and so the token has an Enterprise Server's name",
    ),
    (INSTALL, "Try it without GitHub", 1): Known(
        Way.plain, apart="the two terminals are two processes in the background; a browser does the steps below it"
    ),
    (INSTALL, "What is stored", 1): Known(Way.systemd),
    (INSTALL, "Docker", 1): Known(Way.docker, keeps=_CLONE),
    (INSTALL, "Docker", 2): Known(Way.docker, fills=frozenset({APP_ID})),
    (INSTALL, "Docker", 3): Known(Way.docker, keeps=frozenset({"ALL", "0.0.1"})),
    (INSTALL, "Docker Compose", 1): Known(Way.docker),
    (INSTALL, "The sandbox in a container", 1): Known(Way.docker),
    (INSTALL, "How set-up commands reach a registry", 1): Known(Way.docker, keeps=frozenset({"FROM", "RUN", "USER"})),
    (INSTALL, "Kubernetes", 1): Known(
        Way.kubernetes,
        fills=frozenset({APP_ID, "$WEBHOOK_SECRET", "$DATABASE_URL"}),
        keeps=frozenset({"registry.example.com/forge", "forge.example.com"}),
        apart="there is no cluster: kubectl runs with --dry-run=client, Helm renders what `helm install` would send, "
        "and Kubernetes' schemas judge it",
    ),
    (INSTALL, "systemd", 1): Known(Way.systemd, keeps=_CLONE),
    (INSTALL, "systemd", 2): Known(Way.systemd, fills=frozenset({APP_ID})),
    (INSTALL, "systemd", 3): Known(Way.systemd, keeps=frozenset({"$CREDENTIALS_DIRECTORY"})),
    (INSTALL, "Plain", 1): Known(Way.plain, keeps=_CLONE),
    (INSTALL, "Releases", 1): Known(
        Way.nobody, keeps=frozenset({"OWNER", "1.2.3"}), apart="nothing is published yet that could be verified"
    ),
}
