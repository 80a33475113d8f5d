/** What goes on, and what is wrong first. */

import { useState } from "react";

import { type Finding, lastOf, type TimeSeries, useHealth, useSeries } from "../api/monitoring";
import { useMatchers, usePatterns, useStreams } from "../api/queries";
import { Chart } from "../charts/Chart";
import { Answer, Failure, Notice, Page, Panel, type Tone } from "../components/basics";
import { count, decimal, moment } from "../format";
import { address, Link } from "../router";

const TONES: Record<string, Tone> = { running: "good", ok: "good", silent: "bad", degraded: "warn", failing: "bad", lagging: "warn" };

export function toneOf(state: string): Tone {
  return TONES[state] ?? "plain";
}

function placeOf({ subject }: Finding): string {
  if (subject.kind === "pattern") return address("patterns", subject.name);
  if (subject.kind === "stream") return address("streams", subject.name);
  return "/operations";
}

const SPANS: [string, number][] = [
  ["15 minutes", 900],
  ["1 hour", 3600],
  ["1 day", 86_400],
  ["1 week", 604_800],
];

function sum(series: TimeSeries[], name: string): number | null {
  const values = series.filter((each) => each.name === name).map(lastOf).filter((each) => each !== null);
  return values.length === 0 ? null : values.reduce((a, b) => a + b, 0);
}

export default function Overview() {
  const [last, setLast] = useState(900);
  const health = useHealth();
  const streams = useStreams();
  const patterns = usePatterns();
  const matchers = useMatchers();
  const series = useSeries({ names: ["edges", "matches", "rejected", "late", "duplicates", "watermark_lag"], last });
  const all = series.data?.series ?? [];
  const totals = all.filter((each) => each.stream === null && each.pattern === null);
  const ofStreams = all.filter((each) => each.stream !== null && each.pattern === null);
  const pick = (name: string) => ofStreams.filter((each) => each.name === name).map((each) => ({ name: each.stream!, points: each.points }));
  const total = (name: string) => totals.find((each) => each.name === name);
  const isEmpty = streams.data?.streams.length === 0 && patterns.data?.length === 0;

  return (
    <Page title="Overview" lead="How the streams run, and what needs you first.">
      {health.error ? <Failure error={health.error} /> : null}
      {health.data === undefined && !health.error && <Notice>Looking what is wrong …</Notice>}
      {health.data?.findings.length === 0 && !isEmpty && <Notice tone="good">Everything runs.</Notice>}
      {health.data && health.data.findings.length > 0 && (
        <ul className="stack" style={{ listStyle: "none", margin: 0, padding: 0 }} aria-label="What is wrong">
          {health.data.findings.slice(0, 10).map((each) => (
            <li key={`${each.code} ${each.subject.name}`}>
              <Notice tone={each.severity === "error" ? "bad" : "warn"}>
                <strong>{each.sentence}</strong> <span>{each.help}</span> <Link to={placeOf(each)}>Show it</Link>
              </Notice>
            </li>
          ))}
        </ul>
      )}
      {isEmpty && (
        <Panel title="Begin here">
          <ol>
            <li>
              <Link to="/streams">Describe a stream</Link>: which fields of your records are time, source, destination and label.
            </li>
            <li>
              <Link to="/editor">Write a pattern</Link>, or take one of the recipes, and try it on a few records.
            </li>
            <li>
              Register it, and <Link to="/matches">watch its matches</Link>.
            </li>
          </ol>
        </Panel>
      )}
      <div className="grid">
        <Tile title="Edges a second" value={lastOf(total("edges"))} />
        <Tile title="Matches a second" value={lastOf(total("matches"))} />
        <Tile title="Rejected a minute" value={perMinute(sum(ofStreams, "rejected"))} />
        <Tile title="Late a minute" value={perMinute(sum(ofStreams, "late"))} />
        <Tile title="Duplicates a minute" value={perMinute(sum(ofStreams, "duplicates"))} />
      </div>
      <div className="row">
        <label className="field">
          Show the last
          <select value={last} onChange={(event) => setLast(Number(event.target.value))}>
            {SPANS.map(([title, seconds]) => (
              <option key={seconds} value={seconds}>
                {title}
              </option>
            ))}
          </select>
        </label>
      </div>
      <div className="halves">
        <Panel title="Edges a second">
          <Chart label="Edges a second" series={pick("edges")} />
        </Panel>
        <Panel title="Matches a second">
          <Chart label="Matches a second" series={total("matches") ? [{ name: "all patterns", points: total("matches")!.points }] : []} />
        </Panel>
        <Panel title="Seconds that the watermark is behind">
          <Chart label="Seconds behind" series={pick("watermark_lag")} />
        </Panel>
        <Panel title="Rejected, late and duplicate records a second">
          <Chart
            label="Rejected, late and duplicate records a second"
            series={["rejected", "late", "duplicates"].flatMap((name) => pick(name).map((each) => ({ ...each, name: `${name} of ${each.name}` })))}
          />
        </Panel>
      </div>
      <div className="halves">
        <Panel title="Streams">
          <Answer of={streams}>
            {({ streams: list }) => (
              <div className="scroll" tabIndex={0}>
                <table>
                  <thead>
                    <tr>
                      <th>Stream</th>
                      <th>Patterns</th>
                      <th className="num">Dead letters</th>
                    </tr>
                  </thead>
                  <tbody>
                    {list.slice(0, 50).map((each) => (
                      <tr key={each.name}>
                        <td>
                          <Link to={address("streams", each.name)}>{each.name}</Link>
                        </td>
                        <td>{count(each.patterns.length)}</td>
                        <td className="num">{count(each.dead_letters)}</td>
                      </tr>
                    ))}
                  </tbody>
                </table>
              </div>
            )}
          </Answer>
        </Panel>
        <Panel title="Services">
          <Answer of={matchers}>
            {({ matchers: list }) => (
              <div className="scroll" tabIndex={0}>
                <table>
                  <thead>
                    <tr>
                      <th>Service</th>
                      <th className="num">Busy</th>
                      <th className="num">Patterns</th>
                      <th>Heard of</th>
                    </tr>
                  </thead>
                  <tbody>
                    {list.flatMap((each) =>
                      each.shards.map((shard) => (
                        <tr key={`${each.service} ${shard.shard}`}>
                          <td>
                            {each.service} {shard.shard}
                          </td>
                          <td className="num">{decimal((shard.busy ?? 0) * 100)} %</td>
                          <td className="num">{count(shard.patterns)}</td>
                          <td>{moment(shard.at)}</td>
                        </tr>
                      )),
                    )}
                  </tbody>
                </table>
              </div>
            )}
          </Answer>
        </Panel>
      </div>
    </Page>
  );
}

function perMinute(value: number | null): number | null {
  return value === null ? null : value * 60;
}

function Tile({ title, value }: { title: string; value: number | null }) {
  return (
    <div className="panel">
      <div className="label">{title}</div>
      <div className="large">{decimal(value)}</div>
    </div>
  );
}
