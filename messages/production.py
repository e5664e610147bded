"""Every text about a problem in production: its issue, the comment with its counters, and what is learned from it.

All that a sender chose is hostile: it is masked, and shown as code.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from domain.deployments.deployment import Deployment
from domain.deployments.problems import ProductionProblem, Suspect
from domain.deployments.stack import StackTrace, parse_stack
from domain.text.escaping import code_block, inline_code, inline_path, strip_invisible

LONGEST_TITLE = 120
LONGEST_SHOWN = 12_000  # characters of a stack in an issue, which may have 65,536 in all
_OWNERS = ("service", "service_name", "job", "app", "instance")  # labels that say whose figure it is
_PLAIN = re.compile(r"[^\w./$<>:-]+")


@dataclass(frozen=True)
class ProblemOrigin:
    """With what a problem came, as far as Forge knows.

    :param is_named: the sender named the deployment or its commit; otherwise it is what the environment runs.
    :param is_under_way: it is still being deployed.
    :param compared: Forge could compare the deployment with what was there before.
    """

    deployment: Deployment | None = None
    is_named: bool = False
    is_under_way: bool = False
    compared: bool = False


def title_problem(problem: ProductionProblem) -> str:
    """The title of its issue: nothing in it is more than letters, digits and a few signs."""
    anomaly, where = problem.anomaly, _plain(problem.report.environment)
    if anomaly is not None:
        whose = next((f" of {_plain(anomaly.labels[name])}" for name in _OWNERS if anomaly.labels.get(name)), "")
        return f"Production: {_plain(anomaly.metric)}{whose} in {where}"[:LONGEST_TITLE]
    return f"Production: {_name_error(_read(problem))} in {where}"[:LONGEST_TITLE]


def render_issue(problem: ProductionProblem, origin: ProblemOrigin, marker: str) -> str:
    """The body of its issue."""
    told = f"{inline_code('/forge run')} lets Forge look for a correction and propose it."
    if origin.deployment is not None:
        back = inline_code(f"/forge rollback {origin.deployment.environment}")
        told = f"{told} {back} goes back to what was deployed before."
    parts = [
        _tell(problem),
        _describe_evidence(problem),
        _describe_origin(origin),
        _describe_suspects(problem, origin),
        _describe_earlier(problem),
        f"**What to do**: {told} Closing this issue ends it; Forge opens another one if the problem comes back.",
        marker,
    ]
    return "\n\n".join(part for part in parts if part)


def render_counters(problem: ProductionProblem, marker: str) -> str:
    """The comment that is kept up to date below the issue."""
    rows = ["| environment | seen | last |", "| --- | --- | --- |"]
    for name, seen in sorted(problem.environments.items()):
        rows.append(f"| {inline_code(name)} | {seen.count:,} | {seen.last:%Y-%m-%d %H:%M} UTC |")
    users = f" Affected users: {problem.affected_users:,}." if problem.affected_users else ""
    over = "**Seen again.**"
    if problem.resolved_at is not None:
        over = (
            f"**Over**, as monitoring said at {problem.resolved_at:%Y-%m-%d %H:%M} UTC. Close this issue if you agree."
        )
    told = f"{over} {problem.occurrences:,} times in {problem.reports:,} reports since {_since(problem)}.{users}"
    figures = "" if problem.anomaly is None else _describe_evidence(problem)
    return "\n\n".join(part for part in (told, "\n".join(rows), figures, marker) if part)


def list_problem(problem: ProductionProblem, repository: str) -> str:
    """One line about a problem for a terminal."""
    shown = "no issue" if problem.issue is None else f"#{problem.issue}{' (closed)' if problem.closed_at else ''}"
    seen = f"{problem.occurrences:,} times since {_since(problem)}, last {problem.last_seen:%Y-%m-%d %H:%M} UTC"
    why = f": {problem.said}" if problem.said and problem.issue is None else ""
    return strip_invisible(f"{problem.fingerprint}  {repository}  {title_problem(problem)}  {seen}  {shown}{why}")


def explain_level(reason: str) -> str:
    """That the automation level does not allow an issue."""
    return f"Only recorded. {reason}."


ISSUES_OFF = "Only recorded. `.github/forge.yml` says `deploy.feedback.issues: false`."
ASKED_BY = "Monitoring"
"""Who asks a deployment to hold."""


def explain_pause(paused_by: str) -> str:
    """That a person paused Forge here."""
    return f"Only recorded. {paused_by} paused Forge in this repository."


def describe_lesson(problem: ProductionProblem, fixed: Sequence[str]) -> tuple[str, str]:
    """What is learned from a problem that a merged pull request solved: what to know, and when it matters.

    Only what Forge found out itself, and names without white space of the sender's.

    :param fixed: paths that the pull request changed.
    """
    where = _plain(problem.report.environment)
    changed = f"`{'`, `'.join(fixed[:3])}`"
    causes = list(dict.fromkeys(each.path for each in problem.suspects if each.path not in fixed))
    after = f" It came with a change of `{causes[0]}`." if causes else ""
    if problem.anomaly is not None:
        what = f"the figure `{_plain(problem.anomaly.metric)}`"
        context = f"a change may affect {what} in {where}"
    else:
        what = f"`{_plain(_read(problem).exception) or 'an error'}`"
        context = f"a change touches {changed}"
    content = f"Production showed {what} in {where} until a change of {changed}.{after} Check that it is kept."
    return content, context[:200]


def _tell(problem: ProductionProblem) -> str:
    where = inline_code(problem.report.environment)
    anomaly, error = problem.anomaly, problem.error
    if anomaly is not None:
        return f"Monitoring reports that {inline_code(anomaly.metric)} in {where} is not as usual."
    named = _read(problem).exception
    told = f"Monitoring reports an error in {where}{f': {inline_code(named)}' if named else ''}."
    release = f" Release: {inline_code(error.release)}." if error is not None and error.release else ""
    users = f", to {problem.affected_users:,} people" if error is not None and error.affected_users is not None else ""
    return f"{told} It happened {problem.occurrences:,} times since {_since(problem)}{users}.{release}"


def _describe_evidence(problem: ProductionProblem) -> str:
    anomaly, error = problem.anomaly, problem.error
    if anomaly is not None:
        said = f"It says: {inline_code(anomaly.summary, 1000)}" if anomaly.summary else ""
        rows = ["| usual | now | at |", "| --- | --- | --- |"]
        figures = " | ".join(_show_figure(each) for each in (anomaly.baseline, anomaly.current))
        rows.append(f"| {figures} | {anomaly.at:%Y-%m-%d %H:%M} UTC |")
        labels = [f"| {inline_code(name)} | {inline_code(value)} |" for name, value in sorted(anomaly.labels.items())]
        named = "\n".join(["| label | value |", "| --- | --- |", *labels]) if labels else ""
        shown = f"The sender shows it at {inline_code(anomaly.url, 500)}." if anomaly.url else ""
        return "\n\n".join(part for part in (said, "\n".join(rows), named, shown) if part)
    return "" if error is None else code_block(_cut_middle(error.stack.rstrip()))


def _show_figure(figure: float | None) -> str:
    return "not known" if figure is None else f"{figure:.6g}"


def _describe_origin(origin: ProblemOrigin) -> str:
    deployment = origin.deployment
    if deployment is None:
        return "Forge does not know which deployment it came with."
    commit, pull = inline_code(deployment.sha[:7]), f"#{deployment.number}"
    of = f"{inline_code(deployment.short_id)} of {commit} ({pull})"
    if origin.is_named:
        return f"The sender names the deployment {of}."
    if origin.is_under_way:
        return f"The deployment {of} was under way at the time."
    return f"Since {deployment.finished_at or deployment.created_at:%Y-%m-%d %H:%M} UTC the environment runs {of}."


def _describe_suspects(problem: ProductionProblem, origin: ProblemOrigin) -> str:
    if problem.error is None or origin.deployment is None:
        return ""
    if problem.suspects:
        return "\n\n".join(_list_suspects(problem.suspects))
    if origin.compared:
        return "No place of the stack is in a file that this deployment changed, so the cause may be older."
    return "Forge could not compare this deployment with what was there before."


def _list_suspects(suspects: Sequence[Suspect]) -> Iterator[str]:
    """Each kind of them below what it says: a line that was changed says more than one beside it."""
    told = {
        True: "**Likely cause**: this deployment changed these lines of the stack.",
        False: "**To look at**: these lines of the stack are in files that this deployment changed elsewhere.",
    }
    for is_changed, said in told.items():
        listed = [f"- {_describe_suspect(each)}" for each in suspects if each.is_changed is is_changed]
        if listed:
            yield "\n".join([said, "", *listed])


def _describe_suspect(suspect: Suspect) -> str:
    place = suspect.path if suspect.line is None else f"{suspect.path}:{suspect.line}"
    within = f" in {inline_code(suspect.function, 100)}" if suspect.function else ""
    return f"{inline_path(place)}{within}"


def _describe_earlier(problem: ProductionProblem) -> str:
    if problem.issue is None:
        return ""
    return f"The same problem was in #{problem.issue}, which was closed. It is back."


def _read(problem: ProductionProblem) -> StackTrace:
    return StackTrace() if problem.error is None else parse_stack(problem.error.stack)


def _name_error(stack: StackTrace) -> str:
    name = _plain(stack.exception) or "an error"
    if not stack.frames:
        return name
    nearest = stack.frames[0]
    function, file = _plain(nearest.function), _plain(nearest.path.rpartition("/")[2])
    return f"{name} in {function} ({file})" if function else f"{name} in {file}"


def _plain(text: str) -> str:
    """A name of the sender's without anything that could be more than a name."""
    return _PLAIN.sub("", text)[:80].strip(".:-/<>")


def _since(problem: ProductionProblem) -> str:
    return f"{problem.first_seen:%Y-%m-%d %H:%M} UTC"


def _cut_middle(text: str) -> str:
    """A long text without its middle: what happened is at the beginning of a stack or at its end."""
    if len(text) <= LONGEST_SHOWN:
        return text
    half = LONGEST_SHOWN // 2
    return f"{text[:half]}\n… {len(text) - LONGEST_SHOWN:,} characters left out …\n{text[-half:]}"
