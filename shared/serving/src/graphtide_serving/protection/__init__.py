"""What stands between the network and the routes of every service: connections, names, callers, bodies."""
