//! Numbers that name what patterns share, each of a type of its own: none passes where another is asked for.

/// A type for numbers that are given from 0 on.
macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub u32);

        impl $name {
            /// The place of what it names in a list of all.
            #[inline]
            pub const fn place(self) -> usize {
                self.0 as usize
            }
        }
    };
}

id! {
    /// A pattern. Once it is removed, another may have its number.
    PatternId
}

id! {
    /// A unit: an engine with the patterns that it matches. Once it is removed, another may have its number.
    UnitId
}

id! {
    /// A signature: what a query edge asks of a data edge.
    SignatureId
}

id! {
    /// Lists of some or all edges of one signature. A signature may have several, so its number does not name them.
    RingId
}

id! {
    /// A reader of lists, who reads some for a while. A unit is another one with each of its plans.
    ReaderId
}
