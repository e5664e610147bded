"""Work on the code of others: mirrors, worktrees, and the processes that may look at it."""
