"""The ways to a target."""
