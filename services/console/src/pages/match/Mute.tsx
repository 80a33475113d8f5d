/** Mute what a match is about: no alerts of this vertex, for a while. */

import { useState } from "react";

import { ask } from "../../api/client";
import { useDecisionChange } from "../../api/triage";
import { Badge, Dialog, Failure } from "../../components/basics";

const HOURS: [string, number | null][] = [
  ["1 hour", 1],
  ["8 hours", 8],
  ["1 day", 24],
  ["1 week", 168],
  ["until somebody ends it", null],
];

export function Mute({ pattern, vertices, isMuted }: { pattern: string; vertices: string[]; isMuted: boolean }) {
  const changed = useDecisionChange();
  const [isOpen, setOpen] = useState(false);
  const [vertex, setVertex] = useState(vertices[0] ?? "");
  const [hours, setHours] = useState<number | null>(8);
  const [reason, setReason] = useState("");
  const [error, setError] = useState<unknown>(null);

  const mute = async () => {
    const until = hours === null ? null : new Date(Date.now() + hours * 3_600_000).toISOString();
    const body = JSON.stringify({ pattern, key: vertex === "" ? null : { vertex }, until, reason });
    try {
      await ask("/api/v1/mutes", { method: "POST", headers: { "content-type": "application/json" }, body });
      setOpen(false);
      await changed();
    } catch (problem) {
      setError(problem);
    }
  };

  if (isMuted) return <Badge tone="plain">muted</Badge>;
  return (
    <>
      <button type="button" onClick={() => setOpen(true)}>
        Mute …
      </button>
      {isOpen && (
        <Dialog title={`Mute matches of ${pattern}`} onClose={() => setOpen(false)}>
          {error !== null && <Failure error={error} />}
          <p>Matches are found and shown as before. They are marked as muted.</p>
          <label className="field">
            Of
            <select value={vertex} onChange={(event) => setVertex(event.target.value)}>
              {vertices.map((each) => (
                <option key={each}>{each}</option>
              ))}
              <option value="">all vertices</option>
            </select>
          </label>
          <label className="field">
            For
            <select value={String(hours)} onChange={(event) => setHours(event.target.value === "null" ? null : Number(event.target.value))}>
              {HOURS.map(([title, each]) => (
                <option key={title} value={String(each)}>
                  {title}
                </option>
              ))}
            </select>
          </label>
          <label className="field">
            Reason
            <input value={reason} onChange={(event) => setReason(event.target.value)} />
          </label>
          <div className="row">
            <button type="button" className="main" onClick={() => void mute()}>
              Mute
            </button>
            <button type="button" onClick={() => setOpen(false)}>
              Not now
            </button>
          </div>
        </Dialog>
      )}
    </>
  );
}
