//! What decoders ask of the program around them: what is compressed, and schemas that others keep.

use std::fmt;
use std::sync::Arc;

/// Why something is not given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ungiven {
    /// There is none, or it is damaged.
    Never(String),
    /// It may be there later.
    Now(String),
}

/// Unpacks bytes by the name of a compression; the result has at most so many bytes.
pub type Unpack = Arc<dyn Fn(&str, &[u8], usize) -> Result<Vec<u8>, Ungiven> + Send + Sync>;

/// Gives the schema of a number.
pub type SchemaOf = Arc<dyn Fn(u32) -> Result<Vec<u8>, Ungiven> + Send + Sync>;

/// What a program gives to its decoders.
#[derive(Clone, Default)]
pub struct Surroundings {
    /// Unpacks what Avro has in its blocks, but for `null` and `snappy`; None if nothing else is unpacked.
    pub unpack: Option<Unpack>,
    /// The schemas that messages name by numbers; None if nobody keeps any.
    pub schema_of: Option<SchemaOf>,
}

impl fmt::Debug for Surroundings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (unpack, schema_of) = (self.unpack.is_some(), self.schema_of.is_some());
        f.debug_struct("Surroundings").field("unpack", &unpack).field("schema_of", &schema_of).finish()
    }
}
