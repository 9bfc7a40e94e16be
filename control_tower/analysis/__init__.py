"""Figures about many outcomes."""
