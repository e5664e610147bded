"""Rolls a commit out step by step: deploys, watches, and goes on, holds or goes back by what the figures say."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import NoReturn

from domain.deployments.deployment import Cause, Deployment, DeploymentState, Step, Wish
from domain.deployments.health import (
    Health,
    HealthBefore,
    Look,
    Signal,
    StageHealth,
    find_sick,
    find_unreadable,
    forget_sick,
    judge,
    judge_return,
)
from domain.errors import Unprocessable
from domain.gates import Gate, GateState
from domain.github.checks import HostDeploymentState
from domain.runs.run import ReasonCode
from domain.value import Value
from domain.verdicts import Reason
from memory import gates
from memory.deployments import deployments
from messages import deployments as texts
from pipeline.deployment.plan import DeploymentPlan
from pipeline.deployment.service import BaselineReader, DeployTransport, Watcher
from pipeline.deployment.status import DeploymentStatus
from pipeline.gates.ask import WaitingForGate, open_gate
from pipeline.publishing.deployment_record import GitHubRecord
from pipeline.run_context import RunContext
from safety.gate_requests import HOLD, request_hold

_Judge = Callable[[Sequence[Look]], StageHealth]
_ACCEPTED = frozenset({Health.degraded, Health.unknown})


class _Seen(Value):
    """One look, and what people ask for at that moment."""

    look: Look
    wish: Wish | None = None
    by: str = ""


@dataclass(frozen=True)
class RolloutEnd:
    """How a deployment ended.

    :param detail: why, for people.
    :param output: the end of what the last command printed.
    :param reason: None for the usual one of the state.
    """

    state: DeploymentState
    detail: str = ""
    output: str = ""
    reason: ReasonCode | None = None


class _Unhealthy(Exception):
    """It has to go back; the message says why.

    :param bad_after: how many looks it took to see that.
    """

    def __init__(self, why: str, output: str = "", bad_after: int = 0) -> None:
        super().__init__(why)
        self.output = output
        self.bad_after = bad_after


class _Unclear(Exception):
    """Something may still be changing what is deployed, so that nothing may be done over it; the message says what."""


class _NotBegun(Exception):
    """Nothing could be deployed, and nothing was; the message says why."""


class Rollout:
    """The steps of one deployment."""

    def __init__(
        self, context: RunContext, deployment: Deployment, plan: DeploymentPlan, status: DeploymentStatus
    ) -> None:
        self._context = context
        self._journal = context.journal
        self._deployment = deployment
        self._plan = plan
        self._verify = plan.environment.verify
        self._status = status
        self._transport = DeployTransport(context, deployment, plan)
        self._watcher = Watcher(context.services.outbound, self._verify.health, self._verify.metrics)
        self._baseline = HealthBefore()

    async def carry_out(self) -> RolloutEnd:
        """Roll out, from where an earlier execution stopped.

        :raises WaitingForGate: it holds, and a person has to say how to go on.
        """
        refused = await self._announce()
        if refused is not None:
            return RolloutEnd(DeploymentState.stopped, refused)
        self._baseline = await BaselineReader(self._context, self._deployment, self._plan, self._watcher).read()
        try:
            if self._deployment.state is DeploymentState.rolling_back:
                bad_after = await self._journal.step("how soon it was seen", self._read_bad_after)
                raise _Unhealthy(self._deployment.detail, bad_after=bad_after)
            return await self._roll_out()
        except _NotBegun as error:
            return RolloutEnd(DeploymentState.stopped, str(error))
        except _Unclear as error:
            return RolloutEnd(DeploymentState.failed, f"{error} It was not rolled back over that.")
        except _Unhealthy as error:
            return await self._roll_back(str(error), error.output, error.bad_after)

    async def _announce(self) -> str | None:
        """Create GitHub's record of it; why GitHub refuses, or None."""
        try:
            await self._journal.step("announce it", self._create_record)
        except Unprocessable as error:
            return f"GitHub refused the deployment: {error.message}"
        return None

    @property
    def _sick(self) -> Mapping[str, str]:
        """What was not well before it, with how it was."""
        return find_sick(self._verify, self._baseline)

    async def _roll_out(self) -> RolloutEnd:
        await self._respect_holds()
        if self._deployment.previous_sha and self._deployment.cause is not Cause.rollback:  # people wait for that
            await self._ask_about_before()
        health: StageHealth | None = None
        steps = {each.percentage: each for each in await self._journal.step("what was rolled out", self._list_steps)}
        for percentage in self._plan.stages:
            health = (steps.get(percentage) or await self._take_step(percentage)).health
            if health is None or health.health is Health.healthy:
                continue
            if health.health is Health.unhealthy:
                told = f"At {percentage} % it is unhealthy: {_describe(health)}."
                if self._sick and self._deployment.cause is Cause.rollback:
                    raise _Unclear(f"{told} What people took back for it was not well either.")
                raise _Unhealthy(told, bad_after=health.bad_after)
            await self._hold(f"step {percentage}", f"At {percentage} %: {_describe(health)}", health)
        return RolloutEnd(_name_end(health))

    async def _ask_about_before(self) -> None:
        """Ask before anything is deployed if what was before it is no measure."""
        if self._sick:
            told = "; ".join(self._sick.values())
            await self._hold("sick", f"It was not well before it, so nothing shows whether it does harm: {told}")
        unreadable = find_unreadable(self._verify, self._baseline.looks)
        if unreadable:
            await self._hold("unreadable", "The figures before it could not be read: " + "; ".join(unreadable))

    async def _take_step(self, percentage: int) -> Step:
        """Deploy one step, unless that was done, and watch it."""
        wished = await self._journal.step("what people ask", self._status.load)
        await self._obey(wished.wish, wished.wished_by)
        if wished.percentage < percentage:
            if not wished.percentage:  # from here on something may be deployed, whatever ends this run
                await self._status.show(DeploymentState.rolling_out)
            key = f"{self._context.run.id}-{percentage}-percent"
            outcome = await self._transport.deploy(self._deployment.sha, percentage, key)
            if outcome.may_go_on:
                raise _Unclear(f"Deploying {percentage} % failed: {outcome.problem}.")
            if not (outcome.began or wished.percentage):
                raise _NotBegun(f"Deploying {percentage} % could not begin: {outcome.problem}.")
            if not outcome.is_successful:
                raise _Unhealthy(f"Deploying {percentage} % failed: {outcome.problem}.", outcome.output)
            await self._status.show(DeploymentState.rolling_out, percentage=percentage)
        watched = await self._watch_step(is_last=percentage == self._plan.stages[-1]) if self._verify.watches else None
        wished = await self._journal.step("what people ask", self._status.load)
        if wished.wish is not Wish.hold:  # that is for before the next step
            await self._obey(wished.wish, wished.wished_by)
        step = Step(percentage=percentage, health=watched)
        await self._status.show(DeploymentState.rolling_out, percentage=percentage, step=step)
        return step

    async def _watch_step(self, *, is_last: bool) -> StageHealth:
        """Look until it is clear how the service is after a step."""
        wanted = self._verify.count_looks(is_last=is_last)
        if is_last and self._sick:  # from here on it has to be well, and not only no worse than it was
            return await self._watch(self._judge_return(wanted), wanted)
        before, sick = self._baseline.looks, self._sick
        return await self._watch(lambda looks: judge(self._verify, before, looks, wanted, sick), wanted)

    def _judge_return(self, wanted: int, bad_after: int = 0) -> _Judge:
        before = forget_sick(self._verify, self._baseline)
        return lambda looks: judge_return(self._verify, before, looks, wanted, bad_after)

    async def _watch(self, judge_looks: _Judge, wanted: int, *, obeys: bool = True) -> StageHealth:
        """Look until it is clear how the service is.

        :param obeys: whether people may hold it or take it back meanwhile; not while it goes back.
        """
        looks: list[Look] = []
        while True:
            await self._journal.pause(timedelta(seconds=self._verify.interval), "The next look at the service.")
            seen = await self._journal.step("look", self._look)
            looks.append(seen.look)
            stage = judge_looks(looks)
            if obeys:
                await self._obey(seen.wish, seen.by, stage)
            if stage.is_final:
                return stage
            self._status.show_look(stage, f"Look {len(looks)} of {max(wanted, len(looks) + 1)}")

    async def _roll_back(self, why: str, output: str, bad_after: int) -> RolloutEnd:
        """Deploy what was there before in the same way, and see whether that is well.

        :param bad_after: how many looks it took to see that it has to go back.
        """
        await self._status.show(DeploymentState.rolling_back, detail=why, output=output)
        sha = self._deployment.previous_sha
        if not sha:
            detail = f"{why} Forge knows nothing that it could go back to."
            return RolloutEnd(DeploymentState.failed, detail, output)
        key = f"{self._context.run.id}-back"
        outcome = await self._transport.deploy(sha, 100, key)
        if not outcome.is_successful:
            detail = f"{why} Going back to {sha[:7]} failed, too: {outcome.problem}."
            return RolloutEnd(DeploymentState.failed, detail, outcome.output)
        if not self._verify.watches:
            await self._journal.step("record the way back", self._record_way_back, key)
            return RolloutEnd(DeploymentState.rolled_back, f"{why} {sha[:7]} is back; nothing watches it.", output)
        wanted = self._verify.count_looks(is_last=False)
        stage = await self._watch(self._judge_return(wanted, bad_after), wanted, obeys=False)
        if stage.health is not Health.healthy:
            told = "whether it is well is not known" if stage.health is Health.unknown else "is not well"
            detail = f"{why} {sha[:7]} was deployed again, but {told}: {_describe(stage)}."
            return RolloutEnd(DeploymentState.failed, detail, output)
        await self._journal.step("record the way back", self._record_way_back, key)
        return RolloutEnd(DeploymentState.rolled_back, f"{why} {sha[:7]} is back and healthy.", output)

    # --- people --------------------------------------------------------------------------------------------------

    async def _obey(self, wish: Wish | None, by: str, now: StageHealth | None = None) -> None:
        """Do what a person asked for.

        :param now: what was seen so far of the step that is watched.
        :raises WaitingForGate: it holds.
        :raises _Unhealthy: it is to go back.
        """
        if wish is Wish.hold:
            count = await self._journal.step("take the hold", self._take_hold)
            await self._hold(f"wish {count}", f"{by} asked to hold", now, is_watched=True)
        elif wish in {Wish.roll_back, Wish.cancel}:
            await self._take_back(f"{by} asked to roll back.")

    async def _hold(
        self, occasion: str, why: str, health: StageHealth | None = None, *, is_watched: bool = False
    ) -> None:
        """Ask whether it may go on, once for each occasion.

        :param is_watched: the step of this health is not over.
        :raises WaitingForGate: nobody answered yet.
        :raises _Unhealthy: it may not.
        """
        gate = await self._journal.step("ask whether to go on", self._open_hold, occasion, why, health, is_watched)
        await self._respect(gate)

    async def _respect_holds(self) -> None:
        """Respect the answers to all holds of earlier executions."""
        for gate in await self._journal.step("what was answered", self._list_holds):
            await self._respect(gate)

    async def _respect(self, gate: Gate) -> None:
        if gate.is_waiting:
            await self._status.show(DeploymentState.holding, question=gate)
            raise WaitingForGate(gate)
        if gate.state is GateState.rejected and gate.decision is not None:
            words = f": {gate.decision.words}" if gate.decision.words else ""
            await self._take_back(f"{gate.decision.by_login} let it go back{words}.")
        if gate.state is GateState.expired:
            await self._take_back("It held, and nobody answered in time.")

    async def _take_back(self, why: str) -> NoReturn:
        """Let it go back; where nothing was deployed yet it ends.

        :raises _Unhealthy: it is to go back.
        :raises _NotBegun: there is nothing that could.
        """
        known = await self._journal.step("is anything deployed", self._status.load)
        if known.percentage or known.state is DeploymentState.rolling_out:  # its first step may have been cut short
            raise _Unhealthy(why)
        raise _NotBegun(f"{why} Nothing was deployed.")

    # --- steps ---------------------------------------------------------------------------------------------------

    async def _create_record(self) -> None:
        named = self._plan.environment.required
        await self._build_record(self._deployment.sha, self._context.run.id).create(named or ())

    async def _record_way_back(self, key: str) -> None:
        record = self._build_record(self._deployment.previous_sha, key)
        await record.create(())
        await record.report(HostDeploymentState.success, "success", "It is back")

    async def _look(self) -> _Seen:
        look = await self._watcher.look()
        deployment = await self._status.load()
        return _Seen(look=look, wish=deployment.wish, by=deployment.wished_by)

    async def _read_bad_after(self) -> int:
        """How many looks it took to see that the newest step was bad; 0 if something else was the reason."""
        steps = await self._list_steps()
        health = steps[-1].health if steps else None
        return 0 if health is None else health.bad_after

    async def _list_steps(self) -> list[Step]:
        return [*await deployments.list_steps(self._context.database, self._context.run.id)]

    async def _take_hold(self) -> int:
        """How often people let it hold so far; this one is being done now."""
        database, run_id = self._context.database, self._context.run.id
        known = len(await self._list_holds())
        await deployments.fulfil_wish(database, run_id, Wish.hold)
        return known

    async def _list_holds(self) -> list[Gate]:
        known = await gates.list_for_run(self._context.database, self._context.run.id)
        return [gate for gate in known if gate.name == HOLD]

    async def _open_hold(self, occasion: str, why: str, health: StageHealth | None, is_watched: bool) -> Gate:
        run, deployment = self._context.run, await self._status.load()
        steps = await self._list_steps()
        now = health if is_watched else None
        shows = texts.render_standing(texts.DeploymentReport(deployment, self._plan.stages, steps, now), health)
        request = request_hold(
            self._plan.configuration,
            deployment.environment,
            (run.id, occasion),
            Reason(code="deployment.hold", text=why),
            shows,
            is_production=self._plan.reaches_production(deployment),
        )
        return await open_gate(self._context.services, run, request)

    def _build_record(self, sha: str, key: str) -> GitHubRecord:
        url = self._plan.environment.url or ""
        return GitHubRecord(self._context.services, self._context.run, self._deployment, sha, key, url)


def _describe(stage: StageHealth) -> str:
    """What is not well, in words."""
    told = [
        f"{signal.name} is {signal.health.value}"
        + _describe_figures(signal)
        + (f": {signal.problem.rstrip('.')}" if signal.problem else "")
        for signal in stage.signals
        if signal.health is not Health.healthy
    ]
    return "; ".join(told) or stage.health.value


def _describe_figures(signal: Signal) -> str:
    if signal.now is None:
        return ""
    before = "" if signal.before is None else f"{signal.before:.4g} before, "
    return f" ({before}{signal.now:.4g} now)"


def _name_end(health: StageHealth | None) -> DeploymentState:
    """The state of a deployment that has all the traffic."""
    if health is None:
        return DeploymentState.unverified
    return DeploymentState.degraded if health.health in _ACCEPTED else DeploymentState.healthy
