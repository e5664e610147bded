"""State that processes share: leases on executor ids, halts, and GitHub's rate limits."""
