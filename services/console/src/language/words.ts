/** Words of the pattern language; a test compares them with the grammar. */

export const PATTERN_WORDS = [
  "ALL", "AND", "ANY", "AS", "BY", "CHANGES", "CONSTRUCT", "DESCRIPTION", "DISTINCT", "DUAL", "EDGE", "EVERY", "EXISTS", "FALSE", "GRAPH", "IN", "INPUT",
  "INSTANCES", "INTERNAL", "IS", "ISOMORPHISM", "MATCH", "MAXIMAL", "MESSAGE", "NEXT", "NOT", "NOW", "NULL", "ON", "ONE", "OPTIONAL", "OR", "ORDER",
  "OUTPUT", "PARTITION", "PATH", "PATTERN", "PER", "QUERY", "REPORT", "RETURN", "SELECT", "SEQ", "SEVERITY", "SIMULATION", "SKIP", "SLIDE", "STARTS",
  "TAGS", "TILL", "TIMEOUT", "TRUE", "UNDER", "VIEW", "WHERE", "WINDOW", "WITH", "WITHIN",
];

export const STREAM_WORDS = [
  "AGAINST", "AT", "BEFORE", "CLOCK", "CURRENT", "DELETE", "DUPLICATES", "EMIT", "EVENT", "EXCLUDE", "FEATURE", "FORMAT", "FROM", "HAVING",
  "ID", "JOIN", "KEY", "LATENESS", "OUTER", "OVER", "PARTS", "RELOAD", "SET", "STREAM", "TABLE", "UNIT", "UPDATE", "VERTEX", "ZONE",
];

const ALL = new Set([...PATTERN_WORDS, ...STREAM_WORDS]);

export function isWord(text: string): boolean {
  return ALL.has(text.toUpperCase());
}
