"""The agents that carry out a task: Forge's own and those of other makes, and what is kept of their work."""
