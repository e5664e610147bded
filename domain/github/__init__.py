"""GitHub's objects: pull requests, issues, checks, comments, workflow runs."""
