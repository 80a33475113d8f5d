"""Running plans over ordered streams: what every matcher service does, for any engines."""
