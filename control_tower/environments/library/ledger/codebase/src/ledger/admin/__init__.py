"""The admin command line: `python3 -m ledger.admin --help`."""
