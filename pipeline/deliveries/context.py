"""What the handling of one delivery works with."""

from dataclasses import dataclass

from pipeline.context import Services
from pipeline.durable.journal import WorkflowJournal


@dataclass(frozen=True)
class DeliveryContext:
    """The parts of Forge, the journal of the delivery's workflow, and the delivery.

    :param guid: of the delivery.
    """

    services: Services
    journal: WorkflowJournal
    guid: str
