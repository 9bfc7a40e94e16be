"""Untrusted policies, one component a file."""
