"""What the Python jobs of the batch share."""
