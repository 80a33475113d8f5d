"""Dual simulation: reports components, in which many edges may match each edge of the pattern."""
