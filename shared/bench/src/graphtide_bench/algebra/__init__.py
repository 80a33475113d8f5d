"""Measures plans of streaming graph queries, as the experiments of paper 001 do."""
