"""State that processes share: leases on executor ids, halts, rate limits of GitHub."""
