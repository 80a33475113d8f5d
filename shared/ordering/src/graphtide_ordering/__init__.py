"""How a stream gets its order: reading raw records, progress of sources, the sequencer, what goes out. No input or output."""
