"""The tester: which commands and tests run, what their reports say, and what failures mean.

Nothing is imported here, so that a warm worker loads only the modules it needs.
"""
