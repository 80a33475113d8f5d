/** Edges from a file that somebody chose: JSON Lines, a JSON array, or CSV with a header. */

export interface ReadRecords {
  records: Record<string, unknown>[];
  /** Lines that are no records, with the reason of the first. */
  flaw: string | null;
  isCut: boolean;
}

/** The records that a dry run takes. */
export const MOST_RECORDS = 10_000;

export function readRecords(text: string, name = ""): ReadRecords {
  const trimmed = text.trimStart();
  if (trimmed.startsWith("[")) return fromArray(trimmed);
  if (trimmed.startsWith("{")) return fromLines(text);
  return fromTable(text, name.endsWith(".tsv") ? "\t" : ",");
}

function fromArray(text: string): ReadRecords {
  try {
    const all = (JSON.parse(text) as unknown[]).filter(isRecord);
    return { records: all.slice(0, MOST_RECORDS), flaw: null, isCut: all.length > MOST_RECORDS };
  } catch (error) {
    return { records: [], flaw: String(error), isCut: false };
  }
}

function fromLines(text: string): ReadRecords {
  const records: Record<string, unknown>[] = [];
  let flaw: string | null = null;
  const lines = text.split("\n");
  for (const [index, line] of lines.entries()) {
    if (line.trim() === "") continue;
    if (records.length === MOST_RECORDS) return { records, flaw, isCut: true };
    try {
      const record: unknown = JSON.parse(line);
      if (isRecord(record)) records.push(record);
      else flaw ??= `line ${index + 1} is no object`;
    } catch (error) {
      flaw ??= `line ${index + 1}: ${String(error)}`;
    }
  }
  return { records, flaw, isCut: false };
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function fromTable(text: string, delimiter: string): ReadRecords {
  const rows = rowsOf(text, delimiter, MOST_RECORDS + 2);
  const header = rows[0];
  if (header === undefined || header.length < 2) return { records: [], flaw: "the first line names no columns", isCut: false };
  const records = rows.slice(1, MOST_RECORDS + 1).map((row) => Object.fromEntries(header.map((name, index) => [name, typed(row[index] ?? "")])));
  const short = rows.findIndex((row) => row.length !== header.length);
  const flaw = short > 0 ? `row ${short + 1} has ${rows[short]!.length} fields, the header ${header.length}` : null;
  return { records, flaw, isCut: rows.length > MOST_RECORDS + 1 };
}

/** Return a field as the service takes it from CSV: what looks like a number is one. */
function typed(field: string): unknown {
  if (field === "") return null;
  return /^-?(0|[1-9]\d{0,14})(\.\d+)?(e[+-]?\d+)?$/i.test(field) ? Number(field) : field;
}

/** Return the rows of a table (RFC 4180), a field in quotes may hold delimiters and line ends. */
export function rowsOf(text: string, delimiter: string, most: number): string[][] {
  const rows: string[][] = [];
  let row: string[] = [];
  let field = "";
  let isQuoted = false;
  const end = () => {
    row.push(field);
    field = "";
  };
  for (let i = 0; i < text.length && rows.length < most; i++) {
    const c = text[i]!;
    if (isQuoted) {
      if (c !== '"') field += c;
      else if (text[i + 1] === '"') {
        field += '"';
        i++;
      } else isQuoted = false;
    } else if (c === '"' && field === "") isQuoted = true;
    else if (c === delimiter) end();
    else if (c === "\n" || c === "\r") {
      if (c === "\r" && text[i + 1] === "\n") i++;
      end();
      if (row.length > 1 || row[0] !== "") rows.push(row);
      row = [];
    } else field += c;
  }
  if (field !== "" || row.length > 0) {
    end();
    if (rows.length < most) rows.push(row);
  }
  return rows;
}
