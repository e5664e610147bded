"""The run of one issue: plan, implementation, tests and the pull request."""
