"""Talks to GitHub, as the App and with a person's token."""
