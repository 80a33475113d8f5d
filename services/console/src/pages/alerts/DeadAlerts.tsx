/** Alerts that a target did not take, to send again. */

import { useQuery } from "@tanstack/react-query";
import { useState } from "react";

import { api, bodyOf } from "../../api/client";
import { Answer, Failure, Notice, Panel } from "../../components/basics";
import { count, moment } from "../../format";
import { sentenceOf } from "./attempts";

/** Alerts that are shown and sent at once. */
const MOST = 100;

export function DeadAlerts({ target }: { target: string }) {
  const path = { path: { target } };
  const dead = useQuery({
    queryKey: ["dead-alerts", target],
    queryFn: () => bodyOf(api.GET("/api/v1/targets/{target}/dead", { params: { ...path, query: { limit: MOST } } })),
  });
  const [said, setSaid] = useState<string[]>([]);
  const [error, setError] = useState<unknown>(null);

  const replay = async (ids: string[]) => {
    try {
      const { results } = await bodyOf(api.POST("/api/v1/targets/{target}/dead:replay", { params: path, body: { ids } }));
      setSaid(results.map((each) => `${each.id}: ${sentenceOf(each)}`));
      setError(null);
    } catch (problem) {
      setError(problem);
    }
  };

  return (
    <Panel title={`Alerts that ${target} did not take`}>
      {error !== null && <Failure error={error} />}
      {said.length > 0 && (
        <Notice>
          {said.map((each) => (
            <div key={each}>{each}</div>
          ))}
        </Notice>
      )}
      <Answer of={dead}>
        {({ dead: list, next }) => {
          const ids = [...new Set(list.map((each) => each.id))];
          if (ids.length === 0) return <p className="muted">It took all.</p>;
          return (
            <>
              <div className="row">
                <button type="button" onClick={() => void replay(ids)}>
                  Send these {count(ids.length)} again
                </button>
                {next != null && <span className="muted">These are the newest.</span>}
              </div>
              <div className="scroll" tabIndex={0}>
                <table>
                  <thead>
                    <tr>
                      <th>Time</th>
                      <th>Pattern</th>
                      <th>Reason</th>
                      <th className="num">Attempts</th>
                      <th>Alert</th>
                      <th>Change</th>
                    </tr>
                  </thead>
                  <tbody>
                    {list.map((each, index) => (
                      <tr key={`${each.id} ${index}`}>
                        <td>{moment(each.at)}</td>
                        <td>{each.pattern ?? `${count(each.unsaid)} matches over the rate`}</td>
                        <td>{each.reason}</td>
                        <td className="num">{count(each.attempts)}</td>
                        <td>{each.id}</td>
                        <td>
                          <button type="button" onClick={() => void replay([each.id])}>
                            Send it again
                          </button>
                        </td>
                      </tr>
                    ))}
                  </tbody>
                </table>
              </div>
            </>
          );
        }}
      </Answer>
    </Panel>
  );
}
