/** Earlier texts of a pattern, and what changed. */

import { useQuery } from "@tanstack/react-query";
import { useState } from "react";

import { api, bodyOf } from "../../api/client";
import type { Pattern } from "../../api/queries";
import { Answer, Panel } from "../../components/basics";
import { diff } from "../../diff";
import { moment } from "../../format";

export function Versions({ of }: { of: Pattern }) {
  const versions = useQuery({
    queryKey: ["versions", of.name, of.version],
    queryFn: () => bodyOf(api.GET("/api/v1/patterns/{name}/versions", { params: { path: { name: of.name } } })),
    retry: false,
  });
  const [chosen, setChosen] = useState<number | null>(null);
  return (
    <Answer of={versions}>
      {({ versions: list }) => {
        const before = list.find((each) => each.version === chosen) ?? list.find((each) => each.version !== of.version);
        return (
          <div className="halves">
            <Panel title="Versions">
              <div className="scroll" tabIndex={0}>
                <table>
                  <thead>
                    <tr>
                      <th>Version</th>
                      <th>From</th>
                      <th>Compare</th>
                    </tr>
                  </thead>
                  <tbody>
                    {list.map((each) => (
                      <tr key={each.version}>
                        <td>{each.version}</td>
                        <td>{moment(each.at)}</td>
                        <td>
                          {each.version === of.version ? (
                            "now"
                          ) : (
                            <button type="button" aria-pressed={before?.version === each.version} onClick={() => setChosen(each.version)}>
                              Compare
                            </button>
                          )}
                        </td>
                      </tr>
                    ))}
                  </tbody>
                </table>
              </div>
            </Panel>
            <Panel title={before === undefined ? "It has one version" : `Version ${before.version} and now`}>
              <pre>
                {diff(before?.text ?? of.text, of.text).map((line, index) => (
                  <div key={index} className={line.kind === "same" ? "" : `diff-${line.kind}`}>
                    {line.kind === "add" ? "+ " : line.kind === "del" ? "- " : "  "}
                    {line.text}
                  </div>
                ))}
              </pre>
            </Panel>
          </div>
        );
      }}
    </Answer>
  );
}
