/** The editor of texts in the pattern language.
 *
 * It stands in a shadow tree: there CodeMirror adopts its style sheets, which a strict Content-Security-Policy allows.
 */

import { autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { bracketMatching, syntaxHighlighting } from "@codemirror/language";
import { lintGutter, lintKeymap, setDiagnostics } from "@codemirror/lint";
import { EditorState } from "@codemirror/state";
import { drawSelection, EditorView, highlightActiveLine, keymap, lineNumbers } from "@codemirror/view";
import { useEffect, useRef } from "react";

import type { Schemas } from "../api/client";
import { complete, diagnosticsOf, highlighting, type Known, language } from "./language";

/** A text that the editor is given: at first, and each time another object comes. */
export interface Given {
  text: string;
}

interface Props {
  label: string;
  given: Given;
  onChange: (text: string) => void;
  known: Known;
  error: Schemas["Flaw"] | null;
  minHeight?: string;
}

const theme = (minHeight: string) =>
  EditorView.theme({
    "&": { fontSize: "14px", backgroundColor: "transparent", color: "inherit" },
    ".cm-content": { fontFamily: "var(--code)", minHeight, caretColor: "currentColor" },
    ".cm-gutters": { backgroundColor: "transparent", color: "var(--muted)", border: "none" },
    ".cm-activeLine, .cm-activeLineGutter": { backgroundColor: "light-dark(#00000008, #ffffff0a)" },
    "&.cm-focused": { outline: "2px solid var(--accent)", outlineOffset: "-2px" },
    ".cm-tooltip": { backgroundColor: "var(--panel)", color: "var(--text)", border: "1px solid var(--line)", whiteSpace: "pre-wrap" },
    ".cm-cursor": { borderLeftColor: "currentColor" },
    "&.cm-focused .cm-selectionBackground, .cm-selectionBackground": { backgroundColor: "light-dark(#b9e0e4, #2c5560) !important" },
    ".cm-tooltip-autocomplete > ul > li[aria-selected]": { backgroundColor: "var(--accent)", color: "var(--accent-text)" },
  });

export default function CodeEditor({ label, given, onChange, known, error, minHeight = "14rem" }: Props) {
  const place = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView | null>(null);
  const latest = useRef({ known, onChange });
  latest.current = { known, onChange };

  useEffect(() => {
    const element = place.current;
    if (element === null) return;
    const root = element.shadowRoot ?? element.attachShadow({ mode: "open", delegatesFocus: true });
    const made = new EditorView({
      root,
      parent: root,
      state: EditorState.create({
        doc: given.text,
        extensions: [
          lineNumbers(), history(), drawSelection(), bracketMatching(), closeBrackets(), highlightActiveLine(), lintGutter(),
          language, syntaxHighlighting(highlighting), theme(minHeight), EditorView.lineWrapping,
          autocompletion({ override: [complete(() => latest.current.known)] }),
          keymap.of([...closeBracketsKeymap, ...completionKeymap, ...lintKeymap, ...historyKeymap, ...defaultKeymap, indentWithTab]),
          EditorView.contentAttributes.of({ "aria-label": label, spellcheck: "false" }),
          EditorView.updateListener.of((update) => {
            if (update.docChanged) latest.current.onChange(update.state.doc.toString());
          }),
        ],
      }),
    });
    view.current = made;
    // It may have been given another text while it was loaded.
    latest.current.onChange(given.text);
    return () => {
      made.destroy();
      view.current = null;
    };
    // The text is the editor's own after this: a page that gave back what was typed a moment ago would undo what came since.
  }, []);

  useEffect(() => {
    const made = view.current;
    if (made !== null && made.state.doc.toString() !== given.text) {
      made.dispatch({ changes: { from: 0, to: made.state.doc.length, insert: given.text } });
    }
  }, [given]);

  useEffect(() => {
    const made = view.current;
    if (made !== null) made.dispatch(setDiagnostics(made.state, diagnosticsOf(made.state, error)));
  }, [error]);

  return <div ref={place} className="editor" />;
}
