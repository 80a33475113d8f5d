"""The matcher service of the engines of streaming graph queries: a thin shell around the host."""
