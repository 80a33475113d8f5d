"""What the job does, over ports: planning what to read, putting a micro-batch in order, committing it."""
