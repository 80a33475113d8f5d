/** The steps of a plan as a picture: inputs above, the match below; a box's width of line says how much is in it. */

import type { PlanNode } from "../api/queries";
import { decimal } from "../format";

const WIDTH = 170;
const HEIGHT = 54;
const ACROSS = 24;
const DOWN = 44;

interface Placed {
  node: PlanNode;
  x: number;
  y: number;
}

/** Return the layer of each step: one below the deepest of its inputs. */
export function layersOf(nodes: PlanNode[]): PlanNode[][] {
  const byName = new Map(nodes.map((each) => [each.name, each]));
  const depths = new Map<string, number>();
  const depth = (node: PlanNode, above: Set<string>): number => {
    const known = depths.get(node.name);
    if (known !== undefined) return known;
    // A circle is no plan; it ends here instead of never.
    if (above.has(node.name)) return 0;
    const inside = new Set(above).add(node.name);
    const inputs = node.inputs.map((each) => byName.get(each)).filter((each) => each !== undefined);
    const found = inputs.length === 0 ? 0 : 1 + Math.max(...inputs.map((each) => depth(each, inside)));
    depths.set(node.name, found);
    return found;
  };
  const layers: PlanNode[][] = [];
  for (const node of nodes) (layers[depth(node, new Set())] ??= []).push(node);
  return layers.map((each) => each ?? []);
}

export default function Steps({ nodes }: { nodes: PlanNode[] }) {
  const layers = layersOf(nodes);
  const most = Math.max(...layers.map((each) => each.length), 1);
  const width = most * (WIDTH + ACROSS) + ACROSS;
  const height = layers.length * (HEIGHT + DOWN);
  const places = new Map<string, Placed>();
  layers.forEach((layer, row) => {
    const left = (width - layer.length * (WIDTH + ACROSS) + ACROSS) / 2;
    layer.forEach((node, column) => places.set(node.name, { node, x: left + column * (WIDTH + ACROSS), y: row * (HEIGHT + DOWN) + 8 }));
  });
  const words = nodes.map((each) => `${each.name}: ${each.does}${each.inputs.length > 0 ? `, reads ${each.inputs.join(" and ")}` : ""}`).join("; ");
  return (
    <div style={{ overflowX: "auto" }}>
      <svg viewBox={`0 0 ${width} ${height}`} style={{ width: "100%", minWidth: Math.min(width, 520), maxHeight: "30rem" }} role="img" aria-label={`Steps of the plan. ${words}`}>
        <defs>
          <marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">
            <path d="M0,0L8,4L0,8z" fill="currentColor" />
          </marker>
        </defs>
        {[...places.values()].flatMap(({ node, x, y }) =>
          node.inputs.map((each) => {
            const from = places.get(each);
            if (from === undefined) return null;
            const path = `M${from.x + WIDTH / 2},${from.y + HEIGHT} C${from.x + WIDTH / 2},${from.y + HEIGHT + DOWN / 2} ${x + WIDTH / 2},${y - DOWN / 2} ${x + WIDTH / 2},${y - 2}`;
            return <path key={`${each} ${node.name}`} d={path} fill="none" stroke="currentColor" opacity=".6" markerEnd="url(#arrow)" />;
          }),
        )}
        {[...places.values()].map(({ node, x, y }) => (
          <g key={node.name}>
            <rect x={x} y={y} width={WIDTH} height={HEIGHT} rx="7" fill="none" stroke="#1296a8" strokeWidth={node.actual !== null && node.actual > 0 ? 3 : 1.2} />
            <text x={x + 10} y={y + 19} fontSize="12" fontWeight="650">
              {node.name}
            </text>
            <text x={x + WIDTH - 10} y={y + 19} fontSize="11" textAnchor="end">
              {node.actual !== null ? `${decimal(node.actual)} now` : node.estimate !== null ? `≈ ${decimal(node.estimate)}` : ""}
            </text>
            <text x={x + 10} y={y + 39} fontSize="10.5">
              {node.does.length > 27 ? `${node.does.slice(0, 26)}…` : node.does}
            </text>
            <title>{node.does}</title>
          </g>
        ))}
      </svg>
    </div>
  );
}
