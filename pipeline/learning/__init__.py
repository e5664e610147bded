"""Learning from runs: reflections, and the nightly consolidation of memories."""
