"""Environments: their model, loading and discovery."""
