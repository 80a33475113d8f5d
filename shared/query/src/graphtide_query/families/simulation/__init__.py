"""Dual simulation: what is reported are components, in which many edges may match each edge of the pattern."""
