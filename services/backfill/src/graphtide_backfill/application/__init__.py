"""What a backfill does, step by step, over ports."""
