"""The command line: `graphtide VERB …`."""
