"""Counts of an engine of dual simulation."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SimulationWork:
    """Counts since the engine was made.

    Attributes:
        taken: edges that can be a query edge.
        whole_ends: of these, edges whose ends had all the edges that the query asks for there when they came. They are red
            under `ddst-coloring`; under `ddst-signature` their signature is compared.
        signature_checks: comparisons of the window's signature with the query's.
        signature_passed: comparisons that allowed a match.
        signature_false: of these, edges that had none: false positives.
        verifications_due: edges that were verified.
        verifications_run: fixpoints computed for that.
        refuted_nearby: edges that a few edges around them were enough to refute.
        reported: components.
        steps: of work, all in all.
        verifying_steps: of these, steps of verifications.
        verifying_nanoseconds: what verifications took; 0 without a probe.
    """

    taken: int
    whole_ends: int
    signature_checks: int
    signature_passed: int
    signature_false: int
    verifications_due: int
    verifications_run: int
    refuted_nearby: int
    reported: int
    steps: int
    verifying_steps: int
    verifying_nanoseconds: int
