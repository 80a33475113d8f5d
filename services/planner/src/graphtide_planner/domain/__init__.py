"""What to publish, from what is known; nothing here reads or writes."""
