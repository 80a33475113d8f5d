//! One record of a batch, as expressions read it.

use graphtide_engine::expression::{Bindings, LABEL, Operand, SOURCE_LABEL, TARGET_LABEL};
use graphtide_graph::batch::EdgeBatch;
use graphtide_graph::key::{IdRef, KeyRef};
use graphtide_graph::symbol::{Symbol, SymbolTable};

/// A record; its attributes by the columns of the features' inputs.
pub(crate) struct Record<'b> {
    pub(crate) batch: &'b EdgeBatch,
    pub(crate) row: usize,
    pub(crate) symbols: &'b SymbolTable,
    /// Where the batch has each input.
    pub(crate) columns: &'b [Option<usize>],
}

impl Bindings for Record<'_> {
    fn attribute(&self, _: u8, column: u16) -> Operand<'_> {
        let [source, own, target] = self.batch.labels()[self.row];
        match column {
            LABEL => self.label(own),
            SOURCE_LABEL => self.label(source),
            TARGET_LABEL => self.label(target),
            column => match self.columns.get(usize::from(column)).copied().flatten() {
                Some(column) => self.batch.attribute(self.row, column).into(),
                None => Operand::Null,
            },
        }
    }

    fn ts(&self, _: u8) -> i64 {
        self.batch.ts()[self.row]
    }

    fn id(&self, _: u8) -> IdRef<'_> {
        self.batch.id(self.row)
    }

    fn vertex(&self, side: u8) -> KeyRef<'_> {
        if side == 0 { self.batch.source(self.row) } else { self.batch.target(self.row) }
    }
}

impl Record<'_> {
    fn label(&self, symbol: Symbol) -> Operand<'_> {
        if symbol == Symbol::ABSENT { Operand::Null } else { Operand::Text(self.symbols.name(symbol)) }
    }
}
