"""Generates weeks of payments with planted credit-card fraud.

The fraud is Figure 2 of paper 004. A criminal c pays a merchant m by credit card (t1), and the bank b pays the merchant (t2).
The merchant transfers the money to a middleman x (t3), who transfers it back (t4). All happens in this order within a day. The
bank's payment names the credit payment it settles; hardly any of the money gets lost on the way.

Only planted instances match, by construction:

1. In the background merchants transfer to suppliers alone, and suppliers to suppliers alone; a payer by credit is a
   customer, never a supplier. So t3 and t4 of a match, which lead from a merchant to a payer, pass a planted middleman.
2. Every instance and decoy has middlemen of its own that the background never touches: t3 and t4, hence m and c, are planted.
3. The background has no credit payment from that criminal to that merchant: t1 is planted. References of credit payments are
   unique: t2 is planted.

Cost: O(n log n) for n payments.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from graphtide_generate.schedule import DAY, HOUR, MIDNIGHT, background_times, instance_times, popularity, too_slow
from graphtide_generate.stream import Draft, Drafts, Recipe

if TYPE_CHECKING:
    from collections.abc import Iterator

    from graphtide_generate.stream import GeneratedStream

WINDOW = DAY

PATTERN = """\
PATTERN credit_card_fraud
MATCH (c:account)-[t1:credit_pay]->(m:merchant), (b:bank)-[t2:real_payment]->(m),
      (m)-[t3:transfer]->(x:account), (x)-[t4:transfer]->(c)
WHERE t1.amount >= 1000 AND t2.reference = t1.reference AND t3.amount > 0.8 * t1.amount AND t4.amount > 0.8 * t1.amount
ORDER t1 < t2 < t3 < t4
ON payments WINDOW 24h
"""

FLAWS = ("wrong order", "too slow", "too little money", "different middleman", "paid to another", "other reference", "tie")


@dataclass(frozen=True, slots=True)
class PaymentOptions:
    """How many payments, between whom, when. Times in milliseconds; `recipe.records` counts background payments."""

    recipe: Recipe = field(default_factory=Recipe)
    customers: int = 1_000
    merchants: int = 100
    suppliers: int = 200
    banks: int = 5
    start: int = MIDNIGHT
    duration: int = 7 * DAY

    def __post_init__(self) -> None:
        """Refuse what leaves no room.

        Raises:
            ValueError: too few customers, merchants, suppliers or banks, or a stream no longer than the fraud.
        """
        if self.recipe.swap_labels:
            message = "payments have three labels, each as frequent as the others: there is nothing to swap"
            raise ValueError(message)
        hidden = self.recipe.planted + self.recipe.decoys
        if self.customers < 2 * hidden + 1 or min(self.merchants, self.suppliers, self.banks) < 1:
            message = f"{hidden} instances and decoys need {2 * hidden + 1} customers, and a merchant, a supplier and a bank"
            raise ValueError(message)
        if self.duration <= WINDOW + HOUR:
            message = f"the stream must last longer than {WINDOW + HOUR} ms"
            raise ValueError(message)


@dataclass(frozen=True, slots=True)
class _Cast:
    """Who takes part in one instance; `bystander` and `other` are for decoys alone."""

    criminal: str
    merchant: str
    bank: str
    middleman: str
    bystander: str
    other: str


def generate(options: PaymentOptions) -> GeneratedStream:
    """Return the payments of `options`, with ids p000000, p000001, … in the order of time."""
    rng = random.Random(options.recipe.seed)  # noqa: S311 - test data, no secrets
    drafts = Drafts("credit_card_fraud")
    hidden = options.recipe.planted + options.recipe.decoys
    customers = rng.sample(range(options.customers), 2 * hidden)
    kept_apart: set[tuple[str, str]] = set()
    for number in range(hidden):
        cast = _Cast(
            criminal=f"customer-{customers[2 * number]}",
            merchant=f"merchant-{rng.randrange(options.merchants)}",
            bank=f"bank-{rng.randrange(options.banks)}",
            middleman=f"middleman-{2 * number}",
            bystander=f"customer-{customers[2 * number + 1]}",
            other=f"middleman-{2 * number + 1}",
        )
        kept_apart |= {(cast.criminal, cast.merchant), (cast.bystander, cast.merchant)}
        flaw = None if number < options.recipe.planted else FLAWS[(number - options.recipe.planted) % len(FLAWS)]
        edges = _fraud(rng, options, cast, number, flaw)
        if flaw is None:
            drafts.plant(edges, {"c": cast.criminal, "m": cast.merchant, "b": cast.bank, "x": cast.middleman})
        else:
            drafts.decoy(edges, flaw)
    drafts.add(_background(rng, options, kept_apart, first_reference=2 * hidden))
    return drafts.finish("p", PATTERN)


def _fraud(rng: random.Random, options: PaymentOptions, cast: _Cast, number: int, flaw: str | None) -> dict[str, Draft]:
    """Return the four payments of one fraud, or of a near miss with that flaw."""
    times = instance_times(rng, 4, options.start, options.duration - HOUR, WINDOW)
    amount = rng.randrange(1_000, 20_000)
    passed_on = amount - rng.randrange(amount // 10)
    settled, payer, paid = 2 * number, cast.middleman, cast.criminal
    match flaw:
        case "wrong order":
            times[1], times[2] = times[2], times[1]
        case "too slow":
            times = too_slow(rng, times, WINDOW)
        case "too little money":
            passed_on = amount // 2
        case "different middleman":
            payer = cast.other
        case "paid to another":
            paid = cast.bystander
        case "other reference":
            settled = 2 * number + 1
        case "tie":
            at = rng.randrange(3)
            times[at + 1] = times[at]
        case _:
            pass
    return {
        "t1": _credit(times[0], cast.criminal, cast.merchant, amount, 2 * number),
        "t2": _settlement(times[1], cast.bank, cast.merchant, amount, settled),
        "t3": _transfer(times[2], cast.merchant, "merchant", cast.middleman, passed_on),
        "t4": _transfer(times[3], payer, "account", paid, passed_on - passed_on // 50),
    }


def _background(
    rng: random.Random, options: PaymentOptions, kept_apart: set[tuple[str, str]], first_reference: int
) -> Iterator[Draft]:
    count = options.recipe.records
    customers = [f"customer-{number}" for number in range(options.customers)]
    merchants = [f"merchant-{number}" for number in range(options.merchants)]
    suppliers = [f"supplier-{number}" for number in range(options.suppliers)]
    kinds = _kinds(rng, count)
    liked = rng.choices(merchants, cum_weights=popularity(len(merchants), 1.0), k=len(kinds))
    times = background_times(rng, len(kinds), options.start, options.duration)
    end = options.start + options.duration
    involved = {customer for customer, _ in kept_apart}
    honest = [customer for customer in customers if customer not in involved]
    for number, (ts, kind, merchant) in enumerate(zip(times, kinds, liked, strict=True), start=first_reference):
        amount = int(rng.lognormvariate(5.5, 1.3)) + 1
        match kind:
            case "purchase":
                customer = rng.choice(customers)
                if (customer, merchant) in kept_apart:
                    customer = rng.choice(honest)
                bank = f"bank-{rng.randrange(options.banks)}"
                yield _credit(ts, customer, merchant, amount, number)
                yield _settlement(min(end, ts + rng.randrange(HOUR // 2, 20 * HOUR)), bank, merchant, amount, number)
            case "supply":
                yield _transfer(ts, merchant, "merchant", rng.choice(suppliers), amount * 5)
            case "passing on":
                yield _transfer(ts, rng.choice(suppliers), "account", rng.choice(suppliers), amount * 5)
            case _:
                yield _transfer(ts, rng.choice(customers), "account", rng.choice(customers), amount)


def _kinds(rng: random.Random, records: int) -> list[str]:
    """Return what happens in the background; a purchase makes two records, everything else one."""
    kinds: list[str] = []
    room = records
    while room > 0:
        kind = rng.choices(("purchase", "supply", "passing on", "gift"), (50, 20, 15, 15))[0] if room > 1 else "gift"
        room -= 2 if kind == "purchase" else 1
        kinds.append(kind)
    return kinds


def _credit(ts: int, customer: str, merchant: str, amount: int, reference: int) -> Draft:
    return Draft(ts, customer, merchant, "credit_pay", "account", "merchant", {"amount": amount, "reference": reference})


def _settlement(ts: int, bank: str, merchant: str, amount: int, reference: int) -> Draft:
    return Draft(ts, bank, merchant, "real_payment", "bank", "merchant", {"amount": amount, "reference": reference})


def _transfer(ts: int, source: str, source_label: str, target: str, amount: int) -> Draft:
    return Draft(ts, source, target, "transfer", source_label, "account", {"amount": amount})
