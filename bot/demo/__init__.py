"""The demo: a whole Forge against a simulated GitHub on this machine, shown step by step in the terminal."""
