"""Statistics of the streams that patterns are on."""
