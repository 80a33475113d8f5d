"""Alerts: deliver matches to targets, each at least once and exactly accounted for."""
