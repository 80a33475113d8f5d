"""Requests and answers of HTTP as documents show them: the lines of HTTP/1.1, a request's version left out."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

_REQUEST: Final = re.compile(r"([A-Z]+) (/\S*)")
_ANSWER: Final = re.compile(r"HTTP/1\.1 (\d{3}) .+")


@dataclass(frozen=True, slots=True)
class Request:
    """A request.

    Attributes:
        method: such as `POST`.
        target: path and query.
        headers: by their names as they are written.
        body: empty for none.
    """

    method: str
    target: str
    headers: Mapping[str, str]
    body: str

    @property
    def is_pattern(self) -> bool:
        """Whether it stands for many requests: names in braces are parts of its address."""
        return "{" in self.target


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer: its status, the headers that are shown, its body."""

    status: int
    headers: Mapping[str, str]
    body: str


def exchanges(text: str) -> list[Request | Answer]:
    """Return what an `http` block shows, in its order.

    Raises:
        ValueError: it begins otherwise.
    """
    found: list[Request | Answer] = []
    for part in re.split(r"^(?=[A-Z]+ /|HTTP/1\.1 )", text, flags=re.MULTILINE):
        if not part:
            continue
        head, _, body = part.partition("\n\n")
        first, *lines = head.strip().split("\n")
        headers = dict(line.split(": ", 1) for line in lines)
        if (request := _REQUEST.fullmatch(first)) is not None:
            found.append(Request(request[1], request[2], headers, body.strip("\n")))
        elif (answer := _ANSWER.fullmatch(first)) is not None:
            found.append(Answer(int(answer[1]), headers, body.strip("\n")))
        else:
            message = f"{first!r} is neither a request nor an answer"
            raise ValueError(message)
    return found
