"""Running plans over ordered streams: what every matcher service does, whichever engines it is for."""
