"""Harnesses: the loops that turn assistant turns into tool calls, one a file."""
