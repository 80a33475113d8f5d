"""Names of log events. Messages are constant; what differs is in fields (`attributes`)."""

from __future__ import annotations

from graphtide_telemetry.names import Name

# Every process.
AUTHENTICATION_OFF = Name("authentication.off", "callers need no login")
HEALTH_LISTENING = Name("health.listening", "health and metrics are served")
REQUEST_FAILED = Name("request.failed", "a request ended in an error that is the service's own")
WORK_OPENED = Name("work.opened", "a worker is open: it has its state and does rounds")
WORK_FAILED = Name("work.failed", "a worker failed; it is opened again after a while")
CLOSE_FAILED = Name("close.failed", "a worker could not give back everything; it is opened again all the same")
RECORD_FAULT = Name("record.fault", "a worker failed twice on one record; the part that failed was taken out, and it continues")
POSITIONS_RECOVERED = Name(
    "positions.recovered", "a coordinator gives no positions, or wrong ones; they come from the records of commits"
)
POSITIONS_BELIEVED = Name(
    "positions.believed",
    "positions contradict what their group wrote, time and again; they are believed, so records may repeat",
)
COMMITS_UNREADABLE = Name(
    "commits.unreadable", "records of commits cannot be read; contradictory positions are refused at first"
)
WORK_ENDED = Name("work.ended", "a worker ended on request")
SUPERVISOR_LOOK_FAILED = Name(
    "supervisor.look_failed", "it is not known which work is wanted, or a worker cannot begin; tried again"
)
REPLICAS_SEEN = Name("replicas.seen", "the processes that share work with this one are others than before")

# Records.
MATCH_UNREADABLE = Name("match.unreadable", "a record of the topic of matches is none; it is passed over")
ORDERED_UNREADABLE = Name("ordered.unreadable", "an ordered record cannot be read; it is passed over")
RECORD_UNREADABLE = Name("record.unreadable", "a record of a control topic cannot be read; it is passed over")

# The demo.
DEMO_ENDED = Name("demo.ended", "the streams of the demo ended in an unforeseen error; the deployment continues")
DEMO_REFUSED = Name("demo.refused", "the deployment refused records of the demo; it goes on with the next ones")

# Statistics.
STREAM_UNCOUNTED = Name("stream.uncounted", "a stream cannot be counted; the others are")

# Control plane.
STREAM_DELETED = Name("stream.deleted", "a user deleted a stream, with all that was kept of it but reported matches")

# Backfill.
BACKFILL_FAILED = Name("backfill.failed", "a backfill ended in an unforeseen error; the service continues")

# Ingestion.
APPENDING_FAILED = Name(
    "appending.failed", "edges could not be written because of an unforeseen error; another writer continues"
)
ATTRIBUTES_LEFT_OUT = Name(
    "attributes.left_out", "a stream has more attributes than are kept; those that patterns read are kept, others left out"
)
EPOCH_BEGUN = Name("epoch.begun", "times of a stream begin anew, as was asked for; all that waited has gone out")
MERGED_GAP = Name(
    "merged.gap", "records of a stream were deleted before they were merged; the merged stream continues without them"
)
RESET_REQUESTED = Name("reset.requested", "a user asked to end an epoch of a stream; the raw topic keeps who and when")
SEQUENCER_WINDOW_CHANGED = Name("sequencer.window_changed", "ids are remembered for another time")
TABLE_LOADED = Name("table.loaded", "a reference table that a STREAM statement joins was read")
TABLE_UNREADABLE = Name(
    "table.unreadable", "a reference table cannot be read; rows that were read before stay, and else records wait for them"
)
STATEMENT_USED = Name("statement.used", "the version of the STREAM statement that records of a stream are read by from now on")

# Matchers.
PATTERN_FAILED = Name("pattern.failed", "a pattern failed on a record, and stopped; the others of its stream continue")
TRACING_FAILED = Name("tracing.failed", "the traces of a record could not be carried to its matches; the matches went out")
CHECKPOINT_NOT_SAVED = Name("checkpoint.not_saved", "a checkpoint could not be saved; the next one holds what it lacked")
CHECKPOINT_UNAVAILABLE = Name("checkpoint.unavailable", "a checkpoint could not be read; the log is read instead")
PARTIAL_MATCHES_NOT_PUBLISHED = Name(
    "partial_matches.not_published", "a view of partial matches could not be published; the next ones come later"
)
PARTIAL_MATCHES_UNREADABLE = Name("partial_matches.unreadable", "a view of partial matches is damaged; it is passed over")
PLAN_REFUSED = Name("plan.refused", "a plan cannot be read")
UNITS_REGROUPED = Name("units.regrouped", "event patterns of a stream have a plan in common from now on")
UNITS_NOT_PLANNED = Name(
    "units.not_planned", "a plan in common could not be made; event patterns keep the plans that they have"
)

# Planner.
PLAN_DECIDED = Name("plan.decided", "a decision about a pattern other than a plan")
PLAN_FAILED = Name("plan.failed", "planning of a pattern ended in an unforeseen error; the others continue")
PLAN_PUBLISHED = Name("plan.published", "a plan was published")
LEADERSHIP_LOST = Name("leadership.lost", "this process does not decide on replicas any more")
LEADERSHIP_TAKEN = Name("leadership.taken", "this process decides on replicas")
LEASE_NOT_RENEWED = Name("lease.not_renewed", "the lease of the leader could not be renewed or given back; tried again soon")
REPLICAS_CHANGED = Name("replicas.changed", "the orchestrator was asked for another number of replicas")
REPLICAS_DECIDED = Name("replicas.decided", "another decision on replicas, or for another reason")
REPLICAS_NOT_CHANGED = Name("replicas.not_changed", "another client changed the replicas meanwhile; decided anew soon")
REPLICAS_UNFOLLOWED = Name("replicas.unfollowed", "the orchestrator no longer reports replicas; asked again soon")
PLAN_STRANGE = Name("plan.strange", "another process wrote a plan; the plan that held is published again")
