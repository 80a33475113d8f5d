"""Who calls: keys and tokens."""
