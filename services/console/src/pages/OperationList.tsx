/** Backfills with their progress. */

import { useState } from "react";

import { api, bodyOf } from "../api/client";
import type { Operation } from "../api/queries";
import { Badge, Failure, Panel, type Tone } from "../components/basics";
import { count, moment } from "../format";
import { address, Link } from "../router";

const TONES: Record<Operation["state"], Tone> = { queued: "plain", running: "good", cancelling: "warn", done: "good", failed: "bad", cancelled: "plain" };

export function OperationList({ of, onChange }: { of: Operation[]; onChange: () => void }) {
  const [error, setError] = useState<unknown>(null);
  const cancel = async (id: string) => {
    try {
      await bodyOf(api.DELETE("/api/v1/operations/{id}", { params: { path: { id } } }));
      setError(null);
      onChange();
    } catch (problem) {
      setError(problem);
    }
  };
  return (
    <Panel title="Searches in history">
      {error !== null && <Failure error={error} />}
      {of.length === 0 && <p className="muted">None yet.</p>}
      {of.length > 0 && (
        <div className="scroll" tabIndex={0}>
          <table>
            <thead>
              <tr>
                <th>Pattern</th>
                <th>State</th>
                <th>Progress</th>
                <th className="num">Edges</th>
                <th className="num">Edges/s</th>
                <th className="num">Matches</th>
                <th>Begun</th>
                <th>Reason</th>
                <th>Cancel</th>
              </tr>
            </thead>
            <tbody>
              {of.map((each) => (
                <tr key={each.id}>
                  <td>
                    <Link to={address("patterns", each.pattern)}>{each.pattern}</Link> {each.version}
                  </td>
                  <td>
                    <Badge tone={TONES[each.state]}>{each.state}</Badge>
                  </td>
                  <td style={{ minWidth: "8rem" }}>
                    <div className="bar" role="progressbar" aria-label={`Progress of ${each.pattern}`} aria-valuenow={percent(each)} aria-valuemin={0} aria-valuemax={100}>
                      <div style={{ width: `${percent(each)}%` }} />
                    </div>
                    <span className="muted">
                      {each.slices_done} of {each.slices || "?"} slices
                    </span>
                  </td>
                  <td className="num">{count(each.edges)}</td>
                  <td className="num">{count(each.edges_per_second)}</td>
                  <td className="num">{count(each.matches)}</td>
                  <td>{moment(each.created_at)}</td>
                  <td>{each.reason}</td>
                  <td>
                    {(each.state === "queued" || each.state === "running") && (
                      <button type="button" onClick={() => void cancel(each.id)}>
                        Cancel
                      </button>
                    )}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </Panel>
  );
}

function percent(operation: Operation): number {
  if (operation.state === "done") return 100;
  return operation.slices > 0 ? Math.round((100 * operation.slices_done) / operation.slices) : 0;
}
