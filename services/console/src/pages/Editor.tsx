/** Write a pattern, see what it means, try it, register it. */

import { lazy, Suspense, useEffect, useRef, useState } from "react";

import { api, bodyOf } from "../api/client";
import { usePattern, useSchema, useStreams } from "../api/queries";
import { Failure, Loading, Notice, Page, Panel } from "../components/basics";
import { drawingOf, type Shape } from "../drawing/shape";
import type { Known } from "../language/language";
import { RECIPES } from "../recipes";
import { address, Link, navigate } from "../router";
import { Sketch } from "./editor/Sketch";
import { Trial } from "./editor/Trial";
import { useValidity } from "./editor/validity";

const CodeEditor = lazy(() => import("../language/CodeEditor"));
const Graph = lazy(() => import("../drawing/Graph"));

const DRAFT = "graphtide.draft";
const FIRST = RECIPES.at(-1)!.text;

export default function Editor({ name }: { name: string | null }) {
  if (name === null) return <Desk name={null} text={sessionStorage.getItem(DRAFT) ?? FIRST} etag={null} />;
  return <Existing name={name} />;
}

function Existing({ name }: { name: string }) {
  const pattern = usePattern(name);
  // The text that one began to change, and its state: a change that others made meanwhile is a conflict, and shown as one.
  const begun = useRef(pattern.data);
  begun.current ??= pattern.data;
  // What somebody writes stays, also while the service does not answer.
  if (begun.current === undefined) return pattern.error ? <Failure error={pattern.error} /> : <Loading />;
  return <Desk name={name} text={begun.current.text} etag={begun.current.etag} />;
}

function Desk({ name, text: first, etag }: { name: string | null; text: string; etag: string | null }) {
  const [given, setGiven] = useState({ text: first });
  const [text, setText] = useState(first);
  const [stream, setStream] = useState("");
  const [error, setError] = useState<unknown>(null);
  const [registered, setRegistered] = useState<string | null>(null);
  const [isDrawing, setDrawing] = useState(false);
  const validity = useValidity(text);
  const found = validity.data?.patterns?.[0];
  const streams = useStreams();
  useEffect(() => {
    if (found?.stream) setStream(found.stream);
  }, [found?.stream]);
  useEffect(() => {
    if (name === null) sessionStorage.setItem(DRAFT, text);
  }, [name, text]);
  const known = useKnown(stream, streams.data?.streams.map((each) => each.name) ?? []);
  const shape = (found?.shape ?? null) as Shape | null;
  const drawing = shape === null ? null : drawingOf(shape);
  const flaw = text.trim() === "" ? null : (validity.data?.error ?? null);

  const register = async () => {
    try {
      const answer =
        name === null
          ? await bodyOf(api.POST("/api/v1/patterns", { body: { text } }))
          : await bodyOf(api.PATCH("/api/v1/patterns/{name}", { params: { path: { name }, header: { "if-match": `"${etag}"` } }, body: { text } }));
      setError(null);
      setRegistered(answer.name);
      sessionStorage.removeItem(DRAFT);
    } catch (problem) {
      setError(problem);
    }
  };

  return (
    <Page
      title={name === null ? "Write a pattern" : `Change ${name}`}
      lead="The text is checked as you type. The drawing shows what it means, and a trial what it finds."
      actions={
        <>
          <button type="button" aria-pressed={isDrawing} onClick={() => setDrawing(!isDrawing)}>
            Draw it
          </button>
          <button type="button" className="main" disabled={validity.data?.valid !== true} onClick={() => void register()}>
            {name === null ? "Register" : "Save as the next version"}
          </button>
        </>
      }
    >
      {error !== null && <Failure error={error} />}
      {registered !== null && (
        <Notice tone="good">
          {registered} is registered. <Link to={address("patterns", registered)}>Show it</Link>{" "}
          <Link to={`/matches?pattern=${encodeURIComponent(registered)}`}>Watch its matches</Link>
        </Notice>
      )}
      {name === null && (
        <details>
          <summary>Recipes</summary>
          <div className="gallery">
            {RECIPES.map((each) => (
              <button key={each.name} type="button" onClick={() => setGiven({ text: each.text })}>
                <strong>{each.name}</strong>
                <span className="muted">{each.what}</span>
              </button>
            ))}
          </div>
        </details>
      )}
      {isDrawing && <Sketch stream={stream || "edges"} onText={(drawn) => setGiven({ text: drawn })} />}
      <div className="halves">
        <Panel title="Text">
          <Suspense fallback={<Loading />}>
            <CodeEditor label="Text of the pattern" given={given} onChange={setText} known={known} error={flaw} />
          </Suspense>
          {flaw !== null && (
            <Notice tone="bad">
              <strong>{flaw.line != null ? `Line ${flaw.line}, column ${flaw.column}: ` : ""}{flaw.detail}</strong>
              {flaw.source_line && <pre>{`${flaw.source_line}\n${" ".repeat(Math.max(0, (flaw.column ?? 1) - 1))}^`}</pre>}
              {flaw.expected && flaw.expected.length > 0 && <div>Expected: {flaw.expected.join(", ")}</div>}
              {flaw.hint && <div>{flaw.hint}</div>}
            </Notice>
          )}
          {flaw === null && validity.data?.warnings?.map((each) => <Notice key={each} tone="warn">{each}</Notice>)}
          {validity.data?.valid && text.trim() !== "" && <Notice tone="good">Valid: {validity.data.patterns?.map((each) => `${each.name} on ${each.stream}`).join(", ")}</Notice>}
        </Panel>
        <Panel title="What it means">
          {drawing !== null && (
            <Suspense fallback={<Loading />}>
              <Graph small label={`Drawing of the pattern: ${drawing.words}`} vertices={drawing.vertices} arrows={drawing.arrows} />
            </Suspense>
          )}
          {drawing !== null && shape!.order.length > 0 && <p className="muted">Numbers say the order: an edge with a smaller number comes before one with a larger number where the text says so.</p>}
          {found && drawing === null && <pre>{found.canonical}</pre>}
          {!found && <p className="muted">A valid text is drawn here.</p>}
        </Panel>
      </div>
      <Trial text={text} stream={stream} isValid={validity.data?.valid === true} />
      {name !== null && (
        <button type="button" onClick={() => navigate(address("patterns", name))}>
          Back to the pattern
        </button>
      )}
    </Page>
  );
}

function useKnown(stream: string, streams: string[]): Known {
  const schema = useSchema(stream);
  return {
    streams,
    labels: Object.entries(schema.data?.labels ?? {}).map(([name, count]) => ({ name, count })),
    attributes: schema.data?.attributes ?? [],
    isStatement: false,
  };
}
