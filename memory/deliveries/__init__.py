"""Webhook deliveries, and what is recorded from them."""
