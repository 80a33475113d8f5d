"""Protection of every service's routes from the network: connections, names, callers, bodies."""
