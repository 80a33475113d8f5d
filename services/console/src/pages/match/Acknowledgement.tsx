/** Say that somebody looked at a match. */

import { useState } from "react";

import { ask } from "../../api/client";
import type { MatchRecord } from "../../api/events";
import { useDecisionChange } from "../../api/triage";
import { Badge, Dialog, Failure } from "../../components/basics";

export function Acknowledgement({ pattern, match, by }: { pattern: string; match: MatchRecord; by: string | null }) {
  const changed = useDecisionChange();
  const [isOpen, setOpen] = useState(false);
  const [note, setNote] = useState("");
  const [error, setError] = useState<unknown>(null);

  const acknowledge = async () => {
    const path = `/api/v1/patterns/${encodeURIComponent(pattern)}/matches/${encodeURIComponent(match.match_id)}/acknowledgement`;
    try {
      await ask(path, { method: "PUT", headers: { "content-type": "application/json" }, body: JSON.stringify({ note }) });
      setOpen(false);
      await changed();
    } catch (problem) {
      setError(problem);
    }
  };

  if (by !== null) return <Badge tone="good">seen by {by}</Badge>;
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
