/** One pattern: its state, plan, partial matches, versions and text. */

import { useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";

import { api, bodyOf } from "../api/client";
import { useSeries } from "../api/monitoring";
import { type Pattern as Registered, usePattern } from "../api/queries";
import { Chart } from "../charts/Chart";
import { Answer, Dialog, Facts, Failure, Notice, Page, Panel } from "../components/basics";
import { SeverityBadge } from "../components/severity";
import { Tabs } from "../components/Tabs";
import { bytes, count, moment } from "../format";
import { address, Link, navigate } from "../router";
import { Backfill } from "./pattern/Backfill";
import { PartialMatches } from "./pattern/PartialMatches";
import { Plan } from "./pattern/Plan";
import { Versions } from "./pattern/Versions";
import { State } from "./Patterns";

const TABS: [string, string][] = [
  ["state", "State"],
  ["plan", "Plan"],
  ["partial", "Almost complete"],
  ["versions", "Versions"],
  ["history", "History"],
];

export default function Pattern({ name, tab }: { name: string; tab: string }) {
  const pattern = usePattern(name);
  return (
    <Page title={name} lead="One pattern: its state, its plan, and what is close to a match." actions={pattern.data && <Actions of={pattern.data} />}>
      <Tabs of={TABS} current={tab} to={(each) => address("patterns", name, each)} />
      <Answer of={pattern}>
        {(data) => {
          if (tab === "plan") return <Plan name={name} />;
          if (tab === "partial") return <PartialMatches name={name} />;
          if (tab === "versions") return <Versions of={data} />;
          if (tab === "history") return <Backfill of={data} />;
          return <Summary of={data} />;
        }}
      </Answer>
    </Page>
  );
}

function Summary({ of }: { of: Registered }) {
  const series = useSeries({ names: ["matches", "partial_matches", "lag"], pattern: of.name, last: 3600 });
  const pick = (name: string) => (series.data?.series ?? []).filter((each) => each.name === name).map((each) => ({ name, points: each.points }));
  return (
    <>
      {of.reason && <Notice tone={of.state === "failed" ? "bad" : "warn"}>{of.reason}</Notice>}
      {of.warnings?.map((each) => (
        <Notice key={each} tone="warn">
          {each}
        </Notice>
      ))}
      {of.description && <p>{of.description}</p>}
      <div className="halves">
        <Panel title="State">
          <Facts
            of={[
              ["State", <State key="state" of={of} />],
              ...(of.severity ? [["Severity", <SeverityBadge key="severity" of={of.severity} />] as [string, ReactNode]] : []),
              ...(of.tags?.length ? [["Tags", of.tags.join(", ")] as [string, ReactNode]] : []),
              ...(of.message ? [["Message", of.message] as [string, ReactNode]] : []),
              ["Stream", <Link key="stream" to={address("streams", of.stream)}>{of.stream}</Link>],
              ["Version", String(of.version)],
              ["Matches", <Link key="matches" to={`/matches?pattern=${encodeURIComponent(of.name)}`}>{count(of.figures?.matches)}</Link>],
              ["Partial matches", count(of.figures?.partial_matches)],
              ["State of the matcher", bytes(of.figures?.state_bytes)],
              ["Engine", of.placement?.engine ?? of.engine],
              ["Service", of.placement ? `${of.placement.service} ${of.placement.shard}` : "–"],
              ["Registered", moment(of.created_at)],
              ["Changed", moment(of.updated_at)],
            ]}
          />
        </Panel>
        <Panel title="Text" actions={<Link className="button" to={address("editor", of.name)}>Change it</Link>}>
          <pre>{of.text}</pre>
        </Panel>
        <Panel title="Matches a second">
          <Chart label="Matches a second" series={pick("matches")} />
        </Panel>
        <Panel title="Partial matches, and edges not yet read">
          <Chart label="Partial matches, and edges not yet read" series={[...pick("partial_matches"), ...pick("lag")]} />
        </Panel>
      </div>
    </>
  );
}

function Actions({ of }: { of: Registered }) {
  const queries = useQueryClient();
  const [error, setError] = useState<unknown>(null);
  const [isDeleting, setDeleting] = useState(false);
  const parameters = { path: { name: of.name }, header: { "if-match": `"${of.etag}"` } };

  const change = async (action: Promise<unknown>, after?: () => void) => {
    try {
      await action;
      setError(null);
      after?.();
    } catch (problem) {
      setError(problem);
    } finally {
      setDeleting(false);
      await queries.invalidateQueries({ queryKey: ["pattern", of.name] });
    }
  };

  return (
    <>
      {error !== null && <Failure error={error} />}
      {of.wanted === "paused" || of.state === "paused" ? (
        <button type="button" onClick={() => void change(bodyOf(api.POST("/api/v1/patterns/{name}:resume", { params: parameters })))}>
          Resume
        </button>
      ) : (
        <button type="button" onClick={() => void change(bodyOf(api.POST("/api/v1/patterns/{name}:pause", { params: parameters })))}>
          Pause
        </button>
      )}
      <Link className="button" to={address("editor", of.name)}>
        Edit
      </Link>
      <button type="button" className="danger" onClick={() => setDeleting(true)}>
        Delete
      </button>
      {isDeleting && (
        <Dialog title={`Delete ${of.name}?`} onClose={() => setDeleting(false)}>
          <p>It is no longer looked for. Matches that were found stay.</p>
          <div className="row">
            <button
              type="button"
              className="danger"
              onClick={() => void change(bodyOf(api.DELETE("/api/v1/patterns/{name}", { params: parameters })), () => navigate("/patterns"))}
            >
              Delete it
            </button>
            <button type="button" onClick={() => setDeleting(false)}>
              Keep it
            </button>
          </div>
        </Dialog>
      )}
    </>
  );
}
