"""The job's parts as Spark takes them: a source, a stateful operator, a sink, a session."""
