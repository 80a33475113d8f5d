"""Create the parser of the grammar; its tables are computed once and cached in a file next to the grammar.

Computing them takes most of the time of a short command. The name of the file is a hash of their inputs: the grammar, and the
versions of the library and of Python. So another grammar has another file, and no file is out of date. The file begins with a
checksum and is renamed when it is complete, so several processes may write it at once. If it is damaged, or the folder is not
writable, the tables are computed. The folder is that of the code: a user who can write the file can also write the code.
"""

from __future__ import annotations

import hashlib
import io
import os
import sys
import tempfile
from contextlib import suppress
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import lark
from lark import Lark

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lark import Transformer

FOLDER: Final = Path(__file__).parent
_CHECKSUM: Final = hashlib.sha256().digest_size


def parser_of(transformer: Transformer[Any, Any], folder: Path = FOLDER, extensions: Sequence[str] = ()) -> Lark:
    """Return the parser of the pattern language, with extensions; it passes what it reads to a transformer.

    Complexity: that of reading the tables; some four times as much if they are not cached.
    """
    grammar = "\n".join([resources.files(__package__).joinpath("grammar.lark").read_text("utf-8"), *extensions])
    kept = folder / f"grammar-{_key(grammar)}.tables"
    tables = _read(kept)
    if tables is not None:
        found = Lark.__new__(Lark)
        # `Lark.load` takes no transformer; the name of the file has the version of the library.
        found._load(io.BytesIO(tables), transformer=transformer)  # noqa: SLF001 - as said
        return found
    made = Lark(grammar, parser="lalr", lexer="contextual", transformer=transformer, maybe_placeholders=True)
    buffer = io.BytesIO()
    made.save(buffer, exclude_options=("transformer",))
    with suppress(OSError):
        _write(kept, buffer.getvalue())
    return made


def _key(grammar: str) -> str:
    made_by = f"{grammar}\n{lark.__version__}\n{sys.implementation.cache_tag}"
    return hashlib.sha256(made_by.encode()).hexdigest()[:16]


def _read(kept: Path) -> bytes | None:
    """Return the tables of a file; None if there is none, or it is damaged."""
    try:
        content = kept.read_bytes()
    except OSError:
        return None
    tables = content[_CHECKSUM:]
    return tables if hashlib.sha256(tables).digest() == content[:_CHECKSUM] else None


def _write(kept: Path, tables: bytes) -> None:
    handle, name = tempfile.mkstemp(prefix="grammar-", suffix=".new", dir=kept.parent)
    new = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(hashlib.sha256(tables).digest() + tables)
        # Users who may read the code may read the tables.
        new.chmod(0o644)
        new.replace(kept)
    except OSError:
        new.unlink(missing_ok=True)
        raise
