"""The database: tables, ledger, runs, gates, findings, money and memories."""
