"""What GitHub has: pull requests, issues, checks, comments, workflow runs."""
