"""Puts streams in order, without input or output: decodes raw records, follows sources, sequences, and packs the output."""
