/** The mutes that hold, each of which can be ended. */

import { useState } from "react";

import { api, bodyOf } from "../../api/client";
import { useDecisionChange, useMutes } from "../../api/triage";
import { Failure, Panel } from "../../components/basics";
import { moment } from "../../format";

export function Mutes() {
  const mutes = useMutes();
  const changed = useDecisionChange();
  const [error, setError] = useState<unknown>(null);
  const list = mutes.data?.mutes ?? [];
  if (list.length === 0 && error === null) return null;

  const end = async (id: string) => {
    try {
      await bodyOf(api.DELETE("/api/v1/mutes/{id}", { params: { path: { id } } }));
      setError(null);
    } catch (problem) {
      setError(problem);
    }
    await changed();
  };

  return (
    <Panel title="Mutes">
      {error !== null && <Failure error={error} />}
      <div className="scroll" tabIndex={0}>
        <table>
          <thead>
            <tr>
              <th>Pattern</th>
              <th>Vertex</th>
              <th>Until</th>
              <th>Reason</th>
              <th>By</th>
              <th>End</th>
            </tr>
          </thead>
          <tbody>
            {list.map((each) => (
              <tr key={each.id}>
                <td>{each.pattern ?? "every pattern"}</td>
                <td>{each.key?.vertex ?? "every vertex"}</td>
                <td>{each.until === null ? "somebody ends it" : moment(each.until)}</td>
                <td>{each.reason}</td>
                <td>{each.created_by}</td>
                <td>
                  <button type="button" onClick={() => void end(each.id)}>
                    End it
                  </button>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Panel>
  );
}
