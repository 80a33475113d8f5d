"""What the service does, over ports: taking bodies, appending to the log, sequencing a stream exactly once."""
