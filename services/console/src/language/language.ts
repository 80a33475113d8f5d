/** The pattern language in the editor: colours, completion, and the service's own check as one types. */

import { type Completion, type CompletionContext, type CompletionResult } from "@codemirror/autocomplete";
import { HighlightStyle, StreamLanguage, type StringStream } from "@codemirror/language";
import { type Diagnostic } from "@codemirror/lint";
import type { EditorState } from "@codemirror/state";
import { tags } from "@lezer/highlight";

import type { Schemas } from "../api/client";
import { isWord, PATTERN_WORDS, STREAM_WORDS } from "./words";

interface State {
  isInComment: boolean;
}

function token(stream: StringStream, state: State): string | null {
  if (state.isInComment) {
    state.isInComment = !stream.match(/^.*?\*\//);
    if (state.isInComment) stream.skipToEnd();
    return "comment";
  }
  if (stream.eatSpace()) return null;
  if (stream.match(/^(\/\/|#).*/)) return "comment";
  if (stream.match("/*")) {
    state.isInComment = true;
    return "comment";
  }
  if (stream.match(/^"(?:[^"\\]|\\.)*"?/) || stream.match(/^'(?:[^'\\]|\\.)*'?/)) return "string";
  if (stream.match(/^`(?:[^`]|``)*`?/)) return "variableName";
  if (stream.match(/^\d+(\.\d+)?(e[+-]?\d+)?(ms|us|ns|s|m|h|d)?\b/i)) return "number";
  const word = stream.match(/^[\p{L}_][\p{L}\p{N}_]*/u) as RegExpMatchArray | null;
  if (word) return isWord(word[0]) ? "keyword" : "variableName";
  if (stream.match(/^(<-\[?|\]?->|-\[|\]-|<=|>=|<>|!=|[<>=*+?^|/:-])/)) return "operator";
  stream.next();
  return null;
}

export const language = StreamLanguage.define<State>({
  name: "graphtide",
  startState: () => ({ isInComment: false }),
  token,
  languageData: { commentTokens: { line: "#" } },
});

/** Colours of words. */
export const highlighting = HighlightStyle.define([
  { tag: tags.keyword, color: "light-dark(#0b5c6b, #6fd3c1)", fontWeight: "600" },
  { tag: tags.string, color: "light-dark(#8a4b00, #f2b95f)" },
  { tag: tags.number, color: "light-dark(#6b3fa0, #c9a8f5)" },
  { tag: tags.comment, color: "light-dark(#52636b, #9db0b8)", fontStyle: "italic" },
  { tag: tags.operator, color: "light-dark(#9a2d20, #ff9d94)" },
]);

/** What the editor knows of the streams it completes from. */
export interface Known {
  streams: string[];
  labels: { name: string; count: number }[];
  attributes: { name: string; type: string }[];
  isStatement: boolean;
}

/** Return completions: labels after a colon, attributes after a dot, streams after ON, and words of the language. */
export function complete(known: () => Known): (context: CompletionContext) => CompletionResult | null {
  return (context) => {
    const word = context.matchBefore(/[\p{L}\p{N}_]*/u);
    const from = word?.from ?? context.pos;
    if (word?.from === word?.to && !context.explicit && !/[:.]$/.test(context.state.sliceDoc(Math.max(0, from - 1), from))) return null;
    const before = context.state.sliceDoc(Math.max(0, from - 40), from);
    return { from, options: optionsAfter(before, known()), validFor: /^[\p{L}\p{N}_]*$/u };
  };
}

/** Return what may follow a text. */
export function optionsAfter(before: string, known: Known): Completion[] {
  if (/[:|~]\s*$/.test(before)) {
    return known.labels.map(({ name, count }) => ({ label: name, type: "type", detail: `${count.toLocaleString("en")} edges`, boost: Math.log10(count + 1) }));
  }
  if (/\w\.$/.test(before)) return known.attributes.map(({ name, type }) => ({ label: name, type: "property", detail: type }));
  if (/\bON\s+$/i.test(before)) return known.streams.map((label) => ({ label, type: "namespace" }));
  const words = known.isStatement ? [...PATTERN_WORDS, ...STREAM_WORDS] : PATTERN_WORDS;
  return words.map((label) => ({ label, type: "keyword" }));
}

/** Return the place of an error as the editor underlines it. */
export function diagnosticsOf(state: EditorState, error: Schemas["Flaw"] | null): Diagnostic[] {
  if (error === null) return [];
  const message = [error.detail, error.expected?.length ? `expected: ${error.expected.join(", ")}` : "", error.hint ?? ""].filter(Boolean).join("\n");
  if (error.line == null || error.column == null || error.line < 1 || error.line > state.doc.lines) {
    return [{ from: 0, to: state.doc.length, severity: "error", message }];
  }
  const line = state.doc.line(error.line);
  const from = Math.min(line.from + Math.max(0, error.column - 1), line.to);
  const word = /^[\p{L}\p{N}_]+/u.exec(state.sliceDoc(from, line.to))?.[0] ?? "";
  return [{ from, to: Math.min(from + Math.max(word.length, 1), state.doc.length), severity: "error", message }];
}
