"""Event patterns: those of a stream are matched together, by one plan of the sub-patterns that they share."""
