"""The sandbox for untrusted work: its levels, its launcher and its workers."""
