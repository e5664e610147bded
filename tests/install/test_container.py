"""The container's files agree with each other, with docs/install.md and with what the sandbox needs."""

import json
import re
import subprocess
from typing import Any

import pytest

from tests.install.page import PAGE, ROOT, read_commands, read_yaml
from workspace.sandbox.sandbox import tool_path

COMPOSE = ROOT / "compose.yaml"
NAMESPACES = ROOT / "deploy" / "container" / "compose.namespaces.yaml"
PROFILE = ROOT / "deploy" / "container" / "seccomp.json"


@pytest.fixture(name="services")
def _services() -> dict[str, Any]:
    return read_yaml(COMPOSE.read_text())[0]["services"]


@pytest.mark.parametrize("name", ["forge", "worker"])
def test_forge_may_little_and_stops_in_peace(name: str, services: dict[str, Any]) -> None:
    service = services[name]
    assert service["read_only"]
    assert service["cap_drop"] == ["ALL"]
    assert service["user"] == "10001:10001"
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert "exec" in service["tmpfs"][0].split(":")[1].split(",")  # commands of repositories run there
    assert service["stop_grace_period"] == "40s"
    assert service["depends_on"] == {"postgres": {"condition": "service_healthy"}}


def test_secrets_are_files_that_the_page_makes(services: dict[str, Any]) -> None:
    secrets = read_yaml(COMPOSE.read_text())[0]["secrets"]
    commands = read_commands("Docker") + read_commands("Docker Compose")
    for name, secret in secrets.items():
        assert secret == {"file": f"secrets/{name}"}
        assert re.search(rf"(> |cp .* )secrets/{name}$", commands, re.MULTILINE), name
    for service in services.values():
        assert set(service["secrets"]) <= set(secrets)
        assert "forge_private_key" not in str(service["environment"])
    assert services["postgres"]["secrets"] == ["postgres_password"]


def test_the_page_runs_one_container_as_compose_would(services: dict[str, Any]) -> None:
    run = read_commands("Docker").replace("\\\n", " ")
    assert f"--tmpfs {services['forge']['tmpfs'][0]} " in run
    for option in ("--read-only", "--cap-drop ALL", "--security-opt no-new-privileges", "--stop-timeout 40"):
        assert option in run


def test_level_three_adds_to_the_same_services(services: dict[str, Any]) -> None:
    more = read_yaml(NAMESPACES.read_text())[0]["services"]
    assert more.keys() == services.keys() - {"postgres"}
    for service in more.values():
        [profile] = [each.removeprefix("seccomp=") for each in service["security_opt"] if each.startswith("seccomp=")]
        assert ROOT / profile == PROFILE
        assert not set(service["security_opt"]) & set(services["forge"]["security_opt"])  # Compose refuses it twice


def test_the_profile_lets_bubblewrap_and_landlock_work_and_refuses_the_kernels_own() -> None:
    profile = json.loads(PROFILE.read_text())
    assert profile["defaultAction"] == "SCMP_ACT_ERRNO"
    rules = {name: rule for rule in profile["syscalls"] for name in rule["names"] if "args" not in rule}
    allowed = {name for name, rule in rules.items() if rule["action"] == "SCMP_ACT_ALLOW"}
    assert len(rules) == sum(len(rule["names"]) for rule in profile["syscalls"] if "args" not in rule)
    assert {"clone", "clone3", "unshare", "mount", "umount2", "pivot_root", "openat2", "seccomp"} <= allowed
    assert {"landlock_create_ruleset", "landlock_add_rule", "landlock_restrict_self", "pidfd_open"} <= allowed
    refused = {
        "bpf",
        "init_module",
        "kexec_load",
        "keyctl",
        "perf_event_open",
        "io_uring_setup",
        "userfaultfd",
        "setns",
    }
    assert not allowed & refused


def test_the_image_is_built_as_hadolint_advises() -> None:
    done = subprocess.run([tool_path("hadolint"), "Dockerfile"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")


def test_what_the_page_names_is_there() -> None:
    text = PAGE.read_text()
    named = set(re.findall(r"(?<![\w/])(?:deploy|bin)/[\w./@-]+\w", text)) | {"compose.yaml"}
    assert not [name for name in named if not (ROOT / name).exists()]
