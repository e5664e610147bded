"""Follows docs/install.md with Docker: one container, Compose with PostgreSQL, level 3, and an image on top.

Docker is Debian's own and runs on the machine. The images that it would pull are of a registry that is not reached
from here; images of Debian's packages stand for them, under their names.
"""

import json
import time
from typing import Any

from tests.install.known import INSTALL
from tests.install.machine import TREE
from tests.install.reader import Reader, say

_DOCKER = """
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
apt-get install -qq --yes --no-install-recommends \\
    docker.io docker-cli docker-compose docker-buildx iptables apparmor sudo openssl >/dev/null
systemctl start docker
docker version
docker compose version
"""
_BASE = """
tar --create --directory TREE --one-file-system . | docker import --change 'CMD ["bash"]' - debian:trixie-slim
"""
_PYTHON = """
FROM debian:trixie-slim
RUN apt-get update && apt-get install --yes --no-install-recommends python3 python3-venv
CMD ["python3"]
"""
_POSTGRES = """
FROM debian:trixie-slim
RUN apt-get update && apt-get install --yes --no-install-recommends postgresql-17 \\
    && rm -rf /var/lib/postgresql/17 /etc/postgresql && mkdir -p /var/lib/postgresql/data \\
    && chown postgres:postgres /var/lib/postgresql/data /run/postgresql
ENV PATH=/usr/lib/postgresql/17/bin:$PATH PGDATA=/var/lib/postgresql/data
COPY entrypoint /entrypoint
VOLUME /var/lib/postgresql/data
STOPSIGNAL SIGINT
ENTRYPOINT ["/bin/sh", "/entrypoint"]
"""
_ENTRYPOINT = """
set -eu
chown postgres:postgres "$PGDATA" /run/postgresql
as() { setpriv --reuid=postgres --regid=postgres --clear-groups "$@"; }
if [ ! -s "$PGDATA/PG_VERSION" ]; then
    password=$(cat "$POSTGRES_PASSWORD_FILE")
    (umask 077; printf %s "$password" > /tmp/password; chown postgres /tmp/password)
    as initdb --username="$POSTGRES_USER" --pwfile=/tmp/password --auth-host=scram-sha-256 --encoding=UTF8
    rm /tmp/password
    echo "host all all all scram-sha-256" >> "$PGDATA/pg_hba.conf"
    as postgres --single postgres -D "$PGDATA" <<END >/dev/null
CREATE DATABASE "$POSTGRES_DB";
END
fi
exec setpriv --reuid=postgres --regid=postgres --clear-groups postgres -c listen_addresses='*'
"""
STANDINS = {
    "python:3.13-slim-trixie": {"Dockerfile": _PYTHON},
    "postgres:17-alpine": {"Dockerfile": _POSTGRES, "entrypoint": _ENTRYPOINT},
}
"""Images that the Dockerfile and compose.yaml name, and what stands for them here."""
_NAMESPACES = "--file compose.yaml --file deploy/container/compose.namespaces.yaml"


async def follow(reader: Reader) -> None:
    """One container on SQLite, then Compose, each with a review."""
    await _prepare(reader)
    reader.machine.write("/root/forge.private-key.pem", reader.github.app.private_key_pem, 0o600)
    for number in (1, 2):
        await reader.follow(INSTALL, "Docker", number)
    secret = reader.machine.read("/root/forge/secrets/forge_webhook_secret")
    printed = await reader.follow(INSTALL, "Docker", 3)
    await reader.wait_until_ready()
    reader.see_doctor(printed, 2)
    await reader.see_review(secret)
    await _see_confinement(reader, "forge")
    await _see_stop(reader, "forge")
    await reader.type("docker rm forge", "the one container makes room for those of Compose")
    await _follow_compose(reader, secret)
    await _build_on_top(reader)


async def _prepare(reader: Reader) -> None:
    """Docker, which the page takes for granted, and the images that it would pull."""
    await reader.type(_DOCKER, "Docker, from Debian's packages", stay=True)
    say(f"  ! not as it stands: no registry of images is reached; made of Debian's packages: {', '.join(STANDINS)}")
    await reader.type(_BASE.replace("TREE", TREE), "a Debian to make images of", stay=True)
    for name, files in STANDINS.items():
        folder = f"/root/.images/{name.partition(':')[0]}"
        for file, text in files.items():
            reader.machine.write(f"{folder}/{file}", text.lstrip())
        await reader.type(f"docker build --quiet --tag {name} {folder}", f"the image {name}", stay=True)


async def _follow_compose(reader: Reader, secret: str) -> None:
    printed = await reader.follow(INSTALL, "Docker Compose", 1)
    await reader.wait_until_ready(10)  # --wait waited for it
    reader.see_doctor(printed, 2)
    reader.see("it is on PostgreSQL", "database: postgresql, schema is up to date" in printed, printed)
    await reader.see_review(secret)
    more = "docker compose --profile workers up --detach --scale worker=2"
    await reader.type(f"{more} && docker compose --profile workers ps --all", f"“{more}”")
    await _see_health(reader)
    await reader.follow(INSTALL, "The sandbox in a container", 1)
    reader.see_doctor(await reader.type("docker compose exec forge forge doctor", "forge doctor"), 3)
    await reader.see_review(secret)
    upgrade = "docker compose up --detach"
    await reader.type(upgrade, f"“{upgrade}”")
    await reader.wait_until_ready()
    await _see_stop(reader, "forge-forge-1")
    await reader.type("docker compose --profile workers down --timeout 40", "the end of Compose")


async def _see_health(reader: Reader) -> None:
    """The table below “Health”, while the database is away."""
    await reader.type("docker compose stop postgres", "the database goes away")
    await reader.wait_for_status("/readyz", 503, 40)
    await reader.wait_for_status("/healthz", 200, 5)
    say("  ✓ without the database /readyz answers 503, and /healthz 200")
    await reader.type("docker compose start --wait postgres || docker compose start postgres", "it comes back")
    await reader.wait_until_ready()


async def _see_confinement(reader: Reader, container: str) -> None:
    """The image's user, its root and its capabilities."""
    inside = "id -u; touch /x 2>&1 || true; grep CapBnd /proc/1/status; touch /tmp/x /var/lib/forge/x && echo writes"
    shown = await reader.type(f"docker exec {container} sh -c '{inside}'", "a look inside", stay=True)
    lines = shown.splitlines()
    reader.see("it runs as user 10001", lines[0] == "10001", shown)
    reader.see("its root is read-only", "Read-only file system" in shown, shown)
    reader.see("it has no capability", "CapBnd:\t0000000000000000" in lines, shown)
    reader.see("it writes to /tmp and /var/lib/forge", lines[-1] == "writes", shown)
    healthy = (
        "for i in $(seq 90); do docker inspect --format '{{.State.Health.Status}}' NAME | grep -qx healthy && break;"
    )
    await reader.type(f"{healthy} sleep 1; done".replace("NAME", container), "Docker waits for its health", stay=True)
    [state] = await _inspect(reader, container)
    reader.see("Docker calls it healthy", state["State"]["Health"]["Status"] == "healthy", str(state["State"]))


async def _see_stop(reader: Reader, container: str) -> None:
    begun = time.monotonic()
    await reader.type(f"docker stop {container}", "“SIGTERM stops Forge”", stay=True)
    took = time.monotonic() - begun
    [state] = await _inspect(reader, container)
    reader.see(f"it ended with code 0 after {took:.0f} s", state["State"]["ExitCode"] == 0, str(state["State"]))
    reader.see("that was within 20 s", took < 20, f"{took:.1f} s")


async def _build_on_top(reader: Reader) -> None:
    """The page's image with more tools for the commands of repositories."""
    reader.machine.write("/root/.images/more/Dockerfile", reader.fill(INSTALL, "How set-up commands reach a registry"))
    await reader.type("docker build --tag forge:more /root/.images/more", "the image on top of it", stay=True)
    tools = "docker run --rm forge:more sh -c 'node --version && npm --version && make --version && pytest-3 --version'"
    await reader.type(tools, "its tools", stay=True)


async def _inspect(reader: Reader, container: str) -> list[dict[str, Any]]:
    printed: list[dict[str, Any]] = json.loads(
        await reader.type(f"docker inspect {container}", f"docker inspect {container}", stay=True)
    )
    return printed
