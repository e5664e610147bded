"""Deliveries of webhooks and what they told."""
