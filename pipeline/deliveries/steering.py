"""Steers a deployment under way: holds it, lets it go on, rolls it back or ends it, by button or by command."""

from domain.commands import Sender, SteerDeployment
from domain.deployments.deployment import Deployment, DeploymentState, Wish
from domain.gates import Choice, Gate
from domain.runs.run import Run
from domain.slash.commands import Deploy
from memory import gates
from memory.deployments import deployments
from memory.runs import runs
from messages import deliveries as delivery_texts
from messages import deployments as texts
from pipeline.deliveries.cancellation import Cancellation
from pipeline.deliveries.context import DeliveryContext
from pipeline.deliveries.deployments import DeploymentStarter
from pipeline.deployment.orders import ask_of_deployment, counts_as_production, order_rollback
from pipeline.durable.queues import enqueue_resume
from pipeline.gates.actor import load_actor, record_refusal
from pipeline.gates.decide import GateAnswer, decide_gate
from safety.authorization import authorise
from safety.deployment_gates import HOLD


async def handle_button(context: DeliveryContext, command: SteerDeployment) -> str:
    """Do what a button of a deployment's check asks for; how that ended."""
    found = await context.journal.step("which deployment", _find, context, command)
    if found is None:
        return delivery_texts.NO_DEPLOYMENT
    if not await context.journal.step("may they", _may, context, command, found):
        return delivery_texts.BUTTON_REFUSED
    if found.state.is_over:
        if command.wish is not Wish.roll_back:
            return texts.refuse_no_deployment(found.environment)
        if not await context.journal.step("does it run there", _runs_there, context, found):
            return texts.refuse_replaced(found)
        where = (command.repository, found.number, found.environment, command.sender)
        ordered = await context.journal.step("order it", order_rollback, context.services, context.guid, *where)
        await DeploymentStarter(context, Cancellation(context)).start(ordered)
        return ordered.answer
    return await steer(context, found, command.wish, command.sender)


async def steer(context: DeliveryContext, deployment: Deployment, wanted: Wish, sender: Sender) -> str:
    """Ask something of a deployment under way, for somebody who may; the answer."""
    if deployment.state is DeploymentState.holding or wanted is Wish.go_on:  # it may ask already, and say so soon
        answered = await context.journal.step("answer the hold", _answer_hold, context, deployment, wanted, sender)
        if answered is not None:
            return answered
    if wanted is Wish.go_on or (wanted is Wish.hold and deployment.is_untouched):
        return texts.refuse_wish(wanted, deployment)
    if wanted is Wish.hold and deployment.state is DeploymentState.rolling_back:
        return texts.refuse_hold(deployment)
    wish = Wish.cancel if deployment.is_untouched and wanted is Wish.roll_back else wanted
    is_under_way = await context.journal.step("ask it", _ask, context, deployment, wish, sender.login)
    if not is_under_way:
        return texts.refuse_no_deployment(deployment.environment)
    if deployment.state is DeploymentState.asking:
        run = await context.journal.step("whose run waits", _load_run, context, deployment)
        await enqueue_resume(run, context.guid)
    return texts.confirm_wish(wish, deployment)


async def _find(context: DeliveryContext, command: SteerDeployment) -> Deployment | None:
    found = await deployments.get(context.services.database, command.run_id)
    return found if found is not None and found.repository_id == command.repository.id else None


async def _runs_there(context: DeliveryContext, deployment: Deployment) -> bool:
    """Whether its environment still runs what it deployed, as far as Forge knows: its page may be old."""
    where = (deployment.repository_id, deployment.environment)
    there = await deployments.find_there(context.services.database, *where)
    return there is not None and there.run_id == deployment.run_id


async def _may(context: DeliveryContext, command: SteerDeployment, deployment: Deployment) -> bool:
    """Whether who pressed it has the role now. If GitHub does not say, the step is repeated, and nothing is done."""
    services = context.services
    actor = await load_actor(services, command.repository, None, command.sender)
    is_production = await counts_as_production(services, command.repository, deployment)
    known = actor.model_copy(update={"is_production": is_production})
    refused = authorise(Deploy(environment=deployment.environment), known.facts)
    if refused is not None:
        await record_refusal(context.services, context.guid, command.sender, refused)
    return refused is None


async def _answer_hold(context: DeliveryContext, deployment: Deployment, wanted: Wish, sender: Sender) -> str | None:
    """Answer the question of a deployment that holds; None if it waits for no answer any more."""
    gate = await _find_hold(context, deployment)
    if gate is None or wanted is Wish.hold:
        return None if gate is None else texts.confirm_wish(wanted, deployment)
    choice = Choice.approve if wanted is Wish.go_on else Choice.reject
    answer = GateAnswer(sender, choice, seen_head=deployment.sha)
    return (await decide_gate(context.services, context.guid, gate, answer)).text


async def _find_hold(context: DeliveryContext, deployment: Deployment) -> Gate | None:
    known = await gates.list_for_run(context.services.database, deployment.run_id)
    return next((gate for gate in known if gate.name == HOLD and gate.is_waiting), None)


async def _ask(context: DeliveryContext, deployment: Deployment, wanted: Wish, by: str) -> bool:
    return await ask_of_deployment(context.services, deployment, wanted, by)


async def _load_run(context: DeliveryContext, deployment: Deployment) -> Run:
    """The run of a deployment; it waits for a person, and nothing else wakes it."""
    found = await runs.get(context.services.database, deployment.run_id)
    if found is None:
        raise LookupError(f"run {deployment.run_id} is gone")
    return found
