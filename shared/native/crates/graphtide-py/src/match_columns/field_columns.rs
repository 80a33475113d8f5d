//! Columns of what patterns return, each of one type: values that are not of it are missing.

use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_array::builder::{
    ArrayBuilder, BooleanBuilder, Float64Builder, Int64Builder, ListBuilder, NullBuilder, StringBuilder,
};
use arrow_schema::ArrowError;
use graphtide_engine::expression::Operand;
use graphtide_engine::output::FieldRef;
use graphtide_graph::key::with_text_of_made;

/// A column of what patterns return.
pub(super) trait FieldColumn {
    /// Appends a value, or none.
    fn push(&mut self, value: Option<&FieldRef<'_>>);
    /// The values so far.
    fn finish(&mut self) -> ArrayRef;
}

/// Takes values of one type.
trait Typed: ArrayBuilder {
    fn push(&mut self, value: Operand<'_>);
    fn null(&mut self);
}

struct Scalars<B>(B);

struct Lists<B: ArrayBuilder>(ListBuilder<B>);

impl<B: Typed> FieldColumn for Scalars<B> {
    fn push(&mut self, value: Option<&FieldRef<'_>>) {
        match value {
            Some(FieldRef::One(value)) => self.0.push(*value),
            Some(FieldRef::List(_)) | None => self.0.null(),
        }
    }

    fn finish(&mut self) -> ArrayRef {
        self.0.finish()
    }
}

impl<B: Typed> FieldColumn for Lists<B> {
    fn push(&mut self, value: Option<&FieldRef<'_>>) {
        let Some(FieldRef::List(list)) = value else { return self.0.append(false) };
        for value in list.iter() {
            match value {
                FieldRef::One(value) => self.0.values().push(value),
                FieldRef::List(_) => self.0.values().null(),
            }
        }
        self.0.append(true);
    }

    fn finish(&mut self) -> ArrayRef {
        Arc::new(self.0.finish())
    }
}

impl Typed for BooleanBuilder {
    fn push(&mut self, value: Operand<'_>) {
        self.append_option(if let Operand::Bool(truth) = value { Some(truth) } else { None });
    }

    fn null(&mut self) {
        self.append_null();
    }
}

impl Typed for Int64Builder {
    fn push(&mut self, value: Operand<'_>) {
        self.append_option(if let Operand::Int(number) = value { Some(number) } else { None });
    }

    fn null(&mut self) {
        self.append_null();
    }
}

impl Typed for Float64Builder {
    fn push(&mut self, value: Operand<'_>) {
        self.append_option(match value {
            Operand::Float(number) => Some(number),
            Operand::Int(number) => Some(number as f64),
            _ => None,
        });
    }

    fn null(&mut self) {
        self.append_null();
    }
}

impl Typed for StringBuilder {
    fn push(&mut self, value: Operand<'_>) {
        match value {
            Operand::Text(text) => self.append_value(text),
            Operand::Digits(number) => self.append_value(number.to_string()),
            Operand::Made(number) => with_text_of_made(number, |text| self.append_value(text)),
            Operand::Null | Operand::Bool(_) | Operand::Int(_) | Operand::Float(_) => self.append_null(),
        }
    }

    fn null(&mut self) {
        self.append_null();
    }
}

impl Typed for NullBuilder {
    fn push(&mut self, _: Operand<'_>) {
        self.append_null();
    }

    fn null(&mut self) {
        self.append_null();
    }
}

/// Makes a column of a type.
pub(super) fn field_column(name: &str) -> Result<Box<dyn FieldColumn>, ArrowError> {
    Ok(match name {
        "boolean" => Box::new(Scalars(BooleanBuilder::new())),
        "integer" => Box::new(Scalars(Int64Builder::new())),
        "number" => Box::new(Scalars(Float64Builder::new())),
        "text" => Box::new(Scalars(StringBuilder::new())),
        "null" => Box::new(Scalars(NullBuilder::new())),
        "list boolean" => Box::new(Lists(ListBuilder::new(BooleanBuilder::new()))),
        "list integer" => Box::new(Lists(ListBuilder::new(Int64Builder::new()))),
        "list number" => Box::new(Lists(ListBuilder::new(Float64Builder::new()))),
        "list text" => Box::new(Lists(ListBuilder::new(StringBuilder::new()))),
        "list null" => Box::new(Lists(ListBuilder::new(NullBuilder::new()))),
        _ => return Err(ArrowError::InvalidArgumentError(format!("there is no type {name:?}"))),
    })
}
