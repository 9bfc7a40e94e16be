"""The HTTP API: routing, handlers, and the server that carries them."""
