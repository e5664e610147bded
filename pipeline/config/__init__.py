"""The files by which a repository steers Forge: read, examined, and which of them hold."""
