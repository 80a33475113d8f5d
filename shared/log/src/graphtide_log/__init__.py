"""The log in memory and on Apache Kafka, checkpoints in memory and in Redis, and what all who read the log need."""
