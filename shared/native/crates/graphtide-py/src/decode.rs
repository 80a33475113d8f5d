//! Decoders as Python sees them: one class does the work, its subclasses differ in their options alone.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_pyarrow::PyArrowType;
use arrow_schema::Schema;
use graphtide_decode::statement::{Source, open};
use graphtide_decode::surroundings::{SchemaOf, Surroundings, Ungiven, Unpack};
use graphtide_decode::{
    ArrowDecoder, AttributeType, ColumnNames, CsvDecoder, DeadLetter, Decoder, JsonLinesDecoder, Options, Settled,
    UnusableValues, Zone,
};
use graphtide_graph::batch::EdgeBatch;
use graphtide_graph::symbol::SharedSymbols;
use pyo3::PyClass;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;

use crate::errors::{TransientError, from_decode};
use crate::record_form::PyRecordForm;
use crate::records::{PyDeadLetter, PyEdgeBatch, PySymbols, take_letters};
use crate::tables::PyLookupTable;

/// Of a piece: the ends of its records and of its dead letters among all, the ordinal that follows, its greatest time, its
/// first line.
type Piece = (usize, usize, u64, Option<i64>, u64);

/// What all decoders do.
#[pyclass(subclass, name = "Decoder", module = "graphtide_native._native")]
pub(crate) struct PyDecoder {
    inner: Box<dyn Decoder + Send + Sync>,
    symbols: SharedSymbols,
    attributes: Arc<[String]>,
    dead: Vec<DeadLetter>,
}

impl PyDecoder {
    fn new(inner: impl Decoder + Send + Sync + 'static, symbols: SharedSymbols, attributes: Vec<String>) -> Self {
        Self::of(Box::new(inner), symbols, attributes)
    }

    fn of(inner: Box<dyn Decoder + Send + Sync>, symbols: SharedSymbols, attributes: Vec<String>) -> Self {
        Self { inner, symbols, attributes: attributes.into(), dead: Vec::new() }
    }

    /// Initialises a subclass with this as its base.
    fn under<S>(self, subclass: S) -> PyClassInitializer<S>
    where
        S: PyClass<BaseType = Self>,
    {
        PyClassInitializer::from(self).add_subclass(subclass)
    }

    fn run(
        &mut self,
        py: Python<'_>,
        step: impl Send
        + FnOnce(&mut dyn Decoder, &mut EdgeBatch, &mut Vec<DeadLetter>) -> Result<(), graphtide_decode::DecodeError>,
    ) -> PyResult<PyEdgeBatch> {
        let mut batch = EdgeBatch::new(self.attributes.len());
        let Self { inner, dead, .. } = self;
        py.detach(|| step(inner.as_mut(), &mut batch, dead)).map_err(|error| from_decode(&error))?;
        Ok(PyEdgeBatch { inner: Arc::new(batch), symbols: self.symbols.clone(), attributes: Arc::clone(&self.attributes) })
    }
}

#[pymethods]
impl PyDecoder {
    fn decode(&mut self, py: Python<'_>, block: &[u8]) -> PyResult<PyEdgeBatch> {
        self.run(py, |decoder, batch, dead| decoder.feed(block, batch, dead))
    }

    fn finish(&mut self, py: Python<'_>) -> PyResult<PyEdgeBatch> {
        self.run(py, |decoder, batch, dead| decoder.finish(batch, dead))
    }

    #[expect(clippy::needless_pass_by_value, reason = "Python gives what is owned")]
    #[pyo3(signature = (pieces, line, latest = None))]
    fn decode_pieces(
        &mut self,
        py: Python<'_>,
        pieces: Vec<PyBackedBytes>,
        line: u64,
        latest: Option<Vec<i64>>,
    ) -> PyResult<(PyEdgeBatch, Vec<Piece>)> {
        if latest.as_ref().is_some_and(|latest| latest.len() != pieces.len()) {
            return Err(PyValueError::new_err("each piece has a latest time, or none has"));
        }
        let mut ends = Vec::with_capacity(pieces.len());
        let batch = self.run(py, |decoder, batch, dead| {
            let mut line = line;
            for (number, piece) in pieces.iter().enumerate() {
                let first = batch.len();
                decoder.begin_piece(line);
                if let Some(latest) = &latest {
                    decoder.accept_until(latest[number]);
                }
                decoder.feed(piece, batch, dead)?;
                decoder.finish(batch, dead)?;
                let newest = batch.ts()[first..].iter().copied().max();
                ends.push((batch.len(), dead.len(), decoder.ordinal(), newest, line));
                line += decoder.lines(piece) + 1;
            }
            Ok(())
        })?;
        Ok((batch, ends))
    }

    fn take_dead_letters<'py>(&mut self, py: Python<'py>) -> Vec<PyDeadLetter<'py>> {
        take_letters(py, &mut self.dead)
    }

    fn columns(&self) -> Option<Vec<String>> {
        self.inner.columns().map(<[String]>::to_vec)
    }

    fn has_ids(&self) -> bool {
        self.inner.has_ids()
    }

    fn has_operations(&self) -> bool {
        self.inner.has_operations()
    }

    fn has_zoneless_times(&self) -> bool {
        self.inner.has_zoneless_times()
    }

    fn discovered(&self) -> Vec<String> {
        self.inner.discovered().to_vec()
    }

    fn unusable_values(&self) -> Vec<(String, String, u64, u64)> {
        let emitted = |unusable_values: &UnusableValues| {
            (unusable_values.name.clone(), unusable_values.found.clone(), unusable_values.records, unusable_values.line)
        };
        self.inner.unusable_values().iter().map(emitted).collect()
    }

    fn settled(&self) -> Vec<(String, u64, String)> {
        let emitted = |settled: &Settled| (settled.column.clone(), settled.line, settled.text.clone());
        self.inner.settled().iter().map(emitted).collect()
    }

    fn filtered(&self) -> u64 {
        self.inner.filtered()
    }

    fn ordinal(&self) -> u64 {
        self.inner.ordinal()
    }

    fn start_at(&mut self, ordinal: u64) {
        self.inner.start_at(ordinal);
    }

    fn accept_until(&mut self, latest: i64) {
        self.inner.accept_until(latest);
    }
}

/// Decoder of CSV.
#[pyclass(extends = PyDecoder, name = "CsvDecoder", module = "graphtide_native._native")]
pub(crate) struct PyCsvDecoder;

#[pymethods]
impl PyCsvDecoder {
    #[new]
    #[pyo3(signature = (
        symbols, attributes, columns, delimiter = ",", *, types = None, settle = false, keep_raw = false, substitutes = false,
        form = None
    ))]
    #[expect(clippy::too_many_arguments, reason = "Python names them")]
    fn new(
        symbols: &PySymbols,
        attributes: Vec<String>,
        columns: HashMap<String, String>,
        delimiter: &str,
        types: Option<HashMap<String, String>>,
        settle: bool,
        keep_raw: bool,
        substitutes: bool,
        form: Option<PyRecordForm>,
    ) -> PyResult<PyClassInitializer<Self>> {
        let form = form.unwrap_or_default();
        let options = Options { keep_raw, substitutes, ..options(&attributes, columns, types)? };
        let dialect = form.dialect(delimiter).map_err(|error| from_decode(&error))?;
        let options = form.add_to(options).map_err(|error| from_decode(&error))?;
        let decoder = CsvDecoder::new(options, dialect, symbols.inner.clone());
        let decoder = if settle { decoder.settling() } else { decoder };
        Ok(PyDecoder::new(decoder, symbols.inner.clone(), attributes).under(Self))
    }
}

/// Decoder of JSON Lines.
#[pyclass(extends = PyDecoder, name = "JsonLinesDecoder", module = "graphtide_native._native")]
pub(crate) struct PyJsonLinesDecoder;

#[pymethods]
impl PyJsonLinesDecoder {
    #[new]
    #[pyo3(signature = (
        symbols, attributes, columns, *, types = None, keep_raw = false, substitutes = false, discover = false, form = None
    ))]
    #[expect(clippy::too_many_arguments, reason = "Python names them")]
    fn new(
        symbols: &PySymbols,
        attributes: Vec<String>,
        columns: HashMap<String, String>,
        types: Option<HashMap<String, String>>,
        keep_raw: bool,
        substitutes: bool,
        discover: bool,
        form: Option<PyRecordForm>,
    ) -> PyResult<PyClassInitializer<Self>> {
        let form = form.unwrap_or_default();
        let options = Options { keep_raw, substitutes, discover, ..options(&attributes, columns, types)? };
        let path = form.path();
        let options = form.add_to(options).map_err(|error| from_decode(&error))?;
        let decoder = JsonLinesDecoder::new(options, symbols.inner.clone());
        let decoder = if let Some(path) = path { decoder.anywhere(path) } else { decoder };
        Ok(PyDecoder::new(decoder, symbols.inner.clone(), attributes).under(Self))
    }

    fn project(mut this: PyRefMut<'_, Self>, attributes: Vec<String>) {
        let decoder = this.as_super();
        decoder.attributes = attributes.clone().into();
        decoder.inner.project(attributes);
    }
}

/// Decoder of Arrow IPC streams.
#[pyclass(extends = PyDecoder, name = "ArrowDecoder", module = "graphtide_native._native")]
pub(crate) struct PyArrowDecoder;

#[pymethods]
impl PyArrowDecoder {
    #[new]
    #[pyo3(signature = (symbols, attributes, columns, ticks_per_second = 1000, *, types = None, form = None))]
    fn new(
        symbols: &PySymbols,
        attributes: Vec<String>,
        columns: HashMap<String, String>,
        ticks_per_second: i64,
        types: Option<HashMap<String, String>>,
        form: Option<PyRecordForm>,
    ) -> PyResult<PyClassInitializer<Self>> {
        let options = options(&attributes, columns, types)?;
        let options = form.unwrap_or_default().add_to(options).map_err(|error| from_decode(&error))?;
        let decoder =
            ArrowDecoder::new(options, ticks_per_second, symbols.inner.clone()).map_err(|error| from_decode(&error))?;
        Ok(PyDecoder::new(decoder, symbols.inner.clone(), attributes).under(Self))
    }

    #[expect(clippy::needless_pass_by_value, reason = "Python gives what is owned")]
    fn check_columns(mut this: PyRefMut<'_, Self>, schema: PyArrowType<Schema>) -> PyResult<()> {
        this.as_super().inner.check_columns(&schema.0).map_err(|error| from_decode(&error))
    }

    #[expect(clippy::needless_pass_by_value, reason = "Python gives what is owned")]
    fn decode_rows(mut this: PyRefMut<'_, Self>, py: Python<'_>, rows: PyArrowType<RecordBatch>) -> PyResult<PyEdgeBatch> {
        this.as_super().run(py, |decoder, batch, dead| decoder.feed_rows(&rows.0, batch, dead))
    }
}

/// Decoder of records of the raw topic that are Arrow IPC streams.
#[pyclass(extends = PyDecoder, name = "RawBatchDecoder", module = "graphtide_native._native")]
pub(crate) struct PyRawBatchDecoder;

#[pymethods]
impl PyRawBatchDecoder {
    #[new]
    #[pyo3(signature = (symbols, attributes, ticks_per_second = 1000))]
    fn new(symbols: &PySymbols, attributes: Vec<String>, ticks_per_second: i64) -> PyResult<PyClassInitializer<Self>> {
        let options = Options { attributes: attributes.clone(), ..Options::default() };
        let decoder = ArrowDecoder::of_raw_records(options, ticks_per_second, symbols.inner.clone())
            .map_err(|error| from_decode(&error))?;
        Ok(PyDecoder::new(decoder, symbols.inner.clone(), attributes).under(Self))
    }
}

/// Decoder of records that a statement reads.
#[pyclass(extends = PyDecoder, name = "StatementDecoder", module = "graphtide_native._native")]
pub(crate) struct PyStatementDecoder;

#[pymethods]
impl PyStatementDecoder {
    #[new]
    #[pyo3(signature = (
        symbols, attributes, definition, *, format, zones, form = None, types = None, keep_raw = false, substitutes = false,
        schemas = None, tables = None
    ))]
    #[expect(clippy::too_many_arguments, reason = "Python names them")]
    fn new(
        symbols: &PySymbols,
        attributes: Vec<String>,
        definition: Vec<u8>,
        format: String,
        zones: HashMap<String, (Vec<(i64, i32)>, i64)>,
        form: Option<PyRecordForm>,
        types: Option<HashMap<String, String>>,
        keep_raw: bool,
        substitutes: bool,
        schemas: Option<Py<PyAny>>,
        tables: Option<HashMap<String, PyRef<'_, PyLookupTable>>>,
    ) -> PyResult<PyClassInitializer<Self>> {
        let form = form.unwrap_or_default();
        let options = Options { keep_raw, substitutes, ..options(&attributes, HashMap::new(), types)? };
        let opened = || {
            let clocks = zones.into_iter().map(|(name, (changes, until))| Some((name, Zone::new(changes, until)?)));
            let clocks = clocks.collect::<Option<_>>().ok_or(graphtide_decode::DecodeError::Zone)?;
            let (dialect, path) = (form.dialect(",")?, form.path());
            let tables = tables.unwrap_or_default().into_iter().map(|(name, table)| (name, table.inner.clone())).collect();
            let surroundings = surroundings(schemas);
            let source = Source { definition, format, dialect, path, clocks, surroundings, tables };
            open(source, form.add_to(options)?, &symbols.inner)
        };
        let decoder = opened().map_err(|error| from_decode(&error))?;
        Ok(PyDecoder::of(decoder, symbols.inner.clone(), attributes).under(Self))
    }

    #[expect(clippy::needless_pass_by_value, reason = "Python gives what is owned")]
    fn check_columns(mut this: PyRefMut<'_, Self>, schema: PyArrowType<Schema>) -> PyResult<()> {
        this.as_super().inner.check_columns(&schema.0).map_err(|error| from_decode(&error))
    }

    #[expect(clippy::needless_pass_by_value, reason = "Python gives what is owned")]
    fn decode_rows(mut this: PyRefMut<'_, Self>, py: Python<'_>, rows: PyArrowType<RecordBatch>) -> PyResult<PyEdgeBatch> {
        this.as_super().run(py, |decoder, batch, dead| decoder.feed_rows(&rows.0, batch, dead))
    }
}

/// What decoders ask Python for: blocks are unpacked by its modules, and `schemas` gives the schema of a number.
fn surroundings(schemas: Option<Py<PyAny>>) -> Surroundings {
    let unpack: Unpack = Arc::new(|codec, packed, most| {
        Python::attach(|py| {
            let unpacking = py.import("graphtide_native.unpacking")?;
            let bytes: PyBackedBytes =
                unpacking.call_method1("unpack_block", (codec, PyBytes::new(py, packed), most))?.extract()?;
            Ok(bytes.to_vec())
        })
        .map_err(ungiven)
    });
    let schema_of = schemas.map(|schemas| {
        let asked: SchemaOf = Arc::new(move |number| {
            let found = Python::attach(|py| schemas.call1(py, (number,))?.extract::<PyBackedBytes>(py).map_err(PyErr::from));
            found.map(|text| text.to_vec()).map_err(ungiven)
        });
        asked
    });
    Surroundings { unpack: Some(unpack), schema_of }
}

#[expect(clippy::needless_pass_by_value, reason = "as errors are mapped")]
fn ungiven(error: PyErr) -> Ungiven {
    Python::attach(|py| {
        let reason = error.value(py).to_string();
        if error.is_instance_of::<TransientError>(py) { Ungiven::Now(reason) } else { Ungiven::Never(reason) }
    })
}

fn options(
    attributes: &[String],
    columns: HashMap<String, String>,
    types: Option<HashMap<String, String>>,
) -> PyResult<Options> {
    let columns = ColumnNames::new(columns).map_err(|error| from_decode(&error))?;
    let known = |(name, kind): (String, String)| match AttributeType::of_name(&kind) {
        Some(kind) => Ok((name, kind)),
        None => Err(PyValueError::new_err(format!("there is no type {kind:?} of attributes"))),
    };
    // In one order, so that of two bad values the same one is named each time.
    let types: BTreeMap<_, _> = types.unwrap_or_default().into_iter().collect();
    let declared = types.into_iter().map(known).collect::<PyResult<_>>()?;
    Ok(Options { attributes: attributes.to_vec(), declared, columns, ..Options::default() })
}

pub(crate) fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_class::<PyDecoder>()?;
    m.add_class::<PyCsvDecoder>()?;
    m.add_class::<PyJsonLinesDecoder>()?;
    m.add_class::<PyArrowDecoder>()?;
    m.add_class::<PyRawBatchDecoder>()?;
    m.add_class::<PyStatementDecoder>()
}
