"""The command line of the people on call."""
