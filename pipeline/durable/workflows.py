"""The table of workflows: name, queue, id and partition, as the database stores them. None of it ever changes."""

from dataclasses import dataclass

from dbos import EnqueueOptions

APP_VERSION = "forge"  # one for ever: DBOS does not resume a workflow under another version

DELIVERIES = "deliveries"  # short work
RUNS = "runs"
DEPLOYMENTS = "deployments"  # its own: a command that deploys takes long
INSTRUCTIONS = "instructions"  # its own: an agent takes long, and a push is reviewed meanwhile
TESTS = "tests"  # its own: tests take long, and must not delay anything else
HEARINGS = "hearings"  # its own: a model takes its time, and must not delay anything else
LEARNING = "learning"
FEEDBACKS = "feedbacks"  # its own: it may wait for GitHub, and must not delay anything else
QUEUES = (DELIVERIES, RUNS, DEPLOYMENTS, INSTRUCTIONS, TESTS, HEARINGS, LEARNING, FEEDBACKS)

_PULL_REQUEST = "{repository}#{number}"
_REPOSITORY = "{repository}"


@dataclass(frozen=True)
class Workflow:
    """One kind of durable work.

    :param id: names one execution; work that is queued twice under one id is done once.
    :param partition: works of one partition run one after the other; None: at the same time.
    :param again: ends the id where the same work is queued once more for another occasion.
    :param restarts: whether it is queued again under another id where its journal does not fit its code any more.
    """

    name: str
    queue: str
    id: str
    partition: str | None = None
    again: str = ""
    restarts: bool = True

    def build_options(self, **key: str | int) -> EnqueueOptions:
        """How DBOS queues it.

        :param key: what the templates of ``id``, ``partition`` and ``again`` name.
        """
        template = self.id + self.again if "occasion" in key else self.id
        partition = None if self.partition is None else self.partition.format(**key)
        return self.build_options_as(template.format(**key), partition)

    def build_options_as(self, workflow_id: str, partition: str | None) -> EnqueueOptions:
        """How DBOS queues it under an id of another form."""
        options: EnqueueOptions = {
            "workflow_name": self.name,
            "queue_name": self.queue,
            "workflow_id": workflow_id,
            "app_version": APP_VERSION,
        }
        if partition is not None:
            options["queue_partition_key"] = partition
        return options


# What does the work of each is in pipeline.worker.workflows.
DELIVERY = Workflow("delivery", DELIVERIES, "{guid}")
RUN = Workflow("review_run", RUNS, "{run}", _PULL_REQUEST, again="/{occasion}")
DEPLOY = Workflow("deployment", DEPLOYMENTS, "{run}", "{run}", again="/{occasion}")  # turns: by environment
INSTRUCT = Workflow("instruction", INSTRUCTIONS, "{run}", _PULL_REQUEST, again="/{occasion}")
CLOSE_RUN = Workflow("last_word", DELIVERIES, "{run}/last word", again=" after {occasion}")
TEST = Workflow("test", TESTS, "{run}/test {occasion}", _PULL_REQUEST)
READ_REPLY = Workflow("hear", HEARINGS, "{run}/hear {occasion}", _PULL_REQUEST)
ANSWER = Workflow("answer", HEARINGS, "{run}/answer {occasion}", _PULL_REQUEST)
AUTOMATE = Workflow("acting", DELIVERIES, "{run}/act {occasion}")
REFLECT = Workflow("reflect", LEARNING, "{run}/reflection {occasion}", _REPOSITORY, restarts=False)
CONSOLIDATE = Workflow("consolidate", LEARNING, "consolidate:{occasion}:{repository}", _REPOSITORY, restarts=False)
FEEDBACK = Workflow("feedback", FEEDBACKS, "feedback:{problem}/{occasion}", "{problem}")
HOLD = Workflow("hold", FEEDBACKS, "hold:{problem}/{deployment}", "{problem}/hold")

WORKFLOWS = (
    DELIVERY,
    RUN,
    DEPLOY,
    INSTRUCT,
    CLOSE_RUN,
    TEST,
    READ_REPLY,
    ANSWER,
    AUTOMATE,
    REFLECT,
    CONSOLIDATE,
    FEEDBACK,
    HOLD,
)
