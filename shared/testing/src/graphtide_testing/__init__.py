"""Oracles, Hypothesis strategies and fakes for tests; nothing else imports this package."""
