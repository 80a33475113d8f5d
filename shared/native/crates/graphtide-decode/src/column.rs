//! A column that every record has.

/// A column with a meaning; every other column of a stream is an attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Column {
    /// Event time.
    Ts,
    /// Source vertex.
    Source,
    /// Target vertex.
    Target,
    /// Label of the edge.
    Label,
    /// Label of the source.
    SourceLabel,
    /// Label of the target.
    TargetLabel,
    /// The record's own id.
    Id,
    /// Insertion or deletion.
    Operation,
}

impl Column {
    /// How many there are.
    pub const COUNT: usize = 8;

    /// All of them, in the order of their numbers.
    pub const ALL: [Self; Self::COUNT] =
        [Self::Ts, Self::Source, Self::Target, Self::Label, Self::SourceLabel, Self::TargetLabel, Self::Id, Self::Operation];

    /// What a stream calls it unless a mapping says otherwise.
    pub fn name(self) -> &'static str {
        ["ts", "src", "dst", "label", "src_label", "dst_label", "id", "op"][self as usize]
    }

    /// Whether a stream cannot do without.
    pub fn is_required(self) -> bool {
        matches!(self, Self::Ts | Self::Source | Self::Target | Self::Label)
    }
}
