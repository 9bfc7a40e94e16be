"""Runners: where samples run, behind one interface."""
