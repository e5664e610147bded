"""Every word that people read: on GitHub, and where the terminal says the same."""
