"""What a delivery of a webhook asks for, done: runs are admitted, superseded, cancelled and retried."""
