"""Millrace: the job queue that the company's products share."""
