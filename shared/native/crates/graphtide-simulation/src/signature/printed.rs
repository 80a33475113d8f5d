//! What the signature of the paper misses, as it is printed: products by its rules that are not divisible although there is a
//! match.

use crate::words::Words;

const P: u32 = 97;

/// The product of factors, and whether that of the query divides it.
fn is_divisible(query: &[u32], stream: &[u32]) -> bool {
    let words = Words::new(P, query.iter().copied());
    let mut product = words.one();
    for &factor in stream {
        words.multiply(&mut product, factor);
    }
    Words::divide(&product)
}

/// The query is the path a -> b -> c -> d, all vertices of a label that is 9, all edges of one that is 7. The stream is a
/// circle of two such edges, which matches it. `fewer_edges_than_the_query_can_be_a_match` shows that the engines find it.
#[test]
fn a_factor_for_each_query_edge_is_more_than_a_match_has() {
    let edge = [7, 9 - 1, 9 + 1];

    assert!(!is_divisible(&edge.repeat(3), &edge.repeat(2)));
    assert!(is_divisible(&edge, &edge.repeat(2)));
}

/// The query is the path u -> v -> w by a p and a q. The stream is x -> y by a p, r -> s by a q, y -> z by a q. The second edge
/// makes for a signature match that is none, after which line 10 continues from the second edge.
/// `a_match_needs_the_first_edge_of_the_window` shows that the engines find the match that the third edge completes.
#[test]
fn a_product_from_the_second_edge_on_lacks_the_first() {
    let (p, q) = ([3, 9 - 1, 5 + 1], [11, 5 - 1, 14 + 1]);
    let query = [p, q].concat();

    assert!(is_divisible(&query, &[p, q].concat()));
    assert!(!is_divisible(&query, &[q, q].concat()));
    assert!(is_divisible(&query, &[p, q, q].concat()));
}
