"""What the service knows by itself: reading raw records, progress of sources, the order of a stream. No input or output."""
