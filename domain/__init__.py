"""The vocabulary of Forge: values, ids, states, errors and ports; no input or output."""
