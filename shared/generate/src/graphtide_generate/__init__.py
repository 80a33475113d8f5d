"""Generates seeded streams: with planted instances, near misses and a ground truth, or with what their nature brings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from graphtide_generate import calls, citations, deposits, logins, network, payments, retweets, roads, social, traffic

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from graphtide_generate.event_stream import GeneratedEvents
    from graphtide_generate.stream import GeneratedStream, Recipe

GENERATORS: Final[Mapping[str, Callable[[Recipe], GeneratedStream]]] = {
    "network": lambda recipe: network.generate(network.NetworkOptions(recipe)),
    "payments": lambda recipe: payments.generate(payments.PaymentOptions(recipe)),
    "social": lambda recipe: social.generate(social.SocialOptions(recipe)),
    "traffic": lambda recipe: traffic.generate(traffic.TrafficOptions(recipe)),
}
"""Every kind of stream of edges with planted instances by name, with its own options at their defaults."""

EVENTS: Final[Mapping[str, Callable[[Recipe], GeneratedEvents]]] = {
    "deposits": lambda recipe: deposits.generate(deposits.DepositOptions(recipe)),
    "logins": lambda recipe: logins.generate(logins.LoginOptions(recipe)),
}
"""Every kind of stream of events with planted instances, likewise."""

NATURAL: Final[Mapping[str, Callable[[Recipe], GeneratedStream]]] = {
    "calls": lambda recipe: calls.generate(calls.CallOptions(recipe)),
    "citations": lambda recipe: citations.generate(citations.CitationOptions(recipe)),
    "retweets": lambda recipe: retweets.generate(retweets.RetweetOptions(recipe)),
    "roads": lambda recipe: roads.generate(roads.RoadOptions(recipe)),
}
"""Every kind of stream without planted instances, likewise: dual simulation finds components in them, of any size."""
