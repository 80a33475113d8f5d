"""The matcher service of the engines timing, re-search and filtering: a thin shell around the host."""
