/** What a pattern finds in the newest edges of its stream, or in a file. */

import { useState } from "react";

import { ask } from "../../api/client";
import type { MatchRecord } from "../../api/events";
import { Failure, Notice, Panel } from "../../components/basics";
import { count, span, time } from "../../format";
import { MOST_RECORDS, readRecords } from "../../records";

interface Found {
  matches: MatchRecord[];
  rejected?: { number: number | null; reason: string }[];
  truncated?: boolean;
  [member: string]: unknown;
}

export function Trial({ text, stream, isValid }: { text: string; stream: string; isValid: boolean }) {
  const [last, setLast] = useState(1_000);
  const [found, setFound] = useState<Found | null>(null);
  const [error, setError] = useState<unknown>(null);
  const [note, setNote] = useState<string | null>(null);
  const [isBusy, setBusy] = useState(false);

  const run = async (body: object) => {
    setBusy(true);
    try {
      const init = { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify({ text, ...body }) };
      setFound(await ask<Found>("/api/v1/patterns:simulate", init));
      setError(null);
    } catch (problem) {
      setFound(null);
      setError(problem);
    } finally {
      setBusy(false);
    }
  };

  const onFile = async (file: File | undefined) => {
    if (file === undefined) return;
    const { records, flaw, isCut } = readRecords(await file.slice(0, 8 * 1024 * 1024).text(), file.name);
    setNote([flaw, isCut ? `The first ${count(MOST_RECORDS)} records are tried.` : null].filter(Boolean).join(" ") || null);
    await run({ edges: records });
  };

  return (
    <Panel title="Try it">
      <div className="row">
        <button type="button" disabled={!isValid || isBusy} onClick={() => void run({ last })}>
          On the newest records of {stream || "its stream"}
        </button>
        <label className="row">
          how many
          <input type="number" min={1} max={MOST_RECORDS} value={last} onChange={(event) => setLast(Number(event.target.value))} style={{ width: "7rem" }} />
        </label>
        <label className="row">
          or on a file
          <input type="file" accept=".json,.jsonl,.ndjson,.csv,.tsv,.txt" disabled={!isValid || isBusy} onChange={(event) => void onFile(event.target.files?.[0])} />
        </label>
      </div>
      {note !== null && <Notice tone="warn">{note}</Notice>}
      {error !== null && <Failure error={error} />}
      {found !== null && (
        <>
          <p role="status">
            <strong>{count(found.matches.length)}</strong> {found.matches.length === 1 ? "match" : "matches"}
            {found.truncated ? ", and there are more" : ""}
            {found.rejected && found.rejected.length > 0 ? `; ${count(found.rejected.length)} records could not be read, the first: ${found.rejected[0]?.reason}` : ""}
          </p>
          {found.matches.length > 0 && (
            <div className="scroll" tabIndex={0}>
              <table>
                <thead>
                  <tr>
                    <th>Complete at</th>
                    <th>Took</th>
                    <th>What</th>
                  </tr>
                </thead>
                <tbody>
                  {found.matches.slice(0, 100).map((each, index) => (
                    <tr key={`${each.match_id} ${index}`}>
                      <td>{time(each.detected_at)}</td>
                      <td>{span(each.last_ts - each.first_ts)}</td>
                      <td>
                        {Object.entries(each.vertices ?? each.events ?? each.edges ?? {})
                          .map(([name, bound]) => `${name} ${String(bound)}`)
                          .join(", ")}
                      </td>
                    </tr>
                  ))}
                </tbody>
              </table>
            </div>
          )}
        </>
      )}
    </Panel>
  );
}
