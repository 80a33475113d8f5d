"""How a backfill is started."""
