"""The REST API, one module per family of endpoints."""
