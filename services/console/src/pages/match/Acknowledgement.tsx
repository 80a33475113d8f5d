/** Say that somebody looked at a match. */

import { useState } from "react";

import { ask } from "../../api/client";
import type { MatchRecord } from "../../api/events";
import { Dialog, Failure } from "../../components/basics";

export function Acknowledgement({ pattern, match }: { pattern: string; match: MatchRecord }) {
  const [isOpen, setOpen] = useState(false);
  const [note, setNote] = useState("");
  const [error, setError] = useState<unknown>(null);
  const [isDone, setDone] = useState(false);

  const acknowledge = async () => {
    const path = `/api/v1/patterns/${encodeURIComponent(pattern)}/matches/${encodeURIComponent(match.match_id)}/acknowledgement`;
    try {
      await ask(path, { method: "PUT", headers: { "content-type": "application/json" }, body: JSON.stringify({ note }) });
      setDone(true);
      setOpen(false);
    } catch (problem) {
      setError(problem);
    }
  };

  if (isDone) return <span role="status">Acknowledged</span>;
  return (
    <>
      <button type="button" className="main" onClick={() => setOpen(true)}>
        Acknowledge
      </button>
      {isOpen && (
        <Dialog title="Acknowledge this match" onClose={() => setOpen(false)}>
          {error !== null && <Failure error={error} />}
          <label className="field">
            Note
            <textarea rows={3} value={note} onChange={(event) => setNote(event.target.value)} />
          </label>
          <div className="row">
            <button type="button" className="main" onClick={() => void acknowledge()}>
              Acknowledge
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
