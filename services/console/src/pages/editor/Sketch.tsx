/** Draw a pattern: add vertices, connect them in the order in which the edges are to come. */

import { lazy, Suspense, useState } from "react";

import { Loading, Panel } from "../../components/basics";
import { drawingOf, type Shape, textOf } from "../../drawing/shape";

const Graph = lazy(() => import("../../drawing/Graph"));

const EMPTY: Shape = { vertices: [], edges: [], order: [] };

/** Return the name of the next vertex: a to z, then a1. */
function nextVertex(shape: Shape): string {
  const index = shape.vertices.length;
  const letter = String.fromCharCode(97 + (index % 23));
  return index < 23 ? letter : `${letter}${Math.floor(index / 23)}`;
}

export function Sketch({ stream, onText }: { stream: string; onText: (text: string) => void }) {
  const [shape, setShape] = useState<Shape>(EMPTY);
  const [from, setFrom] = useState<string | null>(null);
  const [label, setLabel] = useState("");
  const [isOrdered, setOrdered] = useState(true);

  const take = (next: Shape) => {
    setShape(next);
    if (next.edges.length > 0) onText(textOf(next, { name: "drawn", stream, window: "10m" }));
  };

  const choose = (vertex: string) => {
    if (from === null) {
      setFrom(vertex);
      return;
    }
    const name = `e${shape.edges.length + 1}`;
    const before = shape.edges.at(-1)?.name;
    take({
      ...shape,
      edges: [...shape.edges, { name, source: from, target: vertex, label: label.trim() || null }],
      order: isOrdered && before !== undefined ? [...shape.order, [before, name]] : shape.order,
    });
    setFrom(null);
  };

  const drawing = drawingOf(shape);
  return (
    <Panel title="Draw">
      <div className="row">
        <button type="button" onClick={() => setShape({ ...shape, vertices: [...shape.vertices, { name: nextVertex(shape) }] })}>
          Add a vertex
        </button>
        {shape.vertices.map((each) => (
          <button key={each.name} type="button" aria-pressed={from === each.name} onClick={() => choose(each.name)}>
            {from === null ? `From ${each.name}` : `To ${each.name}`}
          </button>
        ))}
        <label className="row">
          label of the next edge
          <input value={label} onChange={(event) => setLabel(event.target.value)} style={{ width: "8rem" }} />
        </label>
        <label className="row">
          <input type="checkbox" checked={isOrdered} onChange={(event) => setOrdered(event.target.checked)} />
          edges come in this order
        </label>
        <button type="button" onClick={() => { setShape(EMPTY); setFrom(null); }}>
          Begin anew
        </button>
      </div>
      {shape.vertices.length > 0 && (
        <Suspense fallback={<Loading />}>
          <Graph small label={`Drawing: ${drawing.words}`} vertices={drawing.vertices.map((each) => ({ ...each, emphasis: each.id === from }))} arrows={drawing.arrows} onVertex={choose} />
        </Suspense>
      )}
    </Panel>
  );
}
