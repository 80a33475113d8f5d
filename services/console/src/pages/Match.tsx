/** One match: when its edges came, how they hang together, and what they have. */

import { lazy, Suspense, useState } from "react";

import { ask } from "../api/client";
import { verticesOf } from "../api/triage";
import { type DataEdge, type MatchDetails, useMatch, usePattern } from "../api/queries";
import { Answer, download, Facts, Failure, Loading, Notice, Page, Panel } from "../components/basics";
import { SeverityBadge } from "../components/severity";
import { attributesOf, edgesOf, graphOf, isOfEdges, missingOf, momentsOf } from "../drawing/evidence";
import { Timeline } from "../drawing/Timeline";
import { span, time } from "../format";
import { address, Link } from "../router";
import { Acknowledgement } from "./match/Acknowledgement";
import { Mute } from "./match/Mute";

const Graph = lazy(() => import("../drawing/Graph"));

export default function Match({ pattern, place }: { pattern: string; place: string }) {
  const match = useMatch(pattern, place);
  return (
    <Page title={`Match of ${pattern}`} lead={<Link to={address("patterns", pattern)}>The pattern</Link>}>
      <Answer of={match}>{(details) => <Details pattern={pattern} details={details} />}</Answer>
    </Page>
  );
}

function Details({ pattern, details }: { pattern: string; details: MatchDetails }) {
  const registered = usePattern(pattern);
  const stream = registered.data?.stream;
  const [neighbours, setNeighbours] = useState<DataEdge[]>([]);
  const [error, setError] = useState<unknown>(null);
  const { match } = details;
  const edges = edgesOf(details);
  const missing = missingOf(details);

  const expand = async (vertex: string) => {
    if (stream === undefined) return;
    const query = new URLSearchParams({ vertex, from: String(match.first_ts), to: String(match.last_ts + 1) });
    try {
      const { edges: list } = await ask<{ edges: DataEdge[] }>(`/api/v1/streams/${encodeURIComponent(stream)}/edges:find?${query}`);
      setNeighbours((known) => [...new Map([...known, ...list].map((each) => [each.id ?? `${each.src} ${each.dst} ${each.ts}`, each])).values()]);
      setError(null);
    } catch (problem) {
      setError(problem);
    }
  };

  const graph = graphOf(edges, neighbours);
  const vertices = Object.entries(match.vertices ?? {});
  return (
    <>
      <div className="row">
        <SeverityBadge of={details.severity} />
        <Acknowledgement pattern={pattern} match={match} by={details.acknowledgement?.by ?? null} />
        <Mute pattern={pattern} vertices={[...verticesOf(match)]} isMuted={details.muted != null} />
        <button type="button" onClick={() => download(`${match.match_id}.json`, "application/json", JSON.stringify(details, null, 2))}>
          Save as JSON
        </button>
        <button type="button" onClick={() => void navigator.clipboard.writeText(window.location.href)}>
          Copy the link
        </button>
      </div>
      {details.message && <p className="large">{details.message}</p>}
      {missing > 0 && <Notice tone="warn">The log no longer holds {missing} of its records.</Notice>}
      <div className="halves">
        <Panel title="When">
          <Facts
            of={[
              ["Complete at", time(match.detected_at)],
              ["First record", time(match.first_ts)],
              ["Took", span(match.last_ts - match.first_ts)],
              ...vertices.map(([name, id]): [string, string] => [name, id]),
              ["Match id", match.match_id],
            ]}
          />
          <Timeline moments={momentsOf(edges)} />
        </Panel>
        {isOfEdges(edges) && (
          <Panel title="Edges in order of time">
            {error !== null && <Failure error={error} />}
            <Suspense fallback={<Loading />}>
              <Graph
                label={`Graph of the match. ${edges.map(({ name, edge }) => `${name}: ${edge.src} to ${edge.dst}`).join("; ")}`}
                vertices={graph.vertices}
                arrows={graph.arrows}
                onVertex={(vertex) => void expand(vertex)}
              />
            </Suspense>
            <div className="row">
              <span className="muted">Choose a vertex to see its other edges of this time:</span>
              {[...new Set(graph.vertices.filter((each) => !each.isContext).map((each) => each.id))].slice(0, 12).map((each) => (
                <button key={each} type="button" onClick={() => void expand(each)}>
                  {each}
                </button>
              ))}
              {neighbours.length > 0 && (
                <button type="button" onClick={() => setNeighbours([])}>
                  Only the match
                </button>
              )}
            </div>
          </Panel>
        )}
      </div>
      <Panel title="Records">
        <div className="scroll" tabIndex={0}>
          <table>
            <thead>
              <tr>
                <th>#</th>
                <th>Name</th>
                <th>Time</th>
                <th>From</th>
                <th>To</th>
                <th>Label</th>
                <th>Attributes</th>
                <th>Id</th>
              </tr>
            </thead>
            <tbody>
              {edges.map(({ name, edge }, index) => (
                <tr key={`${name} ${edge.id}`}>
                  <td>{index + 1}</td>
                  <td>{name}</td>
                  <td>{time(edge.ts)}</td>
                  <td>{edge.src}</td>
                  <td>{edge.dst}</td>
                  <td>{edge.label}</td>
                  <td>{attributesOf(edge)}</td>
                  <td>{edge.id}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      </Panel>
    </>
  );
}
