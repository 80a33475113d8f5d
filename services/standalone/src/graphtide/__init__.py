"""graphtide in one process: command line, Python interface, embedded runtime."""
