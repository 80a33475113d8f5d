"""The planner: every pattern gets an engine, a plan and a host."""
