"""The agent's tools and the backends that execute them."""
