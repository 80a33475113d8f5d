"""What the job knows by itself: blocks of records, registrations, recent output. No input or output."""
