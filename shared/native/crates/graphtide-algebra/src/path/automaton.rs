//! The automaton of a path expression: deterministic, and without a way back to its start.
//!
//! No transition leads to the start, so that a path back to its root is one like any other and not the empty path.

use smallvec::SmallVec;

use crate::plan::PathSpec;

/// A state; 0 is the start.
pub type State = u16;

/// States with their transitions.
#[derive(Debug)]
pub struct Automaton {
    symbols: usize,
    /// By state and symbol: the next states.
    next: Vec<SmallVec<[State; 1]>>,
    /// By symbol: transitions.
    by_symbol: Vec<Vec<(State, State)>>,
    /// By symbol and state: from which states it is reached.
    previous: Vec<SmallVec<[State; 2]>>,
    is_accepting: Vec<bool>,
    /// The state whose nodes are results: the accepting one, or where there are several one more, which follows them.
    result: State,
}

impl Automaton {
    /// Makes the automaton of a checked path.
    pub fn new(spec: &PathSpec) -> Self {
        let (symbols, states) = (spec.symbols.len(), spec.states);
        let mut next = vec![SmallVec::new(); states * symbols];
        let mut by_symbol = vec![Vec::new(); symbols];
        let mut previous = vec![SmallVec::new(); states * symbols];
        for &(from, symbol, to) in &spec.transitions {
            next[usize::from(from) * symbols + usize::from(symbol)].push(to);
            by_symbol[usize::from(symbol)].push((from, to));
            previous[usize::from(to) * symbols + usize::from(symbol)].push(from);
        }
        let mut is_accepting = vec![false; states];
        spec.accepting.iter().for_each(|&state| is_accepting[usize::from(state)] = true);
        let result = match spec.accepting.as_slice() {
            &[state] => state,
            _ => states as State,
        };
        Self { symbols, next, by_symbol, previous, is_accepting, result }
    }

    /// Nodes of a vertex: states but for the start, and the one of results if it is one more.
    pub fn width(&self) -> usize {
        self.is_accepting.len() - 1 + usize::from(self.has_result_state())
    }

    /// The state whose nodes are results.
    #[inline]
    pub fn result(&self) -> State {
        self.result
    }

    /// Whether results have a state of their own, which follows all accepting ones.
    #[inline]
    pub fn has_result_state(&self) -> bool {
        usize::from(self.result) == self.is_accepting.len()
    }

    /// Whether a word may end in a state; not in that of results.
    #[inline]
    pub fn accepts(&self, state: State) -> bool {
        self.is_accepting.get(usize::from(state)).is_some_and(|&accepting| accepting)
    }

    /// The states after one by a symbol.
    #[inline]
    pub fn next(&self, state: State, symbol: u16) -> &[State] {
        let place = usize::from(state) * self.symbols + usize::from(symbol);
        self.next.get(place).map_or(&[], SmallVec::as_slice)
    }

    /// The states before one by a symbol.
    #[inline]
    pub fn previous(&self, state: State, symbol: u16) -> &[State] {
        let place = usize::from(state) * self.symbols + usize::from(symbol);
        self.previous.get(place).map_or(&[], SmallVec::as_slice)
    }

    /// Transitions by a symbol: from which state to which.
    #[inline]
    pub fn by_symbol(&self, symbol: u16) -> &[(State, State)] {
        &self.by_symbol[usize::from(symbol)]
    }

    /// States that a word may end in.
    pub fn accepting(&self) -> impl Iterator<Item = State> {
        (0..).zip(&self.is_accepting).filter(|&(_, &accepting)| accepting).map(|(state, _)| state)
    }
}
