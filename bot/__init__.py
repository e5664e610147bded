"""The process: webhook door, settings, GitHub adapter, engine set-up and command line."""
