"""The matcher service of the engine of event patterns: a thin shell around the host."""
