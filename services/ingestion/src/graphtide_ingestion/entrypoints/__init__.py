"""How the outside world reaches the service: HTTP, and a thread for each stream."""
