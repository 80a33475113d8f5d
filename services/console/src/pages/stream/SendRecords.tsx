/** Send a few records to a stream, to try it. */

import { useState } from "react";

import { ask } from "../../api/client";
import { Failure, Notice, Panel } from "../../components/basics";
import { count, ticksOf } from "../../format";

interface Accepted {
  accepted: number;
  rejected: number;
  late?: number;
  duplicates?: number;
  errors: { line: number; reason: string }[];
}

const TYPES: [string, string][] = [
  ["application/x-ndjson", "JSON Lines"],
  ["text/csv", "CSV"],
];

export function SendRecords({ name }: { name: string }) {
  const [text, setText] = useState(() => `{"ts": ${ticksOf(new Date())}, "src": "ann", "dst": "bob", "label": "pays"}\n`);
  const [type, setType] = useState("application/x-ndjson");
  const [kind, setKind] = useState("edges");
  const [answer, setAnswer] = useState<Accepted | null>(null);
  const [error, setError] = useState<unknown>(null);

  const send = async () => {
    try {
      const path = `/api/v1/streams/${encodeURIComponent(name)}/${kind}?wait=ordered`;
      setAnswer(await ask<Accepted>(path, { method: "POST", headers: { "content-type": type }, body: text }));
      setError(null);
    } catch (problem) {
      setAnswer(null);
      setError(problem);
    }
  };

  const onFile = async (file: File | undefined) => {
    if (file === undefined) return;
    setText(await file.slice(0, 1024 * 1024).text());
    if (/\.[ct]sv$/.test(file.name)) setType("text/csv");
  };

  return (
    <Panel title="Send records">
      <div className="stack">
        <div className="row">
          <select aria-label="Kind" value={kind} onChange={(event) => setKind(event.target.value)}>
            <option value="edges">edges</option>
            <option value="events">events</option>
          </select>
          <select aria-label="Format" value={type} onChange={(event) => setType(event.target.value)}>
            {TYPES.map(([each, title]) => (
              <option key={each} value={each}>
                {title}
              </option>
            ))}
          </select>
          <input type="file" aria-label="File" onChange={(event) => void onFile(event.target.files?.[0])} />
        </div>
        <textarea aria-label="Records" rows={12} value={text} onChange={(event) => setText(event.target.value)} spellCheck={false} />
        <div>
          <button type="button" className="main" onClick={() => void send()}>
            Send
          </button>
        </div>
        {error !== null && <Failure error={error} />}
        {answer !== null && (
          <Notice tone={answer.rejected > 0 ? "warn" : "good"}>
            {count(answer.accepted)} accepted, {count(answer.rejected)} rejected
            {answer.late !== undefined && `, ${count(answer.late)} late`}
            {answer.duplicates !== undefined && `, ${count(answer.duplicates)} duplicates`}
            {answer.errors.slice(0, 5).map((each) => (
              <div key={each.line}>
                Line {each.line}: {each.reason}
              </div>
            ))}
          </Notice>
        )}
      </div>
    </Panel>
  );
}
