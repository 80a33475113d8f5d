"""The log in memory: for one process that needs no broker, and for tests."""

from graphtide_log.memory.log import MemoryLog

__all__ = ["MemoryLog"]
