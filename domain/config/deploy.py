"""How a repository deploys: its environments, how a change gets there, and by which figures it is watched."""

import re
from collections.abc import Iterator, Mapping
from functools import cached_property
from math import ceil
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, StringConstraints

from domain.config.values import CommandLine, Contradiction, Glob, Minutes, Section
from domain.deployments.readings import is_json_path
from domain.review.review import RiskLevel

DIRECT = (100,)
_MEDIUM = (5, 25, 100)
_HIGH = (5, 10, 25, 50, 100)

PLACEHOLDERS = ("environment", "ref", "percentage", "deployment")
"""What a deploy command may name in braces, and what a workflow gets as inputs."""


def _check_address(text: str) -> str:
    address = urlsplit(text)
    if address.scheme not in {"http", "https"} or not address.hostname:
        raise ValueError("is no address that begins with http:// or https:// and names a host")
    if address.username or address.password:
        raise ValueError("names an account; Forge reads only what anybody may read at that address")
    return text


def is_environment(name: str) -> bool:
    """Whether an environment may have this name."""
    return re.fullmatch(_ENVIRONMENT, name) is not None


def _check_stages(stages: tuple[int, ...]) -> tuple[int, ...]:
    if list(stages) != sorted(set(stages)) or stages[-1] != 100:
        raise ValueError("does not rise to 100")
    return stages


Address = Annotated[
    str,
    StringConstraints(min_length=1, max_length=500, pattern=r"^[\x21-\x7e]+$"),
    AfterValidator(_check_address),
    Field(examples=["https://shop.example.com/health"]),
]
_ENVIRONMENT = r"^[A-Za-z0-9][A-Za-z0-9_./-]{0,99}$"
EnvironmentName = Annotated[
    str,
    StringConstraints(pattern=_ENVIRONMENT),
    Field(examples=["staging", "production"]),
]
Stages = Annotated[
    tuple[Annotated[int, Field(ge=1, le=100)], ...],
    Field(min_length=1, max_length=20, examples=[[5, 25, 100]]),
    AfterValidator(_check_stages),
]
WorkflowFile = Annotated[
    str,
    StringConstraints(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.-]{0,98}\.ya?ml$"),
    Field(examples=["deploy.yml"]),
]
Seconds = Annotated[int, Field(ge=1, le=86_400)]
Ratio = Annotated[float, Field(ge=0, le=1000, allow_inf_nan=False)]


class HealthCheck(Section):
    """An address that answers while the service is well."""

    url: Address
    contains: str = Field(default="", max_length=200, description="A text that a good answer contains.")


class ServiceMetric(Section):
    """A figure of the running service: from an address that answers in JSON, or from a Prometheus server."""

    url: Address = Field(description="Of the JSON, or of the Prometheus server.")
    path: str = Field(
        default="",
        max_length=200,
        pattern=r"^[^\x00-\x1f]*$",
        description="Where the figure is in the JSON.",
        examples=["errors.rate", "services.0.latency"],
    )
    query: str = Field(
        default="", max_length=1000, pattern=r"^[^\x00-\x1f]*$", description="Or a Prometheus query with one result."
    )


class ErrorRate(ServiceMetric):
    """The share of requests that fail, 0 to 1, compared by difference with what it was."""

    degraded: Ratio = Field(default=0.01, description="Risen by more: hold, and ask.")
    unhealthy: Ratio = Field(default=0.05, description="Risen by more: roll back.")


class Latency(ServiceMetric):
    """How long the service takes to answer, in any unit. Compared with its baseline by ratio."""

    degraded: Ratio = Field(default=1.5, description="More than so many times what it was: hold, and ask.")
    unhealthy: Ratio = Field(default=2.5, description="More than so many times what it was: roll back.")
    least: Ratio = Field(default=0, description="A rise by less, in the unit of the figure, is noise.")


class Throughput(ServiceMetric):
    """How many requests the service answers, in any unit. Compared with its baseline by ratio."""

    degraded: Ratio = Field(default=0.7, description="Less than so many times what it was: hold, and ask.")
    unhealthy: Ratio = Field(default=0.4, description="Less than so many times what it was: roll back.")


_RANGE = re.compile(r"\[\s*((?:\d{1,6}(?:ms|[smhdw]))+)\s*(?::[^\]]*)?\]")
_RULE = re.compile(r":[A-Za-z_]*?(\d{1,6}(?:ms|[smhdw]))\b")  # of a recording rule, as job:http_errors:rate5m
_OFFSET = re.compile(r"\boffset\s+((?:\d{1,6}(?:ms|[smhdw]))+)", re.IGNORECASE)
_SPAN = re.compile(r"(\d+)(ms|[smhdw])")
_TAKES_SILENCE_FOR_NONE = re.compile(r"\bor\s+vector\(\s*0(\.0*)?\s*\)\s*$", re.IGNORECASE)
_UNITS = {"ms": 0.001, "s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}
AnyMetric = ErrorRate | Latency | Throughput


class WatchSettings(Section):
    """What is watched while a change reaches it."""

    health: tuple[HealthCheck, ...] = Field(default=(), max_length=10, description="Addresses that all must answer.")
    error_rate: ErrorRate | None = None
    latency: Latency | None = Field(
        default=None, description="The same by ratio, in any unit; a rise by less than `least` is noise."
    )
    throughput: Throughput | None = Field(default=None, description="The same by ratio, in any unit.")
    interval: Seconds = Field(default=15, description="Seconds between two looks.")
    window: Seconds = Field(default=120, description="Seconds of watching after each step.")
    bake: Seconds = Field(default=300, description="Seconds of watching after the last step.")
    settle: Annotated[int, Field(ge=0, le=86_400)] = Field(
        default=0,
        description="Seconds for which figures remember what was before, where no range of a query says it.",
    )
    patience: int = Field(default=3, ge=1, le=20, description="So many bad looks in a row roll it back at once.")

    @property
    def metrics(self) -> Mapping[str, AnyMetric]:
        """The configured figures by name."""
        known = {"error_rate": self.error_rate, "latency": self.latency, "throughput": self.throughput}
        return {name: metric for name, metric in known.items() if metric is not None}

    @property
    def watches(self) -> bool:
        """Whether anything is watched."""
        return bool(self.health or self.metrics)

    def count_looks(self, *, is_last: bool) -> int:
        """How often it is looked at after a step.

        :param is_last: whether everything runs on the new version now.
        """
        return max(self.patience, -(-(self.bake if is_last else self.window) // self.interval))

    @property
    def more_looks(self) -> int:
        """How many further looks a roll-back may take, because its figures still remember the bad version.

        As long as the longest range and offset of a query, such as ``[1m] offset 30s``, as ``settle``, and as patience.
        """
        remembered = max((_find_memory(metric.query) for metric in self.metrics.values()), default=0)
        return max(self.patience, ceil(max(remembered, self.settle) / self.interval))


def _find_memory(query: str) -> float:
    """How many seconds a query looks back, or the recording rule that it names, if that is named as usual."""
    ranges = [*_RANGE.findall(query), *_RULE.findall(query)]
    return sum(max(map(_read_span, spans), default=0) for spans in (ranges, _OFFSET.findall(query)))


def _read_span(span: str) -> float:
    return sum(int(count) * _UNITS[unit] for count, unit in _SPAN.findall(span))


class RolloutStrategy(Section):
    """The steps, in percent of the traffic, by the risk of the change."""

    low: Stages = Field(default=DIRECT, description="At low risk.")
    medium: Stages = Field(default=_MEDIUM, description="At medium risk.")
    high: Stages = Field(default=_HIGH, description="At high, critical and unknown risk.")

    def choose(self, risk: RiskLevel | None) -> tuple[int, ...]:
        """The steps for a change of this risk; None: not known."""
        if risk is RiskLevel.low:
            return self.low
        return self.medium if risk is RiskLevel.medium else self.high


class Environment(Section):
    """One environment. It needs `workflow` or `command`."""

    production: bool | None = Field(
        default=None,
        description="A person always decides there; by default a name that begins with `prod` says so.",
    )
    url: Address | None = Field(default=None, description="Where people find it.")
    trigger: Literal["merge", "command", "never"] = Field(
        default="command",
        description="`merge`: what is merged into the default branch, and on command; `command`: on `/forge deploy "
        "ENV`; `never`.",
    )
    workflow: WorkflowFile | None = Field(
        default=None,
        description="A workflow in `.github/workflows/` that deploys.",
    )
    command: CommandLine | None = Field(
        default=None,
        description="Or a command, in the sandbox; `{environment}`, `{ref}`, `{percentage}`, `{deployment}` are "
        "replaced.",
    )
    minutes: Minutes | None = Field(
        default=None, description="Time for one step; by default `breakers.time.deployment`."
    )
    required: tuple[Annotated[str, StringConstraints(min_length=1, max_length=200)], ...] | None = Field(
        default=None,
        max_length=50,
        description="Checks that must have succeeded on the merged commit; by default all that are there.",
    )
    strategy: RolloutStrategy = RolloutStrategy()
    verify: WatchSettings = WatchSettings()


class Build(Section):
    """What is built before each deployment, in the sandbox."""

    command: CommandLine | None = Field(
        default=None,
        description="Builds the artifact before anything is deployed; by default `commands.build`.",
    )
    artifact: Glob | None = Field(
        default=None, description="Files of which it must leave at least one that is not empty."
    )


class Feedback(Section):
    """What follows from what monitoring tells of production."""

    issues: bool = Field(default=True, description="Open issues about production, from level 1 on.")
    label: Annotated[str, StringConstraints(min_length=1, max_length=50)] | None = Field(
        default=None,
        description="A label for them; it starts nothing by itself.",
        examples=["production"],
    )
    resolved_label: Annotated[str, StringConstraints(min_length=1, max_length=50)] | None = Field(
        default="resolved",
        description="Their label while monitoring says that it is over; null: none.",
    )


class DeploySettings(Section):
    """How what was merged reaches its environments."""

    build: Build = Build()
    feedback: Feedback = Feedback()
    environments: Annotated[
        dict[EnvironmentName, Environment],
        Field(max_length=20, description="Environments by name.", json_schema_extra={"additionalProperties": False}),
    ] = {}

    @cached_property
    def merge_environments(self) -> tuple[str, ...]:
        """The environments that every merge reaches."""
        return tuple(name for name, each in self.environments.items() if each.trigger == "merge")

    def is_production(self, name: str) -> bool:
        """Whether an environment is production. One that is not known counts as such."""
        environment = self.environments.get(name)
        if environment is None:
            return True
        named = name.lower().startswith("prod")
        return named if environment.production is None else environment.production


def find_deploy_mistakes(deploy: DeploySettings) -> Iterator[Contradiction]:
    """Finds contradictions in the settings of deployments."""
    for name, environment in deploy.environments.items():
        place = ("deploy", "environments", name)
        if name.startswith("C-"):
            yield Contradiction(place, "looks like the id of a checkpoint, so no command could name it", "another name")
        yield from _check_way(place, environment)
        yield from _check_verification((*place, "verify"), environment.verify)
    if deploy.build != Build() and not deploy.environments:
        yield Contradiction(("deploy", "build"), "builds for no environment", "`environments`")


def _check_way(place: tuple[str, ...], environment: Environment) -> Iterator[Contradiction]:
    if (environment.workflow is None) == (environment.command is None):
        how = "names neither `workflow` nor `command`" if environment.workflow is None else "names both"
        yield Contradiction(place, how, "one of `workflow` and `command`")
    for name in _list_placeholders(environment.command or ""):
        if name not in PLACEHOLDERS:
            known = ", ".join(f"`{{{each}}}`" for each in PLACEHOLDERS)
            yield Contradiction((*place, "command"), f"names `{{{name}}}`, which Forge does not replace", known)


def _list_placeholders(line: str) -> Iterator[str]:
    for part in line.split("{")[1:]:
        name, end, _ = part.partition("}")
        if end and name.isidentifier():
            yield name


def _check_verification(place: tuple[str, ...], verify: WatchSettings) -> Iterator[Contradiction]:
    for name, metric in verify.metrics.items():
        if bool(metric.path) == bool(metric.query):
            how = "names neither `path` nor `query`" if not metric.path else "names both `path` and `query`"
            yield Contradiction((*place, name), how, "`path` for JSON, `query` for Prometheus")
        if metric.path and not is_json_path(metric.path):
            yield Contradiction((*place, name, "path"), "is no path", "keys and positions, such as `errors.0.rate`")
        if name == "error_rate" and _TAKES_SILENCE_FOR_NONE.search(metric.query):
            right = "`(… or vector(0))` around the counter of errors alone"
            how = "ends with `or vector(0)`: none where nobody counts"
            yield Contradiction((*place, name, "query"), how, right)
        is_falling = name == "throughput"
        if metric.degraded != metric.unhealthy and (metric.unhealthy < metric.degraded) != is_falling:
            relation = "above" if is_falling else "below"
            yield Contradiction(
                (*place, name, "unhealthy"), f"is {relation} `degraded` ({metric.degraded:g})", "a worse value"
            )
