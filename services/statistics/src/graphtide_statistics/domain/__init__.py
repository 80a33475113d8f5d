"""What is counted of one stream; nothing here reads or writes."""
