"""Tests of the batch."""
