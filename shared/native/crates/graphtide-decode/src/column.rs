//! A column that has a meaning in every stream.

/// A column with a meaning; every other column of a stream is an attribute.
///
/// A record is an edge, with two ends and a label, or an event, with a type. Where there is any of the former, `type` is an
/// attribute like others; where there is none, a record with a type is an event.
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
    /// Type of the event.
    Type,
}

impl Column {
    /// How many there are.
    pub const COUNT: usize = 9;

    /// What makes a record an edge.
    pub(crate) const OF_EDGES: [Self; 3] = [Self::Source, Self::Target, Self::Label];

    /// All of them, in the order of their numbers.
    pub const ALL: [Self; Self::COUNT] = [
        Self::Ts,
        Self::Source,
        Self::Target,
        Self::Label,
        Self::SourceLabel,
        Self::TargetLabel,
        Self::Id,
        Self::Operation,
        Self::Type,
    ];

    /// What a stream calls it unless a mapping says otherwise.
    pub fn name(self) -> &'static str {
        ["ts", "src", "dst", "label", "src_label", "dst_label", "id", "op", "type"][self as usize]
    }

    /// Whether an edge cannot do without.
    pub fn is_required(self) -> bool {
        matches!(self, Self::Ts | Self::Source | Self::Target | Self::Label)
    }
}
