"""How a pattern is matched: decompositions, join orders, search orders, and the cost model that compares them."""
