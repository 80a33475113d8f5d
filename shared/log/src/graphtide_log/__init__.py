"""The log in memory and on Apache Kafka, checkpoints in memory and in Redis, and tools for all readers of the log."""
