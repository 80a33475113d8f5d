"""What every implementation of a port must do: one suite a port, one subclass with one fixture an implementation."""
