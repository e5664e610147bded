"""A mirror of a remote, as the tests of the workspace have it."""

from tests.unit.workspace.conftest import author, mirror, mirrors, remote

__all__ = ["author", "mirror", "mirrors", "remote"]
