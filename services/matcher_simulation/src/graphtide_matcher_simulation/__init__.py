"""The matcher service of the engines of dual simulation: a thin shell around the host."""
