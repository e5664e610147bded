"""The ledger of events and what it tells of safety."""
