"""Generates seeded streams with planted instances of a pattern, near misses, and a ground truth."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from graphtide_generate import network, payments, social, traffic

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from graphtide_generate.stream import GeneratedStream, Recipe

GENERATORS: Final[Mapping[str, Callable[[Recipe], GeneratedStream]]] = {
    "network": lambda recipe: network.generate(network.NetworkOptions(recipe)),
    "payments": lambda recipe: payments.generate(payments.PaymentOptions(recipe)),
    "social": lambda recipe: social.generate(social.SocialOptions(recipe)),
    "traffic": lambda recipe: traffic.generate(traffic.TrafficOptions(recipe)),
}
"""Every kind of stream by name, with its own options at their defaults."""
