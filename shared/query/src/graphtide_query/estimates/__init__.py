"""Estimates for planning of every family: costs, bursts, work budgets, and the load of co-located patterns."""
