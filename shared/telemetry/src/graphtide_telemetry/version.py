"""The version of what is installed: packages by themselves, or all of them in the wheel `graphtide`."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from typing import Final

_WHOLE: Final = "graphtide"


def version_of(distribution: str) -> str:
    """Return the version of a package of ours, by the name it has where it is installed by itself.

    Raises:
        PackageNotFoundError: neither is installed.
    """
    try:
        return version(distribution)
    except PackageNotFoundError:
        return version(_WHOLE)
