"""Webhook deliveries, and what is counted or noted from them."""
