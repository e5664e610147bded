"""Deployments: what is read from what was deployed."""
