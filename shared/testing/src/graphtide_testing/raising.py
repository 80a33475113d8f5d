"""What a test asserts where it asserts that nothing is raised."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

T = TypeVar("T")


@contextmanager
def raises_nothing() -> Iterator[None]:
    """Assert that the block raises no exception.

    Raises:
        AssertionError: it raises one.
    """
    try:
        yield
    except Exception as error:
        message = f"{type(error).__name__}: {error}"
        raise AssertionError(message) from error


def read_or_refused(read: Callable[[], T], refusal: type[Exception]) -> T | None:
    """Return what is read, or None where it is refused by this exception.

    Raises:
        AssertionError: it raises another exception.
    """
    with raises_nothing():
        try:
            return read()
        except refusal:
            return None
    return None
