"""The ingestion service: edges in over HTTP and raw topics, each stream out in its total order."""
