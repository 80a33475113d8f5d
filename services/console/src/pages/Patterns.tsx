/** All patterns, with their state and their counts. */

import { useState } from "react";

import { useSeries } from "../api/monitoring";
import { type Pattern, usePatterns } from "../api/queries";
import { Sparkline } from "../charts/Chart";
import { Answer, Badge, Page, Panel, type Tone } from "../components/basics";
import { isAtLeast, type Severity, SeverityBadge, SeverityChoice } from "../components/severity";
import { VirtualTable } from "../components/VirtualTable";
import { count } from "../format";
import { address, Link, navigate } from "../router";

const TONES: Record<string, Tone> = { running: "good", pending: "plain", moving: "plain", paused: "warn", failed: "bad" };

export function State({ of }: { of: Pattern }) {
  return <Badge tone={TONES[of.state] ?? "plain"}>{of.state}</Badge>;
}

export default function Patterns() {
  const patterns = usePatterns();
  const series = useSeries({ names: ["matches"], last: 900 });
  const [filter, setFilter] = useState("");
  const [state, setState] = useState("");
  const [severity, setSeverity] = useState<Severity | "">("");
  const lines = new Map(series.data?.series.filter((each) => each.pattern !== null).map((each) => [each.pattern!, each.points]));
  const isWanted = (each: Pattern) =>
    [each.name, each.stream, ...(each.tags ?? [])].some((text) => text.includes(filter)) &&
    (state === "" || each.state === state) &&
    isAtLeast(each.severity, severity);
  return (
    <Page
      title="Patterns"
      lead="What is looked for."
      actions={
        <Link className="button main" to="/editor">
          Write a pattern
        </Link>
      }
    >
      <div className="row">
        <input type="search" aria-label="Filter patterns" placeholder="Name, stream or tag" value={filter} onChange={(event) => setFilter(event.target.value)} />
        <select aria-label="State" value={state} onChange={(event) => setState(event.target.value)}>
          <option value="">every state</option>
          {Object.keys(TONES).map((each) => (
            <option key={each}>{each}</option>
          ))}
        </select>
        <SeverityChoice value={severity} onChoose={setSeverity} />
        <span className="muted" role="status">
          {patterns.data ? `${count(patterns.data.filter(isWanted).length)} of ${count(patterns.data.length)}` : ""}
        </span>
      </div>
      <Panel>
        <Answer of={patterns}>
          {(list) => (
            <VirtualTable
              label="Patterns"
              rows={list.filter(isWanted)}
              keyOf={(each) => each.name}
              onOpen={(each) => navigate(address("patterns", each.name))}
              columns={[
                { title: "Pattern", width: "minmax(8rem, 2fr)", cell: (each) => <Link to={address("patterns", each.name)}>{each.name}</Link> },
                { title: "State", width: "6rem", cell: (each) => <State of={each} /> },
                { title: "Severity", width: "6rem", cell: (each) => <SeverityBadge of={each.severity} /> },
                { title: "Stream", width: "minmax(5rem, 1fr)", cell: (each) => <Link to={address("streams", each.stream)}>{each.stream}</Link> },
                { title: "Matches", width: "6rem", isNumber: true, cell: (each) => count(each.figures?.matches) },
                {
                  title: "Last 15 minutes",
                  width: "7rem",
                  cell: (each) => {
                    const points = lines.get(each.name);
                    return points === undefined ? null : <Sparkline label={`Matches of ${each.name}`} points={points.map(([, value]) => value)} />;
                  },
                },
                { title: "Reason", width: "minmax(6rem, 2fr)", cell: (each) => <span title={each.reason ?? ""}>{each.reason ?? each.warnings?.[0] ?? ""}</span> },
              ]}
            />
          )}
        </Answer>
      </Panel>
    </Page>
  );
}
