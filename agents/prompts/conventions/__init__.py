"""The conventions that a repository wrote down: reads them from its default branch, and chooses what a model sees."""
