//! Example 7, reconstructed: Fig. 5 is not in the text, so query and stream are built such that every sentence about them
//! holds.

use graphtide_engine::meter::{Meter, Unhurried};
use graphtide_graph::store::EdgeRef;
use graphtide_graph::vertex::Vertex;

use super::Coloring;
use crate::numbered::Number;
use crate::pattern::Pattern;
use crate::query::{Arrival, Query, QueryEdge, Report};
use crate::window::Window;
use crate::work::Work;

const AB: u64 = 1;
const AC: u64 = 2;
const AA: u64 = 4;
const AD: u64 = 8;
const AE: u64 = 16;

/// Edges 1 to 9, as time, source, target and the query edge they match; 2 and 5 match none. Vertex 0 is the one that edges 1
/// and 3 leave, 3 the one that edges 4 and 8 leave.
const STREAM: [(u32, u32, u32, u64); 7] =
    [(1, 0, 1, AB), (3, 0, 2, AC), (4, 3, 4, AD), (6, 5, 3, AA), (7, 0, 6, AA), (8, 3, 7, AE), (9, 0, 3, AA)];

struct Snapshot {
    pattern: Pattern,
    window: Window,
    coloring: Coloring,
}

impl Snapshot {
    /// The first edges of the stream.
    fn after(edges: usize) -> Self {
        let road = |source, target, kind| QueryEdge { source, target, kind };
        let edges_of = vec![road(0, 2, 0), road(0, 3, 1), road(0, 1, 2), road(1, 4, 3), road(1, 5, 4)];
        let query = Query { vertices: 6, edges: edges_of, before: vec![], window: 100, report: Report::Maximal };
        let pattern = Pattern::new(&query).unwrap();
        let mut snapshot = Self { window: Window::default(), coloring: Coloring::new(&pattern), pattern };
        for &(id, source, target, fits) in &STREAM[..edges] {
            let ts = id.into();
            let (source, target) = (Vertex(source), Vertex(target));
            let number = snapshot.window.push(&Arrival { edge: EdgeRef(id), ts, at: ts, source, target, fits }, 1);
            let mut meter = Meter::unbounded(&Unhurried);
            snapshot.coloring.arrive(&snapshot.pattern, &snapshot.window, number, &mut Work::Upkeep(&mut meter));
        }
        snapshot
    }

    /// Ids of the red edges, or of the others.
    fn edges(&self, is_red: bool) -> Vec<u32> {
        let of = self.window.iter().filter(|(number, _)| (self.coloring.incidence.edges[*number].known != 0) == is_red);
        of.map(|(_, held)| held.edge.0).collect()
    }

    /// The ids of red edges by their masters.
    fn components(&mut self) -> Vec<Vec<u32>> {
        let red: Vec<(Number, u32, u32)> =
            self.window.iter().map(|(number, held)| (number, held.ends[0], held.edge.0)).collect();
        let mut components: Vec<(u32, Vec<u32>)> = Vec::new();
        for (_, source, id) in red.into_iter().filter(|(number, _, _)| self.coloring.incidence.edges[*number].known != 0) {
            let master = self.coloring.masters.follow(&mut self.coloring.incidence.corners[source as usize].known.master);
            match components.iter_mut().find(|(of, _)| *of == master) {
                Some((_, ids)) => ids.push(id),
                None => components.push((master, vec![id])),
            }
        }
        components.into_iter().map(|(_, ids)| ids).collect()
    }

    fn is_due(&mut self) -> bool {
        let master = self.coloring.masters.follow(&mut self.coloring.incidence.corners[0].known.master);
        self.coloring.masters.is_due(master)
    }
}

#[test]
fn at_time_5_edges_1_3_and_4_are_black() {
    let snapshot = Snapshot::after(3);

    assert_eq!(snapshot.edges(false), [1, 3, 4]);
    assert!(snapshot.edges(true).is_empty());
}

#[test]
fn after_edge_8_two_are_black_and_four_red_in_two_components() {
    let mut snapshot = Snapshot::after(6);

    assert_eq!(snapshot.edges(false), [6, 7]);
    assert_eq!(snapshot.components(), [vec![1, 3], vec![4, 8]]);
    assert!(!snapshot.is_due());
}

#[test]
fn edge_9_is_red_and_joins_the_components_which_then_have_all_query_edges() {
    let mut snapshot = Snapshot::after(7);

    assert_eq!(snapshot.components(), [vec![1, 3, 4, 8, 9]]);
    assert!(snapshot.is_due());
}
