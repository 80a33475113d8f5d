"""What an alert is, and who gets it; no input or output."""
