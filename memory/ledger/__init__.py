"""The ledger of events and the safety audit."""
