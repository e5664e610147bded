"""The code host: GitHub's REST API behind ``domain.ports.CodeHost``."""
