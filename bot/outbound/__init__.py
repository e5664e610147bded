"""The one HTTP client for addresses that a repository's configuration names."""
