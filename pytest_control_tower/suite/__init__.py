"""The built-in suite."""
