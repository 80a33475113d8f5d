"""What graphtide needs of the outside world: one small Protocol a file."""
