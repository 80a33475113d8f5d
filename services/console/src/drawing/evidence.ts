/** The edges and events of a match in the forms that tables, timelines and graphs need. */

import type { DataEdge, MatchDetails } from "../api/queries";
import { value } from "../format";
import type { Arrow, Vertex } from "./Graph";
import type { Moment } from "./Timeline";

export interface NamedEdge {
  name: string;
  edge: DataEdge;
}

/** Return the records of a match by the names of the pattern, in order of time; those that the log no longer holds are left out. */
export function edgesOf(details: MatchDetails): NamedEdge[] {
  const found: NamedEdge[] = [];
  for (const [name, edges] of Object.entries(details.edges ?? {})) {
    const list = Array.isArray(edges) ? edges : [edges];
    list.forEach((edge, index) => {
      if (edge !== null) found.push({ name: list.length > 1 ? `${name} ${index + 1}` : name, edge });
    });
  }
  return found.sort((a, b) => a.edge.ts - b.edge.ts);
}

/** Return how many records of a match the log no longer holds. */
export function missingOf(details: MatchDetails): number {
  return Object.values(details.edges ?? {}).flat().filter((each) => each === null).length;
}

export function attributesOf(edge: DataEdge): string {
  return Object.entries(edge.attributes)
    .map(([name, each]) => `${name} ${value(each)}`)
    .join(", ");
}

export function describeEdge(edge: DataEdge): string {
  if (edge.src === "" && edge.dst === "") return [edge.label, attributesOf(edge)].filter(Boolean).join(": ");
  return `${edge.src} → ${edge.dst}${edge.label === null ? "" : ` (${edge.label})`}`;
}

export function momentsOf(edges: NamedEdge[]): Moment[] {
  return edges.map(({ name, edge }) => ({ name, at: edge.ts, text: describeEdge(edge) }));
}

export function isOfEdges(edges: NamedEdge[]): boolean {
  return edges.some(({ edge }) => edge.src !== "" || edge.dst !== "");
}

/** Return the subgraph of a match, its edges numbered by time, with neighbours that are not of the match. */
export function graphOf(edges: NamedEdge[], neighbours: DataEdge[]): { vertices: Vertex[]; arrows: Arrow[] } {
  const ids = new Set(edges.map(({ edge }) => edge.id));
  const around = neighbours.filter((edge) => !ids.has(edge.id));
  const own = new Set(edges.flatMap(({ edge }) => [edge.src, edge.dst]));
  const all = new Set([...own, ...around.flatMap((edge) => [edge.src, edge.dst])]);
  return {
    vertices: [...all].map((id) => ({ id, text: id, isContext: !own.has(id) })),
    arrows: [
      ...edges.map(({ name, edge }, index) => ({
        id: `m${index}`,
        source: edge.src,
        target: edge.dst,
        text: `${index + 1} · ${name}${edge.label === null ? "" : ` ${edge.label}`}`,
      })),
      ...around.map((edge, index) => ({ id: `n${index}`, source: edge.src, target: edge.dst, text: edge.label ?? "", isContext: true })),
    ],
  };
}
