"""How a repository says that it deploys: what each setting means, and where each mistake is told."""

import pytest
from pydantic import ValidationError

from domain.config.configuration import Configuration
from domain.config.deploy import PLACEHOLDERS, DeploySettings, RolloutStrategy, WatchSettings, find_deploy_mistakes
from domain.review.review import RiskLevel
from pipeline.config.parsing import parse

STAGING = "deploy: {environments: {staging: {workflow: deploy.yml"


def _parse(text: str) -> Configuration:
    parsed = parse(text.encode())
    assert parsed.mistakes == ()
    assert parsed.configuration is not None
    return parsed.configuration


def _list_mistakes(text: str) -> list[str]:
    return [f"{one.path} {one.what}" for one in parse(text.encode()).mistakes]


def test_nothing_is_deployed_by_default() -> None:
    assert Configuration().deploy == DeploySettings()
    assert DeploySettings().merge_environments == ()


def test_values_arrive() -> None:
    deploy = _parse("""
deploy:
  build: {command: make dist, artifact: dist/*.whl}
  environments:
    staging:
      trigger: merge
      workflow: deploy.yml
      minutes: 5
      required: [unit, e2e]
      strategy: {low: [50, 100]}
      verify:
        health: [{url: "https://staging.example.com/health", contains: ok}]
        latency: {url: "http://prometheus:9090", query: "histogram_quantile(0.9, x)"}
        window: 60
    eu/production: {command: "./deploy {environment} {ref} {percentage} {deployment}"}
""").deploy
    assert deploy.merge_environments == ("staging",)
    staging, production = deploy.environments["staging"], deploy.environments["eu/production"]
    assert (staging.trigger, staging.required, staging.strategy.low) == ("merge", ("unit", "e2e"), (50, 100))
    assert staging.verify.count_looks(is_last=False) == 4
    assert [*staging.verify.metrics] == ["latency"]
    assert (production.trigger, production.required, production.verify.watches) == ("command", None, False)


@pytest.mark.parametrize(
    ("risk", "steps"),
    [
        (RiskLevel.low, (100,)),
        (RiskLevel.medium, (5, 25, 100)),
        (RiskLevel.high, (5, 10, 25, 50, 100)),
        (RiskLevel.critical, (5, 10, 25, 50, 100)),
        (None, (5, 10, 25, 50, 100)),
    ],
)
def test_the_riskier_the_smaller_the_steps(risk: RiskLevel | None, steps: tuple[int, ...]) -> None:
    assert RolloutStrategy().choose(risk) == steps


@pytest.mark.parametrize("stages", ["[5, 25]", "[25, 5, 100]", "[5, 5, 100]", "[100, 5]", "[0, 100]", "[101]", "[]"])
def test_steps_must_rise_to_all_of_the_traffic(stages: str) -> None:
    mistakes = _list_mistakes(f"{STAGING}, strategy: {{medium: {stages}}}}}}}}}")
    assert mistakes
    assert all(mistake.startswith("deploy.environments.staging.strategy.medium") for mistake in mistakes)


# --- production ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "said", "expected"),
    [
        ("production", "", True),
        ("Production", "", True),
        ("prod-eu", "", True),
        ("staging", "", False),
        ("pre-production", "", False),
        ("live", "", False),
        ("live", ", production: true", True),
        ("prod-like-test", ", production: false", False),
    ],
)
def test_the_name_says_what_is_production_unless_the_file_does(name: str, said: str, expected: bool) -> None:
    deploy = _parse(f"deploy: {{environments: {{{name}: {{workflow: deploy.yml{said}}}}}}}").deploy
    assert deploy.is_production(name) is expected


def test_an_environment_that_nobody_knows_counts_as_production() -> None:
    assert DeploySettings().is_production("staging")


# --- mistakes ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "mistake"),
    [
        (
            "deploy: {environments: {staging: {trigger: merge}}}",
            "deploy.environments.staging names neither `workflow` nor `command`",
        ),
        (f"{STAGING}, command: ./deploy}}}}}}", "deploy.environments.staging names both"),
        (
            "deploy: {environments: {staging: {command: './deploy {sha}'}}}",
            "deploy.environments.staging.command names `{sha}`, which Forge does not replace",
        ),
        (
            "deploy: {environments: {C-4ZK9QX: {workflow: deploy.yml}}}",
            "deploy.environments.C-4ZK9QX looks like the id of a checkpoint, so no command could name it",
        ),
        ("deploy: {build: {command: make}}", "deploy.build builds for no environment"),
        (
            f"{STAGING}, verify: {{latency: {{url: 'https://a.example'}}}}}}}}}}",
            "deploy.environments.staging.verify.latency names neither `path` nor `query`",
        ),
        (
            f"{STAGING}, verify: {{latency: {{url: 'https://a.example', path: a, query: b}}}}}}}}}}",
            "deploy.environments.staging.verify.latency names both `path` and `query`",
        ),
        (
            f"{STAGING}, verify: {{latency: {{url: 'https://a.example', path: a..b}}}}}}}}}}",
            "deploy.environments.staging.verify.latency.path is no path",
        ),
        (
            f"{STAGING}, verify: {{latency: {{url: 'https://a.example', path: a, degraded: 3}}}}}}}}}}",
            "deploy.environments.staging.verify.latency.unhealthy is below `degraded` (3)",
        ),
        (
            f"{STAGING}, verify: {{throughput: {{url: 'https://a.example', path: a, degraded: 0.2}}}}}}}}}}",
            "deploy.environments.staging.verify.throughput.unhealthy is above `degraded` (0.2)",
        ),
        (
            f"{STAGING}, verify: {{error_rate: {{url: 'https://a.example', query: 'a / b or vector(0)'}}}}}}}}}}",
            "deploy.environments.staging.verify.error_rate.query ends with `or vector(0)`: none where nobody counts",
        ),
    ],
)
def test_a_contradiction_is_told_at_its_place(text: str, mistake: str) -> None:
    assert _list_mistakes(text) == [mistake]


@pytest.mark.parametrize("url", ["ftp://a.example", "https://", "a.example/health", "https://ann:secret@a.example"])
def test_an_address_must_be_one_that_anybody_may_read(url: str) -> None:
    (mistake,) = _list_mistakes(f"{STAGING}, verify: {{health: [{{url: '{url}'}}]}}}}}}}}")
    assert mistake.startswith("deploy.environments.staging.verify.health[0].url")
    assert "secret" not in mistake


@pytest.mark.parametrize("name", ["deploy.yml", "Deploy-2.yaml"])
def test_a_workflow_is_a_file_of_its_folder(name: str) -> None:
    assert _parse(f"deploy: {{environments: {{staging: {{workflow: {name}}}}}}}")


@pytest.mark.parametrize("name", ["../deploy.yml", ".github/workflows/deploy.yml", "deploy.sh", "-deploy.yml"])
def test_a_workflow_is_no_path(name: str) -> None:
    assert _list_mistakes(f"deploy: {{environments: {{staging: {{workflow: '{name}'}}}}}}")


@pytest.mark.parametrize("name", ["two words", "-x", "é", "a" * 101])
def test_an_environment_has_a_name_that_a_command_can_write(name: str) -> None:
    assert _list_mistakes(f"deploy: {{environments: {{'{name}': {{workflow: deploy.yml}}}}}}")


def test_every_placeholder_is_known_and_other_braces_are_left_alone() -> None:
    line = " ".join(f"{{{name}}}" for name in PLACEHOLDERS) + " ${HOME} {} {1} {a b} {x"
    settings = DeploySettings.model_validate({"environments": {"staging": {"command": f"./deploy {line}"}}})
    found = [each.what for each in find_deploy_mistakes(settings)]
    assert found == ["names `{HOME}`, which Forge does not replace"]


@pytest.mark.parametrize(
    "watched",
    [
        "error_rate: {url: 'https://a.example', query: '(a or vector(0)) / b'}",  # one counter may be silent
        "latency: {url: 'https://a.example', path: a, degraded: 2, unhealthy: 2}",
    ],
)
def test_what_is_no_contradiction(watched: str) -> None:
    assert _list_mistakes(f"{STAGING}, verify: {{{watched}}}}}}}}}") == []


@pytest.mark.parametrize("values", [{"patience": 0}, {"interval": 0}, {"window": 0}, {"bake": 86_401}])
def test_watching_has_limits(values: dict[str, int]) -> None:
    with pytest.raises(ValidationError):
        WatchSettings.model_validate(values)
