"""The database itself: connections, writers, tables."""
