"""Subgraph isomorphism: each match is a subgraph that has the pattern's shape, reported when its last edge arrives."""
