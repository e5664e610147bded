"""Durable work: the journal of a workflow, the table of workflows, their queues, and restarts after an update."""
