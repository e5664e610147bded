"""What makes work durable: the journal of a workflow, its queues, and how it begins anew after an update."""
