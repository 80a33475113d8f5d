"""Slow, obviously right implementations: what every engine is compared with."""
