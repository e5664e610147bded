"""What processes share: leases on executor ids, halts, limits of GitHub."""
