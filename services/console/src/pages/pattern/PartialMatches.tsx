/** Who is one step away: the partial matches nearest to completion. */

import { useState } from "react";

import { usePartialMatches } from "../../api/queries";
import { Answer, Notice, Panel } from "../../components/basics";
import { count, time } from "../../format";

export function PartialMatches({ name }: { name: string }) {
  const [vertex, setVertex] = useState("");
  const found = usePartialMatches(name, vertex);
  return (
    <>
      <div className="row">
        <input type="search" aria-label="Vertex" placeholder="Only those with this vertex" value={vertex} onChange={(event) => setVertex(event.target.value)} />
      </div>
      <Answer of={found}>
        {({ parts, partial_matches: list }) => (
          <>
            {parts.length > 0 && parts.every((each) => !each.stored) && (
              <Notice>The engine of this pattern stores no partial matches: it searches when an edge comes that may complete one.</Notice>
            )}
            {parts.length === 0 && <Notice>No matcher has published its partial matches lately.</Notice>}
            <div className="halves">
              <Panel title="Nearest to a match">
                {list.length === 0 && <p className="muted">Nothing is begun.</p>}
                <ol className="stack">
                  {list.map((each, index) => (
                    <li key={index}>
                      <div>
                        {Object.entries(each.vertices)
                          .map(([bound, id]) => `${bound} is ${id}`)
                          .join(", ")}
                      </div>
                      <div>
                        Waits for <strong>{each.awaited.join(", ")}</strong> until {time(each.until)}
                      </div>
                      <div className="muted">
                        {Object.entries(each.edges)
                          .map(([edge, data]) => `${edge} is ${data.id} at ${time(data.ts)}`)
                          .join("; ")}
                      </div>
                    </li>
                  ))}
                </ol>
              </Panel>
              <Panel title="How many, by step">
                <div className="scroll" tabIndex={0}>
                  <table>
                    <thead>
                      <tr>
                        <th>Part</th>
                        <th>Step</th>
                        <th className="num">Partial matches</th>
                      </tr>
                    </thead>
                    <tbody>
                      {parts.flatMap((part) =>
                        part.steps.map((step) => (
                          <tr key={`${part.part} ${step.name}`}>
                            <td>{part.part}</td>
                            <td>
                              {step.name} {step.edges.length > 0 && <span className="muted">({step.edges.join(", ")})</span>}
                            </td>
                            <td className="num">{count(step.alive)}</td>
                          </tr>
                        )),
                      )}
                    </tbody>
                  </table>
                </div>
              </Panel>
            </div>
          </>
        )}
      </Answer>
    </>
  );
}
