"""Trajectories in other forms: tables for data frames, and Inspect logs."""
