"""The last phase: brings a merged commit to an environment step by step, watches it, and takes it back."""
