"""What the job does, over ports: planning what to read, putting a turn in order, committing it."""
