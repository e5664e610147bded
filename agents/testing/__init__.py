"""The tester's deterministic half: which commands and tests are run, what their reports say, what failures mean.

Nothing is imported here: a warm worker takes what it needs of this package and no more.
"""
