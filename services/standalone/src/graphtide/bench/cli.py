"""The commands of `graphtide bench`."""

from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from graphtide_core.errors import FatalError
from graphtide_core.plan import Storage
from graphtide_query.planner import ENGINES
from rich.console import Console

from graphtide.bench import concurrency as threads_bench
from graphtide.bench import known, many as many_bench, memory as memory_bench, subgraph as subgraph_bench
from graphtide.bench.cache import DEFAULT_CACHE
from graphtide.bench.compare import compare as compare_reports
from graphtide.bench.measure import SOURCES
from graphtide.bench.report import Report, read, this_machine
from graphtide.bench.summary import by_pattern
from graphtide.bench.workload import WORKLOADS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

app = typer.Typer(help="Measure the engines over seeded workloads; every run checks its matches.", no_args_is_help=True)

_STORAGES = tuple(storage.value for storage in Storage)
