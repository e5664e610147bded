"""The review of one head."""
