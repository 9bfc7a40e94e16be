"""The pytest plugin: control evaluations as test items."""
