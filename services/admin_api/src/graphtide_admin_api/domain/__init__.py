"""What a registration is and what becomes of it; nothing here reads or writes."""
