"""Seeded streams and the patterns drawn from them, kept as files, and passes of a matcher over them."""
