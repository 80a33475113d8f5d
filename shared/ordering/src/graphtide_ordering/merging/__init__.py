"""Several ordered streams as one, in the order of epoch, time and name of the stream."""
