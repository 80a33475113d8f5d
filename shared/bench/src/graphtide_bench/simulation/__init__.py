"""Measures the engines of dual simulation after the experiments of paper 000."""
