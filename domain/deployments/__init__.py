"""Deployments: their states, their steps, and what the figures of the running service say."""
