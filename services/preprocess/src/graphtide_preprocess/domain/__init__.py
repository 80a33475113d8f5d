"""What the job knows by itself: blocks of records, patterns' wishes, what went out lately. No input or output."""
