"""The planner's ports on Kubernetes."""
