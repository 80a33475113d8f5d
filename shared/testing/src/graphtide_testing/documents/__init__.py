"""Documents whose blocks are true: read them, run them, compare what comes with what they show."""
