"""The configuration files of repositories: reading, checking, and choosing the effective one."""
