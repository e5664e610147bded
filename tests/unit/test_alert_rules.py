"""The alert rules, queries and the dashboard that operators copy name what is exported, and ask when they should."""

import json
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from bot.prometheus import Metrics
from memory.db.engine import Bus
from tests.unit.scraping import scrape

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```(?:yaml|promql)\n(.*?)```", PAGE, re.DOTALL)
RULES = (ROOT / "deploy" / "prometheus" / "alerts.yml").read_text(encoding="utf-8")
QUERIES = [*(block for block in BLOCKS if "forge_" in block), RULES]
DASHBOARD = json.loads((ROOT / "deploy" / "grafana" / "forge.json").read_text(encoding="utf-8"))
ASKED = [target["expr"] for panel in DASHBOARD["panels"] for target in panel.get("targets", ())]
SUMMARIES = dict(re.findall(r"alert: (\w+)\n.*?summary: (.*?)\n", RULES, re.DOTALL))

SLOW, FAIL = "ForgeCheckpointsSlow", "ForgeCheckpointsFail"
ALL = 'forge_checkpoint_seconds_count{instance="a"}'
FAST = 'forge_checkpoint_seconds_bucket{instance="a",le="2.0"}'
FAILED = 'forge_checkpoint_failures_total{instance="a"}'
MADE = 'forge_checkpoints_total{instance="a",cause="time"}'
TAKEN_BACK = 'forge_checkpoints_total{instance="a",cause="rollback"}'

needs_promtool = pytest.mark.skipif(shutil.which("promtool") is None, reason="no promtool here")


async def test_the_dashboard_asks_for_what_is_exported() -> None:
    """Of what has no value yet the kind is told. Labels are those of the page, and of Prometheus itself."""
    kinds = {line.split()[2]: line.split()[3] for line in await scrape(Metrics(Bus())) if line.startswith("# TYPE")}
    wanted = {f"{name}_bucket" if kind == "histogram" else name for name, kind in kinds.items()}
    named = {name for each in ASKED for name in re.findall(r"\bforge_\w+", each)}
    assert named
    assert named <= wanted
    labels = {name for each in ASKED for names in re.findall(r"by \(([^)]*)\)", each) for name in names.split(", ")}
    labels |= {name for each in ASKED for name in re.findall(r"(\w+)!?=~?\"", each)}
    described = {name for names in re.findall(r"`forge_\w+\{([^}]*)\}`", PAGE) for name in names.split(",")}
    assert labels <= described | {"le", "instance", "type", "status", "outcome", "tool"}


@needs_promtool
def test_every_query_of_the_dashboard_can_be_read(tmp_path: Path) -> None:
    asked = [each.replace("$__rate_interval", "5m").replace("$instance", ".*") for each in ASKED]
    rules = [{"record": f"forge:panel:{number}", "expr": each} for number, each in enumerate(asked)]
    (tmp_path / "rules.yml").write_text(json.dumps({"groups": [{"name": "dashboard", "rules": rules}]}))
    done = subprocess.run(
        ["promtool", "check", "rules", "rules.yml"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


async def test_rules_and_queries_name_what_is_exported() -> None:
    """Also the buckets, whose bounds are compared as text."""
    lines = [line for line in await scrape(Metrics(Bus())) if not line.startswith("#")]
    exported = {re.split(r"[{ ]", line)[0] for line in lines}
    buckets = {match[0] for line in lines for match in re.finditer(r'forge_\w+_bucket\{le="[^"]+"', line)}
    asked = "".join(QUERIES)
    named = set(re.findall(r"\bforge_\w+", asked))
    assert named
    assert named <= exported
    assert set(re.findall(r'forge_\w+_bucket\{le="[^"]+"', asked)) <= buckets
    assert {SLOW, FAIL} == SUMMARIES.keys()


@needs_promtool
@pytest.mark.parametrize(
    ("series", "alerts"),
    [
        pytest.param({ALL: "0x20", FAST: "0x20", FAILED: "0x20", MADE: "0x20"}, (), id="nothing"),
        pytest.param({ALL: "0+2x20", FAST: "0+2x20", FAILED: "0x20", MADE: "0+2x20"}, (), id="all fast"),
        pytest.param({ALL: "0x5 1x3 2x20", FAST: "0x30"}, (), id="two slow"),
        pytest.param({ALL: "0x5 1x3 3x20", FAST: "0x30"}, (SLOW,), id="three slow"),
        pytest.param({ALL: "5+4x20", FAST: "0+4x5 22+4x20"}, (), id="two slow among many, and earlier ones"),
        pytest.param({ALL: "50x5 0x3 2x20", FAST: "40x5 0x3 2x20"}, (), id="a restart"),
        pytest.param({FAILED: "0x5 1x20", MADE: "0x5 2x20"}, (), id="one failure"),
        pytest.param({FAILED: "0x5 3x20", MADE: "0+4x20"}, (), id="three failures of many"),
        pytest.param({FAILED: "0x5 3x20", MADE: "0x5 2x20"}, (FAIL,), id="three failures of few"),
        pytest.param(
            {FAILED: "0x5 3x20", MADE: "0x5 2x20", TAKEN_BACK: "0x5 90x20"}, (FAIL,), id="roll-backs hide no failure"
        ),
    ],
)
def test_rules_ask_when_they_should(series: Mapping[str, str], alerts: tuple[str, ...], tmp_path: Path) -> None:
    expected = [
        {
            "eval_time": "15m",
            "alertname": name,
            "exp_alerts": [{"exp_annotations": {"summary": summary}}] if name in alerts else [],
        }
        for name, summary in SUMMARIES.items()
    ]
    told = [{"series": name, "values": values} for name, values in series.items()]
    case = {"interval": "1m", "input_series": told, "alert_rule_test": expected}
    (tmp_path / "rules.yml").write_text(RULES)
    (tmp_path / "test.yml").write_text(json.dumps({"rule_files": ["rules.yml"], "tests": [case]}))
    for command in (["check", "rules", "rules.yml"], ["test", "rules", "test.yml"]):
        done = subprocess.run(["promtool", *command], cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
