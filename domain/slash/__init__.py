"""The `/forge` commands: the table of verbs, their typed arguments, and the mistakes people make in them."""
