"""What ingestion asks of others over a network."""
