"""Who calls a service over HTTP, and how often."""
