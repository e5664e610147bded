"""The process: webhook endpoint, settings, GitHub client, workflow engine set-up and command line."""
