"""Trajectories: the record of one run, its schema, and where it is kept."""
