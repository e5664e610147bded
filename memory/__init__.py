"""What happened and what was learned: tables, ledger, runs, findings and the outbox."""
