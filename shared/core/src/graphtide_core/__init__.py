"""The words of the domain: ids, time, edges, patterns, plans, matches, errors and ports.

Standard library only, no input or output: everything else in graphtide imports this package and it imports nothing of theirs.
"""
