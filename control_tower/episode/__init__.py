"""One sample's life: the Inspect task, the solver, scoring, the outcome and its verdict."""
