/** A pattern as a drawing, and a drawing as a pattern. */

import type { Arrow, Vertex } from "./Graph";

export interface Shape {
  vertices: { name: string; label?: string | null; key?: string | null }[];
  edges: { name: string; source: string; target: string; label?: string | null }[];
  /** Pairs of edges; the first must come before the second. */
  order: [string, string][];
}

/** Return the rank of each edge in the order: 1 for those before which none must come. */
export function ranksOf(shape: Shape): Map<string, number> {
  const before = new Map<string, string[]>(shape.edges.map((each) => [each.name, []]));
  for (const [first, second] of shape.order) before.get(second)?.push(first);
  const ranks = new Map<string, number>();
  const rank = (name: string, depth: number): number => {
    const known = ranks.get(name);
    if (known !== undefined) return known;
    if (depth > shape.edges.length) return 1;
    const found = 1 + Math.max(0, ...(before.get(name) ?? []).map((each) => rank(each, depth + 1)));
    ranks.set(name, found);
    return found;
  };
  if (shape.order.length > 0) for (const { name } of shape.edges) rank(name, 0);
  return ranks;
}

export function drawingOf(shape: Shape): { vertices: Vertex[]; arrows: Arrow[]; words: string } {
  const ranks = ranksOf(shape);
  const vertices = shape.vertices.map(({ name, label, key }) => ({
    id: name,
    text: `${name}${label ? `:${label}` : ""}${key ? ` = ${key}` : ""}`,
  }));
  const arrows = shape.edges.map(({ name, source, target, label }) => {
    const rank = ranks.get(name);
    return { id: name, source, target, text: `${rank === undefined ? "" : `${rank} · `}${name}${label ? `:${label}` : ""}` };
  });
  const order = shape.order.map(([first, second]) => `${first} before ${second}`).join(", ");
  const words = `${shape.edges.map((each) => `${each.source} to ${each.target} by ${each.name}`).join("; ")}${order && `; ${order}`}`;
  return { vertices, arrows, words };
}

const PLAIN = /^[\p{L}_][\p{L}\p{N}_]*$/u;

function nameOf(text: string): string {
  return PLAIN.test(text) ? text : `\`${text.replaceAll("`", "``")}\``;
}

/** Return the text of a drawn pattern. */
export function textOf(shape: Shape, { name, stream, window }: { name: string; stream: string; window: string }): string {
  const labels = new Map(shape.vertices.map((each) => [each.name, each.label]));
  const shown = new Set<string>();
  const end = (vertex: string) => {
    const label = shown.has(vertex) ? null : labels.get(vertex);
    shown.add(vertex);
    return `(${nameOf(vertex)}${label ? `:${nameOf(label)}` : ""})`;
  };
  const edges = shape.edges.map((each) => `${end(each.source)}-[${nameOf(each.name)}${each.label ? `:${nameOf(each.label)}` : ""}]->${end(each.target)}`);
  const order = shape.order.map(([first, second]) => `${nameOf(first)} < ${nameOf(second)}`).join(", ");
  return [`PATTERN ${nameOf(name)}`, `MATCH ${edges.join(",\n      ")}`, ...(order ? [`ORDER ${order}`] : []), `ON ${nameOf(stream)} WINDOW ${window}`, ""].join("\n");
}
