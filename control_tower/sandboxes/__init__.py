"""Where tool calls land: the sandboxes a run can choose from."""
