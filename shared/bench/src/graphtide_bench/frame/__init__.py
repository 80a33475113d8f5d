"""The frame of every benchmark: runs of a case, kinds of results, tables, reports, and the options of commands and scripts."""
