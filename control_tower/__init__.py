"""Control Tower: AI-control evaluations that run as pytest tests."""
