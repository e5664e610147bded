"""Handles the buttons of our checks: of a gate, and of a deployment, which commands steer as well."""

from domain.commands import DecideGate, Sender, SteerDeployment
from domain.deployments.deployment import Deployment, DeploymentState, Wish
from domain.gates import Choice
from domain.slash import Deploy
from domain.verbs import VERBS, Verb
from memory import gates
from memory.deployments import deployments
from memory.runs import runs
from messages import deliveries as texts
from messages import deployments as deployment_texts
from messages import gate_answers
from pipeline.automation.follow_up import follow_up
from pipeline.context import DeliveryContext, Services
from pipeline.deliveries.cancellation import start_deployment
from pipeline.deployment.orders import ask_of_deployment, counts_as_production, order_rollback
from pipeline.durable.queues import enqueue_resume
from pipeline.gates.actor import authorise_or_record, load_actor
from pipeline.gates.decide import GateAnswer, decide_gate
from pipeline.publishing.gate_checks import refresh_gate
from safety.gate_requests import HOLD


async def press_gate(context: DeliveryContext, command: DecideGate) -> str:
    """Decide a gate by its button, or show its state; how that ended."""
    gate = await gates.get(context.services.database, command.gate_id)
    if gate is None or gate.repository.id != command.repository.id:
        return texts.NO_GATE
    if command.choice is Choice.view:
        looked = context.services.clock.now()
        await context.journal.step("show the gate", refresh_gate, context.services, gate, "", looked)
        return texts.GATE_SHOWN
    answer = GateAnswer(command.sender, command.choice, seen_head=command.head_sha)
    decided = (await context.journal.step("decide", decide_gate, context.services, context.guid, gate, answer)).text
    note = gate_answers.report_button(command.sender.login, decided)

    async def show() -> None:
        await context.journal.step("show the gate", _show_decision, context.services, gate.id, note)

    await follow_up(context, gate.repository, gate.number, VERBS[Verb.approve].effects, show)
    return decided


async def is_gate_press_in_vain(context: DeliveryContext, command: DecideGate) -> bool:
    """Whether the press decided nothing. GitHub reports the next press in the same words, so it has to count then."""
    gate = await gates.get(context.services.database, command.gate_id)
    return gate is None or gate.decision is None or gate.decision.cause != context.guid


async def _show_decision(services: Services, gate_id: str, note: str) -> None:
    """A decided gate shows its decision already."""
    gate = await gates.get(services.database, gate_id)
    if gate is not None and gate.is_waiting:
        await refresh_gate(services, gate, note)


async def press_deployment(context: DeliveryContext, command: SteerDeployment) -> str:
    """Do what a button of a deployment's check asks for; how that ended."""
    database, journal = context.services.database, context.journal
    found = await journal.step("which deployment", deployments.get, database, command.run_id)
    if found is None or found.repository_id != command.repository.id:
        return texts.NO_DEPLOYMENT
    if not await context.journal.step("may they", _may, context, command, found):
        return texts.BUTTON_REFUSED
    if found.state.is_over:
        if command.wish is not Wish.roll_back:
            return deployment_texts.refuse_no_deployment(found.environment)
        there = (database, found.repository_id, found.environment)
        now = await journal.step("does it run there", deployments.find_there, *there)
        if now is None or now.run_id != found.run_id:  # as far as Forge knows: its page may be old
            return deployment_texts.refuse_replaced(found)
        where = (command.repository, found.number, found.environment, command.sender)
        ordered = await context.journal.step("order it", order_rollback, context.services, context.guid, *where)
        await start_deployment(context, ordered)
        return ordered.answer
    return await steer(context, found, command.wish, command.sender)


async def steer(context: DeliveryContext, deployment: Deployment, wanted: Wish, sender: Sender) -> str:
    """Ask something of a deployment under way, for somebody who may; the answer."""
    if deployment.state is DeploymentState.holding or wanted is Wish.go_on:  # it may ask already, and say so soon
        answered = await context.journal.step("answer the hold", _answer_hold, context, deployment, wanted, sender)
        if answered is not None:
            return answered
    if wanted is Wish.go_on or (wanted is Wish.hold and deployment.is_untouched):
        return deployment_texts.refuse_wish(wanted, deployment)
    if wanted is Wish.hold and deployment.state is DeploymentState.rolling_back:
        return deployment_texts.refuse_hold(deployment)
    wish = Wish.cancel if deployment.is_untouched and wanted is Wish.roll_back else wanted
    asked = (context.services, deployment, wish, sender.login)
    if not await context.journal.step("ask it", ask_of_deployment, *asked):
        return deployment_texts.refuse_no_deployment(deployment.environment)
    if deployment.state is DeploymentState.asking:
        run = await context.journal.step("whose run waits", runs.get, context.services.database, deployment.run_id)
        if run is None:  # it waits for a person, and nothing else wakes it
            raise LookupError(f"run {deployment.run_id} is gone")
        await enqueue_resume(run, context.guid)
    return deployment_texts.confirm_wish(wish, deployment)


async def _may(context: DeliveryContext, command: SteerDeployment, deployment: Deployment) -> bool:
    """Whether who pressed it has the role now. If GitHub does not say, the step is repeated, and nothing is done."""
    services = context.services
    actor = await load_actor(services, command.repository, None, command.sender)
    is_production = await counts_as_production(services, command.repository, deployment)
    known = actor.model_copy(update={"is_production": is_production})
    asked = Deploy(environment=deployment.environment)
    return await authorise_or_record(services, context.guid, asked, known) is None


async def _answer_hold(context: DeliveryContext, deployment: Deployment, wanted: Wish, sender: Sender) -> str | None:
    """Answer the question of a deployment that holds; None if it waits for no answer any more."""
    known = await gates.list_for_run(context.services.database, deployment.run_id)
    gate = next((each for each in known if each.name == HOLD and each.is_waiting), None)
    if gate is None or wanted is Wish.hold:
        return None if gate is None else deployment_texts.confirm_wish(wanted, deployment)
    choice = Choice.approve if wanted is Wish.go_on else Choice.reject
    answer = GateAnswer(sender, choice, seen_head=deployment.sha)
    return (await decide_gate(context.services, context.guid, gate, answer)).text
