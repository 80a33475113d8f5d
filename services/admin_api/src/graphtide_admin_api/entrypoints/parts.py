"""What the routes work with."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from graphtide_core.ports.log import Log
    from graphtide_serving.access.tickets import Tickets
    from graphtide_serving.http import Authorize
    from graphtide_telemetry.health import Look
    from graphtide_wire.topics import Topics

    from graphtide_admin_api.application.alert_requests import AlertRequests
    from graphtide_admin_api.application.deleting import Deleting
    from graphtide_admin_api.application.edges import Edges
    from graphtide_admin_api.application.first_look import FirstLook
    from graphtide_admin_api.application.health import Health
    from graphtide_admin_api.application.marks import Marks
    from graphtide_admin_api.application.matches import RecentMatches
    from graphtide_admin_api.application.operations import Operations
    from graphtide_admin_api.application.partial_matches import PartialMatches
    from graphtide_admin_api.application.patterns import Patterns
    from graphtide_admin_api.application.reading import Streams
    from graphtide_admin_api.application.results import Results
    from graphtide_admin_api.application.series import SeriesStore
    from graphtide_admin_api.application.stream_schemas import StreamSchemas
    from graphtide_admin_api.application.stream_statements import StreamStatements
    from graphtide_admin_api.application.targets import Targets
    from graphtide_admin_api.application.view import View
    from graphtide_admin_api.entrypoints.rights import Rights


@dataclass(frozen=True, slots=True)
class Bounds:
    """Bounds of requests.

    Attributes:
        most_body_bytes: of a body.
        most_event_streams: streams of events at once.
        most_event_streams_a_caller: of one caller.
        heartbeat_seconds: between two signs of life of a stream.
        most_simulations: dry runs side by side.
        most_simulations_a_caller: of one caller.
        simulation_seconds: that an answer waits for one.
    """

    most_body_bytes: int = 8 * 1024 * 1024
    most_event_streams: int = 200
    most_event_streams_a_caller: int = 50
    heartbeat_seconds: float = 15.0
    most_simulations: int = 2
    most_simulations_a_caller: int = 1
    simulation_seconds: float = 15.0


@dataclass(frozen=True, slots=True)
class Parts:
    """What bootstrap puts together for the routes."""

    log: Log
    topics: Topics
    view: View
    patterns: Patterns
    recent: RecentMatches
    marks: Marks
    targets: Targets
    alert_requests: AlertRequests
    partial_matches: PartialMatches
    results: Results
    streams: Streams
    series: SeriesStore
    health: Health
    schemas: StreamSchemas
    statements: StreamStatements
    first_look: FirstLook
    operations: Operations
    deleting: Deleting
    edges: Edges
    requires: Authorize
    rights: Rights
    tickets: Tickets
    alive: Look
    ready: Look
    bounds: Bounds = field(default_factory=Bounds)
