"""Follows docs/install.md with Kubernetes as far as that goes without a cluster.

kubectl makes its objects and sends them nowhere; Helm renders the chart with the page's values; Kubernetes' schemas
judge what a cluster would be sent.
"""

import importlib
import importlib.util
import json
import re
import shlex
import shutil
import subprocess
from typing import Any, cast

from tests.install.known import INSTALL
from tests.install.machine import MachineError
from tests.install.page import ROOT, read_yaml
from tests.install.reader import Reader, say

_KUBECTL = """
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq && apt-get install -qq --yes --no-install-recommends kubernetes-client >/dev/null
"""
_DRY = "--dry-run=client --output=json"
_CHART = ROOT / "deploy" / "helm" / "forge"


def find_obstacle() -> str | None:
    """Why the chart cannot be rendered here; None if it can."""
    if shutil.which("helm") or importlib.util.find_spec("helm_python"):
        return None
    return "neither helm nor PyPI's helm-python-sdk (244 MB) is here"


async def follow(reader: Reader) -> None:
    """Each command of the page, sent to nobody."""
    await reader.type(_KUBECTL, "kubectl, from Debian's packages", stay=True)
    reader.machine.write("/root/forge.private-key.pem", reader.github.app.private_key_pem, 0o600)
    block = reader.fill(INSTALL, "Kubernetes")
    namespace, secret, helm, doctor = re.sub(r"\\\n\s*", " ", block).splitlines()
    made = [json.loads(await reader.type(f"{each} {_DRY}", f"{each[:40]}… {_DRY}")) for each in (namespace, secret)]
    reader.see("kubectl makes a namespace and a Secret", [each["kind"] for each in made] == ["Namespace", "Secret"], "")
    rendered = _render(shlex.split(helm))
    _judge(reader, [*made, *rendered])
    [pods] = [each for each in rendered if each["kind"] == "StatefulSet"]
    _see_secret_fits(reader, made[1], pods)
    name = f"{pods['metadata']['name']}-0"
    reader.see(f"a pod will be named {name}, as the page says", f" {name} " in doctor, doctor)
    say(f"  ! not as it stands: {doctor.strip()}: there is no cluster that runs it; the image is tried with Docker")


def _render(command: list[str]) -> list[dict[str, Any]]:
    """What `helm install` with these arguments would send.

    :raises MachineError: Helm refuses.
    """
    install, rest = command[:4], command[4:]
    assert install == ["helm", "install", "forge", "deploy/helm/forge"], command
    if shutil.which("helm"):
        argv = ["helm", "template", *install[2:], *rest]
        done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, check=False)
        if done.returncode:
            raise MachineError(done.stderr)
        return read_yaml(done.stdout)
    return _render_by_library(rest)


def _render_by_library(arguments: list[str]) -> list[dict[str, Any]]:
    helm: Any = importlib.import_module("helm_python")
    values: dict[str, Any] = {}
    options = dict(zip(arguments[::2], arguments[1::2], strict=True))
    for option, value in zip(arguments[::2], arguments[1::2], strict=True):
        if option == "--set":
            _merge(values, helm.parse_set_string(value))
        elif option == "--set-string":
            _merge(values, helm.parse_set_string_values(value))
        elif option != "--namespace":
            raise MachineError(f"the page gives Helm {option}, which the script does not know")
    with helm.Chart.load(str(_CHART)) as chart:
        try:
            rendered = chart.render(values, name="forge", namespace=options["--namespace"])
        except helm.HelmError as error:
            raise MachineError(str(error)) from error  # pyrefly: ignore[unknown-argument-type]
    return [each for name, text in rendered.items() if not name.endswith("NOTES.txt") for each in read_yaml(text)]


def _merge(values: dict[str, Any], more: dict[str, Any]) -> None:
    for name, value in more.items():
        if isinstance(value, dict) and isinstance(values.get(name), dict):
            _merge(values[name], cast("dict[str, Any]", value))
        else:
            values[name] = value


def _judge(reader: Reader, objects: list[dict[str, Any]]) -> None:
    """Hold them against Kubernetes' own schemas, where these are installed (PyPI's kubernetes-validate)."""
    try:
        schemas = importlib.import_module("kubernetes_validate")
    except ImportError:
        say("  ! not as it stands: PyPI's kubernetes-validate is not here, so no schema judges the manifests")
        return
    for each in objects:
        schemas.validate(each, "1.37", strict=True)
    reader.see(f"Kubernetes' schemas take {', '.join(sorted({each['kind'] for each in objects}))}", True, "")


def _see_secret_fits(reader: Reader, secret: dict[str, Any], pods: dict[str, Any]) -> None:
    """Whether the pod mounts the Secret of the page, under names that Forge takes for settings."""
    volumes = pods["spec"]["template"]["spec"]["volumes"]
    named = {str(each["secret"]["secretName"]) for each in volumes if "secret" in each}
    reader.see("the pod mounts the Secret that the page makes", secret["metadata"]["name"] in named, str(volumes))
    wanted = {"forge_private_key", "forge_webhook_secret", "forge_database_url"}
    reader.see("it holds the files of the table", set(secret["data"]) == wanted, str(set(secret["data"])))
