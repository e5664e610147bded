"""The Helm chart renders manifests that Kubernetes takes, and refuses values that would lose data or leak secrets."""

import importlib
import json
import re
import shutil
import subprocess
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.install.page import ROOT, read_commands, read_yaml

CHART = ROOT / "deploy" / "helm" / "forge"
SCALED = {
    "database": "postgresql",
    "serve": {"replicas": 2},
    "door": {"replicas": 2},
    "worker": {"replicas": 3},
    "ingress": {"enabled": True, "host": "forge.example.com", "tlsSecret": "forge-tls"},
    "networkPolicy": {"enabled": True},
    "serviceMonitor": {"enabled": True},
    "settings": {"FORGE_APP_ID": "12345"},
}
Values = Mapping[str, Any]
Manifests = list[dict[str, Any]]
Render = Callable[[Values], Manifests]


class RefusedValuesError(Exception):
    """Helm did not render the chart with these values."""


@pytest.fixture(scope="module")
def render(tmp_path_factory: pytest.TempPathFactory) -> Render:
    """The chart's manifests with some values, as Helm renders them."""
    if shutil.which("helm"):
        return lambda values: _render_by_program(values, tmp_path_factory.mktemp("values"))
    helm = pytest.importorskip("helm_python", reason="neither helm nor PyPI's helm-python-sdk (244 MB) is here")
    return lambda values: _render_by_library(helm, values)


def test_one_process_alone(render: Render) -> None:
    manifests = render({})
    assert _kinds(manifests) == ["Service", "ServiceAccount", "StatefulSet"]
    [pod] = _pods(manifests)
    assert pod["containers"][0]["args"] == ["forge", "serve"]
    _check_kubernetes(manifests)


def test_all_that_can_be_had(render: Render) -> None:
    manifests = render(SCALED)
    assert [pod["containers"][0]["args"][1] for pod in _pods(manifests)] == ["door", "serve", "worker"]
    [ingress] = _of(manifests, "Ingress")
    [rule] = ingress["spec"]["rules"]
    backends = {each["path"]: each["backend"]["service"]["name"] for each in rule["http"]["paths"]}
    assert backends["/webhook"] == "forge-door"
    assert backends["/dashboard"] == "forge-serve"
    assert "/metrics" not in backends
    kinds = {each["path"]: each["pathType"] for each in rule["http"]["paths"]}
    assert (kinds.pop("/"), set(kinds.values())) == ("Exact", {"Prefix"})
    _check_kubernetes(manifests)


def test_it_answers_under_the_name_of_the_ingress(render: Render) -> None:
    other = {**SCALED, "settings": {"FORGE_PUBLIC_URL": "https://forge.internal"}}
    for values, address in (({}, []), (SCALED, ["https://forge.example.com"]), (other, ["https://forge.internal"])):
        for pod in _pods(render(values)):
            named = [each for each in pod["containers"][0]["env"] if each["name"] == "FORGE_PUBLIC_URL"]
            assert [each["value"] for each in named] == address


def test_a_door_has_no_key_of_the_app(render: Render) -> None:
    for pod in _pods(render(SCALED)):
        [secret] = [each["secret"] for each in pod["volumes"] if each["name"] == "secrets"]
        keys = {each["key"].lower() for each in secret.get("items", ())}
        is_door = pod["containers"][0]["args"][1] == "door"
        assert keys == ({"forge_app_id", "forge_webhook_secret", "forge_database_url"} if is_door else set())


@pytest.mark.parametrize("values", [{}, SCALED, {**SCALED, "sandbox": {"level": "bubblewrap"}}])
def test_pods_may_little(values: Values, render: Render) -> None:
    for pod in _pods(render(values)):
        [container] = pod["containers"]
        assert pod["securityContext"]["runAsNonRoot"]
        assert pod["automountServiceAccountToken"] is False
        assert pod["enableServiceLinks"] is False
        assert container["securityContext"]["readOnlyRootFilesystem"]
        assert container["securityContext"]["allowPrivilegeEscalation"] is False
        assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
        assert container["livenessProbe"]["httpGet"]["path"] == "/healthz"
        assert container["readinessProbe"]["httpGet"]["path"] == "/readyz"
        assert pod["terminationGracePeriodSeconds"] >= 40


def test_level_three_asks_for_namespaces_and_only_there(render: Render) -> None:
    levels = {"landlock": render(SCALED), "bubblewrap": render({**SCALED, "sandbox": {"level": "bubblewrap"}})}
    for level, manifests in levels.items():
        for pod in _pods(manifests):
            works = level == "bubblewrap" and pod["containers"][0]["args"][1] != "door"
            assert ("hostUsers" in pod) == works
            assert pod["securityContext"]["seccompProfile"]["type"] == ("Localhost" if works else "RuntimeDefault")
            assert ("procMount" in pod["containers"][0]["securityContext"]) == works


@pytest.mark.parametrize(
    ("values", "why"),
    [
        ({"worker": {"replicas": 1}}, "database is sqlite, which one process uses alone"),
        ({"persistence": {"enabled": False}}, "everything would be lost with the pod"),
        ({"ingress": {"enabled": True}}, "ingress is on and has no host"),
        ({"settings": {"FORGE_PRIVATE_KEY": "x"}}, "FORGE_PRIVATE_KEY"),
        ({"settings": {"FORGE_APP_ID": 12345}}, "got number, want string"),
        ({"wroker": {"replicas": 1}}, "wroker"),
        ({"sandbox": {"level": "none"}}, "'landlock', 'bubblewrap'"),
        ({"image": {"digest": "latest"}}, "digest"),
    ],
)
def test_wrong_values_are_refused(values: Values, why: str, render: Render) -> None:
    with pytest.raises(RefusedValuesError, match=re.escape(why)):
        render(values)


def test_its_version_is_the_projects() -> None:
    chart = read_yaml((CHART / "Chart.yaml").read_text())
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert (chart[0]["version"], chart[0]["appVersion"]) == (version, version)


def test_the_page_installs_it_with_values_that_it_has(render: Render) -> None:
    given = re.findall(r"--set(?:-string)? (\S+)=(\S+)", read_commands("Kubernetes"))
    values: dict[str, Any] = {}
    for name, value in given:
        *path, last = name.split(".")
        place = values
        for part in path:
            place = place.setdefault(part, {})
        place[last] = True if value == "true" else value
    assert {"StatefulSet", "Ingress"} <= set(_kinds(render(values)))


def _render_by_program(values: Values, folder: Path) -> Manifests:
    file = folder / "values.yaml"
    file.write_text(json.dumps(values))  # which is YAML, too
    argv = ["helm", "template", "forge", str(CHART), "--namespace", "forge", "--values", str(file)]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RefusedValuesError(done.stderr)
    return read_yaml(done.stdout)


def _render_by_library(helm: Any, values: Values) -> Manifests:
    with helm.Chart.load(str(CHART)) as chart:
        try:
            rendered: Mapping[str, str] = chart.render(dict(values), name="forge", namespace="forge")
        except helm.HelmError as error:
            raise RefusedValuesError(str(error)) from error  # pyrefly: ignore[unknown-argument-type]
    return [each for name, text in rendered.items() if not name.endswith("NOTES.txt") for each in read_yaml(text)]


def _check_kubernetes(manifests: Manifests) -> None:
    """Hold them against Kubernetes' own schemas, where these are installed (PyPI's kubernetes-validate)."""
    try:
        schemas = importlib.import_module("kubernetes_validate")
    except ImportError:
        return
    for each in manifests:
        if "monitoring.coreos.com" not in each["apiVersion"]:
            schemas.validate(each, "1.37", strict=True)


def _of(manifests: Iterable[dict[str, Any]], kind: str) -> Manifests:
    return [each for each in manifests if each["kind"] == kind]


def _kinds(manifests: Manifests) -> list[str]:
    return sorted(each["kind"] for each in manifests)


def _pods(manifests: Manifests) -> Manifests:
    return sorted(_find_pods(manifests), key=lambda pod: pod["containers"][0]["args"][1])


def _find_pods(manifests: Manifests) -> Iterator[dict[str, Any]]:
    for each in manifests:
        if each["kind"] in {"StatefulSet", "Deployment"}:
            yield each["spec"]["template"]["spec"]
