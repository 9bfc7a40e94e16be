"""A double-entry payments ledger with an HTTP API and an admin command line."""

__version__ = "2.6.1"
