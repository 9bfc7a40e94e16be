"""Blue protocols, one component a file."""
