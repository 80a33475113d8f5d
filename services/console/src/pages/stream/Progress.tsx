/** How far a stream is in order, what became of its records, and what they have. */

import { useSeries } from "../../api/monitoring";
import { type StreamDetails, useSchema } from "../../api/queries";
import { Chart } from "../../charts/Chart";
import { Answer, Facts, Notice, Panel } from "../../components/basics";
import { count, span, time, value } from "../../format";
import { address, Link } from "../../router";

export function Progress({ of }: { of: StreamDetails }) {
  const schema = useSchema(of.name, { withExamples: true });
  const series = useSeries({ names: ["edges", "rejected", "late", "duplicates", "watermark_lag"], stream: of.name });
  const pick = (name: string) => (series.data?.series ?? []).filter((each) => each.name === name).map((each) => ({ name, points: each.points }));
  const progress = of.standing;
  return (
    <>
      {progress?.note && <Notice tone="warn">{progress.note}</Notice>}
      {of.warnings.map((each) => (
        <Notice key={each} tone="warn">
          {each}
        </Notice>
      ))}
      <div className="halves">
        <Panel title="Order">
          {progress === null ? (
            <p className="muted">No record has been put in order yet.</p>
          ) : (
            <Facts
              of={[
                ["Newest time", time(progress.newest)],
                ["Watermark", time(progress.watermark)],
                ["Lateness", progress.lateness === null ? "–" : span(progress.lateness)],
                ["Read", count(progress.read)],
                ["In order", count(progress.ordered)],
                ["Rejected", <Link key="rejected" to={address("streams", of.name, "dead-letters")}>{count(progress.rejected)}</Link>],
                ["Late", count(progress.late)],
                ["Too far ahead", count(progress.future)],
                ["Duplicates", count(progress.duplicates)],
                ["Not of the stream", count(progress.filtered)],
                ["First rejected", progress.first ? value(progress.first) : "–"],
                ["Parts", String(of.parts ?? 1)],
                ["Epoch", String(progress.epoch)],
              ]}
            />
          )}
        </Panel>
        <Panel title="Read by">
          {of.patterns.length === 0 && <p className="muted">No pattern reads it.</p>}
          <ul>
            {of.patterns.slice(0, 100).map((each) => (
              <li key={each}>
                <Link to={address("patterns", each)}>{each}</Link>
              </li>
            ))}
          </ul>
        </Panel>
        <Panel title="Edges a second">
          <Chart label="Edges a second" series={pick("edges")} />
        </Panel>
        <Panel title="Rejected, late, duplicates a second; seconds behind">
          <Chart label="Rejected, late, duplicates a second; seconds behind" series={[...pick("rejected"), ...pick("late"), ...pick("duplicates"), ...pick("watermark_lag")]} />
        </Panel>
      </div>
      <Panel title="What records have">
        <Answer of={schema}>
          {(data) => {
            const labels = Object.entries(data.labels ?? {}).sort(([, a], [, b]) => b - a);
            return (
              <div className="halves">
                <div className="scroll" tabIndex={0}>
                  <table>
                    <thead>
                      <tr>
                        <th>Attribute</th>
                        <th>Type</th>
                        <th>Known from</th>
                        <th>Examples</th>
                      </tr>
                    </thead>
                    <tbody>
                      {data.attributes.map((each) => (
                        <tr key={each.name}>
                          <td>{each.name}</td>
                          <td>{each.type}</td>
                          <td>{each.source}</td>
                          <td>{(each.examples ?? []).map(value).join(", ")}</td>
                        </tr>
                      ))}
                    </tbody>
                  </table>
                </div>
                {labels.length > 0 && (
                  <div className="scroll" tabIndex={0}>
                    <table>
                      <thead>
                        <tr>
                          <th>Label</th>
                          <th className="num">Edges</th>
                        </tr>
                      </thead>
                      <tbody>
                        {labels.slice(0, 100).map(([label, number]) => (
                          <tr key={label}>
                            <td>{label}</td>
                            <td className="num">{count(number)}</td>
                          </tr>
                        ))}
                      </tbody>
                    </table>
                  </div>
                )}
              </div>
            );
          }}
        </Answer>
      </Panel>
    </>
  );
}
