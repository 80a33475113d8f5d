"""What a deployment needs for a load: partitions, processor cores, memory, Redis and disk of Kafka, by component.

Every number was measured and names its section of `docs/benchmarks`; `docs/how-to/capacity.md` has the formulas and what they
leave out. The measurements are of one kind of machine and of generated streams: they give the size, and the metrics of the
services give the rest.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import Final

MIB: Final = 1024**2
GIB: Final = 1024**3

HTTP_RATE: Final = 447_000.0
"""Edges a second that a core takes over HTTP into Kafka, in bodies of 1,000 ("Through the services")."""

PARTITION_RATE: Final = 764_000.0
"""Edges a second that were written into one partition over HTTP, in bodies of 10,000 ("Through the services")."""

SEQUENCER_RATE: Final = 333_000.0
"""Edges a second that a core puts in order on Kafka, in records of 4,000 ("Through the services")."""

MATCHER_NANOSECONDS: Final = 1e9 / 2.43e6
"""Of a shard, for each edge that it reads, with any patterns: 2.43 million a second with one ("Through the services")."""

PATTERN_NANOSECONDS: Final = 2.9
"""Of a pattern for each edge of its stream; many patterns share few labels ("What auto chooses among many patterns", M)."""

STATISTICS_RATE: Final = 2_870_000.0
"""Edges a second that a core counts, at the least of four streams ("Statistics of a stream")."""

BROKER_NANOSECONDS: Final = 1e9 * 0.667 / 2.43e6
"""Of brokers for each edge: two thirds of a core at 2.43 million a second ("Through the services")."""

BROKER_CORES: Final = 0.35
"""Of brokers for the transactions of one stream in the default profile, however few its edges ("Through the services")."""

ADMIN_CORES: Final = 0.012
PLANNER_CORES: Final = 0.044
"""Of processes that do next to nothing for an edge, while patterns come and go ("Through the services")."""

INGESTION_BYTES: Final = 136 * MIB
ADMIN_BYTES: Final = 96 * MIB
PLANNER_BYTES: Final = 63 * MIB
STATISTICS_BYTES: Final = 107 * MIB
MATCHER_BYTES: Final = 137 * MIB
REDIS_BYTES: Final = 13 * MIB
BROKER_BYTES: Final = 512 * MIB
"""Resident memory of each process after ten minutes at 2,000 edges a second. For a broker it is the heap that the tests give
it ("Through the services")."""

WINDOW_BYTES: Final = 184
"""Of a shard, for each edge of a window that its patterns want whole ("Sizes")."""

PATTERN_BYTES: Final = 21_910
"""Of a shard, for each pattern of two edges ("Sizes")."""

CHECKPOINT_BYTES: Final = 51
"""Of Redis, for each edge of the window of a shard ("Sizes")."""

ORDERED_BYTES: Final = 48
"""Of an ordered edge without attributes, in records of 4,096 ("Sizes")."""

LEAST_PARTITIONS: Final = 4
"""Partitions of a raw topic by default."""


@dataclass(frozen=True, slots=True)
class Load:
    """What a deployment has to do.

    Attributes:
        edges_per_second: of all streams together.
        patterns: that are registered, of all streams together.
        streams: that the edges are of, in equal parts.
        window_seconds: of the patterns, in time that passes.
        wanted: share of the edges that some pattern could use: those that shards keep for a window.
        retention_seconds: how long raw and ordered edges are kept.
        edge_bytes: of an edge as it comes.
        replication: of topics.
        use: share of a core, and of what a stream can do, that is planned with; the rest is for bursts and for catching up.
        pattern_nanoseconds: of a pattern for each edge of its stream.
    """

    edges_per_second: float
    patterns: int
    streams: int = 1
    window_seconds: float = 600.0
    wanted: float = 1.0
    retention_seconds: float = 24 * 3600.0
    edge_bytes: float = 106.0
    replication: int = 3
    use: float = 0.5
    pattern_nanoseconds: float = PATTERN_NANOSECONDS


@dataclass(frozen=True, slots=True)
class Component:
    """What one component needs, all its instances together; bytes of memory and of disk."""

    name: str
    instances: int
    cores: float
    memory_bytes: float
    disk_bytes: float = 0.0


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a load needs.

    Attributes:
        partitions: of the raw topic of each stream; its ordered topic has one.
        components: in the order of an edge's way.
        warnings: what cannot be had at this load, and what helps.
    """

    partitions: int
    components: tuple[Component, ...]
    warnings: tuple[str, ...] = ()


def estimate(load: Load) -> Estimate:
    """Return what a load needs."""
    of_a_stream = load.edges_per_second / load.streams
    http = load.edges_per_second / HTTP_RATE
    sequencers = load.edges_per_second / SEQUENCER_RATE
    shards = _shards(load)
    busy = _busy(load, shards) if shards else 0.0
    window = load.edges_per_second * load.window_seconds * load.wanted
    of_shards = shards * (MATCHER_BYTES + window * WINDOW_BYTES) + load.patterns * PATTERN_BYTES
    counting = load.edges_per_second / STATISTICS_RATE
    brokers = load.streams * BROKER_CORES + load.edges_per_second * BROKER_NANOSECONDS / 1e9
    kept = load.edges_per_second * load.retention_seconds * (load.edge_bytes + ORDERED_BYTES) * load.replication
    components = (
        _processes("ingestion, HTTP", http, load, INGESTION_BYTES),
        Component("ingestion, sequencers", 1, sequencers, INGESTION_BYTES),
        Component("matchers", shards, shards * busy, of_shards),
        Component("statistics", 1, counting, STATISTICS_BYTES),
        Component("planner", 1, PLANNER_CORES, PLANNER_BYTES),
        Component("admin API", 1, ADMIN_CORES, ADMIN_BYTES),
        Component("Redis", 1, 0.0, REDIS_BYTES + shards * window * CHECKPOINT_BYTES),
        Component("Kafka", max(1, load.replication), brokers * load.replication, load.replication * BROKER_BYTES, kept),
    )
    partitions = max(LEAST_PARTITIONS, ceil(of_a_stream / (PARTITION_RATE * load.use)))
    return Estimate(partitions, components, tuple(_warnings(load, shards)))


def _shards(load: Load) -> int:
    """Return how many shards carry the load; 0 where none can, as each reads every edge."""
    reading = load.edges_per_second * MATCHER_NANOSECONDS / 1e9
    matching = load.edges_per_second * load.patterns / load.streams * load.pattern_nanoseconds / 1e9
    if reading >= load.use:
        return 0
    return max(1, ceil(matching / (load.use - reading)))


def _busy(load: Load, shards: int) -> float:
    """Return the share of its time that each shard works."""
    patterns = load.patterns / load.streams / shards
    return load.edges_per_second * (MATCHER_NANOSECONDS + patterns * load.pattern_nanoseconds) / 1e9


def _processes(name: str, cores: float, load: Load, memory_bytes: int) -> Component:
    instances = max(1, ceil(cores / load.use))
    return Component(name, instances, cores, instances * memory_bytes)


def _warnings(load: Load, shards: int) -> list[str]:
    found = []
    if load.edges_per_second > SEQUENCER_RATE * load.use:
        most = SEQUENCER_RATE * load.use
        if load.edges_per_second / load.streams > most:
            found.append(
                f"a sequencer orders {most:,.0f} edges a second of a stream at this use: divide the stream into "
                f"{ceil(load.edges_per_second / most)}, by a key that every pattern stays within"
            )
        else:
            found.append("the sequencers of one process need more than it may use: let several deployments have the streams")
    if load.edges_per_second > STATISTICS_RATE * load.use:
        found.append("the process of statistics needs more than it may use: let several deployments have the streams")
    if not shards:
        most = load.use * 1e9 / MATCHER_NANOSECONDS
        found.append(
            f"every shard reads all edges of its streams, {most:,.0f} a second at this use: no number of shards carries more; "
            "let several deployments have the streams"
        )
    elif load.patterns and shards > load.patterns:
        found.append(f"a pattern is on one shard, so {shards} shards are of no use to {load.patterns}: look at what each costs")
    return found
