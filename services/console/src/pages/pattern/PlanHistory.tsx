/** Which plans a pattern had, and what made the planner change them. */

import { useQuery } from "@tanstack/react-query";

import { ask } from "../../api/client";
import { Panel } from "../../components/basics";
import { moment } from "../../format";

interface Change {
  at: string;
  engine: string;
  reason: string | null;
}

export function History({ name }: { name: string }) {
  const history = useQuery({
    queryKey: ["plan-history", name],
    queryFn: () => ask<{ plans: Change[] }>(`/api/v1/patterns/${encodeURIComponent(name)}/plan/history`),
    refetchInterval: 10_000,
    retry: false,
  });
  if (history.data === undefined) return null;
  return (
    <Panel title="Plans until now">
      <table>
        <thead>
          <tr>
            <th>From</th>
            <th>Engine</th>
            <th>Why</th>
          </tr>
        </thead>
        <tbody>
          {history.data.plans.map((each) => (
            <tr key={each.at}>
              <td>{moment(each.at)}</td>
              <td>{each.engine}</td>
              <td>{each.reason}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Panel>
  );
}
