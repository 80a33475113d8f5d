"""Adapters of the ports in `graphtide_core.ports`, and what services share."""
