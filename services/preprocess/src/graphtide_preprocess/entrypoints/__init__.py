"""How the job is run."""
