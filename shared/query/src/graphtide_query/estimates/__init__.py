"""What planning estimates for every family, what estimating may spend, and the patterns that a plan runs among."""
