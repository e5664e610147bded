"""Pure decisions: facts, limits and now in; a verdict with its reasons out."""
