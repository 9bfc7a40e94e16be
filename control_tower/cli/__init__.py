"""The `ct` command: click groups, one file a group, imported when they are used."""
