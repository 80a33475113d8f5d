//! Values and conditions with functions: what is read of the parts of a match, and a program over it.
//!
//! The program is that of STREAM statements (`graphtide_expression`), so a function means the same in both. Texts that functions
//! make live in an arena of the thread, which keeps its memory for the next evaluation.
//! Cost: linear in the program and in the texts that it reads.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use bumpalo::Bump;
use graphtide_expression::times::Zone;
use graphtide_expression::{Context, Expression as Program, ExpressionError, Slots};
use graphtide_graph::value::ValueRef;
use serde::Deserialize;
use serde_json::Value as Form;

use crate::expression::{Bindings, Expression, Operand};

/// Bytes of an arena that are kept for the next evaluation.
const KEPT: usize = 64 << 10;

/// Steps of a call of a function beside those of its arguments.
const STEPS_OF_CALL: u32 = 8;

thread_local! {
    static ARENA: Cell<Bump> = Cell::new(Bump::new());
}

/// A value or condition with functions.
#[derive(Clone, Deserialize)]
#[serde(try_from = "ComputedSpec")]
pub struct Computed {
    reads: Box<[Expression]>,
    program: Arc<Program>,
    /// The form of the program, by which it equals others.
    written: Arc<str>,
    steps: u32,
}

/// A value or condition with functions, as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ComputedSpec {
    /// What it reads of the parts of a match; leaves of expressions.
    reads: Vec<Expression>,
    /// The form of the program in JSON, as a text, because it may be nested deeper than the specification of a pattern. What it
    /// reads is `{"is": "read", "place": 0}`.
    program: String,
    ticks_per_second: i64,
    /// The clocks of the zones that it names: changes, and until when they are known.
    zones: BTreeMap<String, (Vec<(i64, i32)>, i64)>,
}

/// The places among what is read are the slots.
struct Places(usize);

impl Slots for Places {
    fn slot_of(&mut self, leaf: &Form) -> Option<usize> {
        let place = if leaf["is"] == "read" { leaf["place"].as_u64()? } else { return None };
        usize::try_from(place).ok().filter(|place| *place < self.0)
    }
}

impl TryFrom<ComputedSpec> for Computed {
    type Error = ExpressionError;

    fn try_from(spec: ComputedSpec) -> Result<Self, ExpressionError> {
        let ComputedSpec { reads, program, ticks_per_second, zones } = spec;
        if !reads.iter().all(Expression::is_leaf) {
            return Err(ExpressionError::new("a program reads something that is computed"));
        }
        if ticks_per_second < 1 {
            return Err(ExpressionError::new("a second has no ticks"));
        }
        let written = format!("{program} {ticks_per_second} {zones:?}").into();
        let zone = |(name, (changes, until))| {
            let zone = Zone::new(changes, until);
            zone.map(|zone| (name, zone)).ok_or_else(|| ExpressionError::new("the clocks of a zone are not known"))
        };
        let zones = zones.into_iter().map(zone).collect::<Result<_, _>>()?;
        let form = read_form(&program)?;
        let program = Program::compile(&form, &mut Places(reads.len()), &Context { ticks_per_second, zones })?;
        Ok(Self { reads: reads.into(), program: Arc::new(program), written, steps: steps(&form) })
    }
}

/// Reads the form of a program; the language bounds how deep it is.
fn read_form(program: &str) -> Result<Form, ExpressionError> {
    let mut json = serde_json::Deserializer::from_str(program);
    json.disable_recursion_limit();
    Form::deserialize(&mut json).map_err(|error| ExpressionError::new(error.to_string()))
}

impl Computed {
    /// Calls `f` with its value.
    pub fn with_value<R>(&self, bindings: &impl Bindings, f: impl FnOnce(Operand<'_>) -> R) -> R {
        let mut arena = ARENA.take();
        let result = {
            let read = self.reads.iter().map(|leaf| value_of(leaf.evaluate(bindings), &arena));
            let slots: &[ValueRef<'_>] = arena.alloc_slice_fill_iter(read);
            f(self.program.evaluate(slots, &arena).into())
        };
        if arena.allocated_bytes() <= KEPT {
            arena.reset();
            ARENA.set(arena);
        }
        result
    }

    /// What it reads: leaves.
    pub fn reads(&self) -> &[Expression] {
        &self.reads
    }

    /// What it reads, to be changed to other leaves.
    pub(crate) fn reads_mut(&mut self) -> &mut [Expression] {
        &mut self.reads
    }

    /// The same program over other leaves.
    pub(crate) fn over(&self, leaf: impl Fn(&Expression) -> Expression) -> Self {
        Self { reads: self.reads.iter().map(leaf).collect(), ..self.clone() }
    }

    /// Steps that it takes to evaluate.
    pub fn steps(&self) -> u32 {
        self.steps
    }
}

impl PartialEq for Computed {
    fn eq(&self, other: &Self) -> bool {
        self.reads == other.reads && self.written == other.written
    }
}

impl fmt::Debug for Computed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Computed").field(&self.reads).field(&self.written).finish()
    }
}

fn value_of<'a>(operand: Operand<'a>, arena: &'a Bump) -> ValueRef<'a> {
    match operand {
        Operand::Null => ValueRef::Null,
        Operand::Bool(truth) => ValueRef::Bool(truth),
        Operand::Int(number) => ValueRef::Int(number),
        Operand::Float(number) => ValueRef::Float(number),
        Operand::Text(text) => ValueRef::Text(text),
        Operand::Digits(_) | Operand::Made(_) => {
            operand.with_text(|text| &*arena.alloc_str(text)).map_or(ValueRef::Null, ValueRef::Text)
        }
    }
}

/// One for each part of a form and constant of a list, and more for calls.
fn steps(form: &Form) -> u32 {
    let several = |name: &str| form[name].as_array().map_or(0, |parts| parts.iter().map(steps).sum());
    let own = match form["is"].as_str() {
        Some("call") => STEPS_OF_CALL + several("arguments"),
        Some("operator") => several("operands"),
        Some("in") => steps(&form["operand"]) + form["options"].as_array().map_or(0, |options| options.len() as u32),
        Some("starts-with") => steps(&form["operand"]),
        _ => 0,
    };
    own.saturating_add(1)
}

#[cfg(test)]
mod tests {
    use graphtide_graph::key::{IdRef, KeyRef};
    use serde_json::json;

    use super::*;

    /// Edge 0 with the attributes `Ab` and 7, and the id 12; both ends are 10.
    struct One;

    impl Bindings for One {
        fn attribute(&self, _: u8, column: u16) -> Operand<'_> {
            [Operand::Text("Ab"), Operand::Int(7), Operand::Null][usize::from(column)]
        }

        fn ts(&self, _: u8) -> i64 {
            86_400_000
        }

        fn id(&self, _: u8) -> IdRef<'_> {
            IdRef::Given(KeyRef::Number(12))
        }

        fn vertex(&self, _: u8) -> KeyRef<'_> {
            KeyRef::Number(10)
        }
    }

    fn spec(reads: &Form, program: &Form) -> Form {
        json!({"reads": reads, "program": program.to_string(), "ticks_per_second": 1_000, "zones": {"z": [[[0, 3_600]], 9_000_000_000_i64]}})
    }

    fn call(function: &str, arguments: &Form) -> Form {
        json!({"is": "call", "function": function, "arguments": arguments})
    }

    fn shown(reads: &Form, program: &Form) -> Result<String, String> {
        let computed: Computed = serde_json::from_value(spec(reads, program)).map_err(|error| error.to_string())?;
        Ok(computed.with_value(&One, |value| format!("{value:?}")))
    }

    #[test]
    fn functions_read_attributes_times_ids_and_vertices() {
        let read = || json!({"is": "read", "place": 0});
        let lower = || call("lower", &json!([read()]));
        assert_eq!(shown(&json!([{"attribute": [0, 0]}]), &lower()), Ok(r#"Text("ab")"#.to_owned()));
        assert_eq!(shown(&json!([{"attribute": [0, 2]}]), &lower()), Ok("Null".to_owned()));
        assert_eq!(shown(&json!([{"id": 0}]), &lower()), Ok(r#"Text("12")"#.to_owned()));
        assert_eq!(shown(&json!([{"vertex_id": 0}]), &call("length", &json!([read()]))), Ok("Int(2)".to_owned()));
        let hour = call("date_part", &json!([{"is": "constant", "value": "hour"}, read(), {"is": "constant", "value": "z"}]));
        assert_eq!(shown(&json!([{"ts": 0}]), &hour), Ok("Int(1)".to_owned()));
    }

    #[test]
    fn what_is_not_a_program_over_leaves_is_refused() {
        let read = |place: u64| json!({"is": "read", "place": place});
        let refused = |reads: &Form, program: &Form| shown(reads, program).err().unwrap_or_default();
        assert!(refused(&json!([{"ts": 0}]), &read(1)).contains("is not an expression"));
        assert!(refused(&json!([{"negate": {"ts": 0}}]), &read(0)).contains("reads something that is computed"));
        assert!(refused(&json!([{"ts": 0}]), &call("never", &json!([read(0)]))).contains("there is no function"));
        assert!(refused(&json!([{"ts": 0}]), &json!({"is": "path", "steps": ["a"]})).contains("is not an expression"));
    }

    #[test]
    fn a_program_equals_one_that_is_written_alike() -> Result<(), serde_json::Error> {
        let of = |function: &str, column: u16| {
            let program = call(function, &json!([{"is": "read", "place": 0}]));
            serde_json::from_value::<Computed>(spec(&json!([{"attribute": [0, column]}]), &program))
        };
        assert_eq!(of("lower", 0)?, of("lower", 0)?);
        assert_ne!(of("lower", 0)?, of("upper", 0)?);
        assert_ne!(of("lower", 0)?, of("lower", 1)?);
        assert_eq!(of("lower", 0)?.steps(), 10);
        Ok(())
    }
}
