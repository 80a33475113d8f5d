"""Benchmarks of what the planner chooses: selectivity, streams that change, engines that differ, the budget of planning."""
