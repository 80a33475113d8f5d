"""The matcher service of the engine sj-tree: a thin shell around the host."""
