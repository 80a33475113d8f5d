"""Plan streaming graph queries: as expressions of the algebra, and as operators that run."""
