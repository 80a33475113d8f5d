"""A whole deployment in one process: the services as they are, over a log and checkpoints in memory or over real servers."""
