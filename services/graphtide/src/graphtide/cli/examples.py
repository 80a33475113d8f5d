"""An example of each command, which its help shows; those of files go together, from `generate` on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from typer._click import Command

EXAMPLES: Final = {
    "generate": "network --output flows.csv --pattern exfiltration.gtp --ground-truth planted.json",
    "match": "exfiltration.gtp flows.csv --output matches.jsonl",
    "explain": "exfiltration.gtp --analyze flows.csv",
    "validate": "exfiltration.gtp --stream flows.csv",
    "statistics": "flows.csv --window 10m",
    "streams presets": "",
    "streams check": "payments.gts payments.csv",
    "streams delete-statement": "payments",
    "backfill": "exfiltration.gtp flows.csv --dry-run",
    "preprocess status": "flows",
    "capacity": "--edges-per-second 10000 --patterns 100",
    "demo": "--records 50000",
    "dev up": "--demo",
    "bench adaptation": "",
    "bench selectivity": "",
    "bench from-scratch": "",
    "bench statistics": "",
    "bench scaling": "",
    "bench simulation": "",
    "bench algebra": "--stream edges.csv --labels a=knows,b=likes,c=follows",
    "bench subgraph": "",
    "bench memory": "",
    "bench many": "",
    "bench concurrency": "",
    "bench compare": "before.json after.json",
    "apply": "exfiltration.gtp",
    "get": "",
    "describe": "exfiltration",
    "wait": "exfiltration --timeout 60",
    "tail": "exfiltration --count 1",
    "partial": "exfiltration --most 10",
    "results": "resolved",
    "pause": "exfiltration",
    "resume": "exfiltration",
    "delete": "exfiltration",
    "round-trip": "flows",
}
"""The words after the name of a command, by the name."""


def show_examples(name: str, command: Command) -> None:
    """Let the help of a command, or of each in a group, end with its example."""
    for under, each in getattr(command, "commands", {}).items():
        show_examples(f"{name} {under}", each)
    if name in EXAMPLES:
        command.epilog = f"Example: graphtide {name} {EXAMPLES[name]}".rstrip()
