/** A graph on a canvas: patterns, and the edges of a match. What it shows stands beside it in words, for those who do not see it. */

import cytoscape, { type Core, type ElementDefinition } from "cytoscape";
import { useEffect, useRef } from "react";

export interface Vertex {
  id: string;
  text: string;
  emphasis?: boolean;
  /** Drawn small: a vertex that is not of the match. */
  isContext?: boolean;
}

export interface Arrow {
  id: string;
  source: string;
  target: string;
  text: string;
  /** Drawn thin: an edge that is not of the match. */
  isContext?: boolean;
}

interface Props {
  label: string;
  vertices: Vertex[];
  arrows: Arrow[];
  small?: boolean;
  onVertex?: (id: string) => void;
  onArrow?: (id: string) => void;
  onGround?: () => void;
}

/** Cytoscape adds no style element where one of this name is there, so a strict policy holds. */
const STYLE = "__________cytoscape_stylesheet";

function colours(element: HTMLElement) {
  const style = getComputedStyle(element);
  const read = (name: string) => {
    // Cytoscape reads no `light-dark()`, so the browser computes the colour.
    element.style.color = `var(${name})`;
    const found = style.color;
    element.style.color = "";
    return found;
  };
  return { text: read("--text"), accent: read("--accent"), muted: read("--muted"), ground: read("--ground") };
}

function styleOf(element: HTMLElement): cytoscape.StylesheetJson {
  const { text, accent, muted, ground } = colours(element);
  return [
    {
      selector: "node",
      style: {
        label: "data(text)", "background-color": accent, color: text, "font-size": 12, width: 26, height: 26,
        "text-valign": "bottom", "text-margin-y": 4, "text-max-width": "140px", "text-wrap": "ellipsis",
        "text-background-color": ground, "text-background-opacity": 0.85, "text-background-padding": "2px",
      },
    },
    { selector: "node[?isContext]", style: { "background-color": muted, width: 16, height: 16 } },
    { selector: "node[?emphasis]", style: { "border-width": 3, "border-color": text } },
    {
      selector: "edge",
      style: {
        label: "data(text)", width: 2, "line-color": muted, "target-arrow-color": muted, "target-arrow-shape": "triangle",
        "curve-style": "bezier", "control-point-step-size": 46, color: text, "font-size": 11, "text-rotation": "autorotate",
        "text-background-color": ground, "text-background-opacity": 0.9, "text-background-padding": "2px",
        "loop-direction": "-45deg", "loop-sweep": "60deg", "text-max-width": "180px", "text-wrap": "ellipsis",
      },
    },
    { selector: "edge[?isContext]", style: { width: 1, "line-style": "dashed", opacity: 0.7 } },
  ];
}

/** Vertices that stand in a circle, where edges cross least; more are placed by forces. */
const MOST_IN_A_CIRCLE = 14;
const PADDING = 36;
const MOST_ZOOM = 1.15;

/** Show all of a graph, no larger than it is read well. */
function show(core: Core): void {
  core.fit(undefined, PADDING);
  if (core.zoom() > MOST_ZOOM) {
    core.zoom(MOST_ZOOM);
    core.center();
  }
}

export default function Graph({ label, vertices, arrows, small = false, onVertex, onArrow, onGround }: Props) {
  const place = useRef<HTMLDivElement>(null);
  const core = useRef<Core | null>(null);
  const handlers = useRef({ onVertex, onArrow, onGround });
  handlers.current = { onVertex, onArrow, onGround };
  const content = JSON.stringify([vertices, arrows]);

  useEffect(() => {
    const element = place.current;
    if (element === null) return;
    if (document.getElementById(STYLE) === null) {
      const marker = document.createElement("meta");
      marker.id = STYLE;
      document.head.append(marker);
    }
    const made = cytoscape({ container: element, style: styleOf(element), minZoom: 0.2, maxZoom: 3, wheelSensitivity: 0.3 });
    made.on("tap", "node", (event) => handlers.current.onVertex?.(event.target.id()));
    made.on("tap", "edge", (event) => handlers.current.onArrow?.(event.target.id()));
    made.on("tap", (event) => {
      if (event.target === made) handlers.current.onGround?.();
    });
    core.current = made;
    const scheme = matchMedia("(prefers-color-scheme: dark)");
    const restyle = () => made.style(styleOf(element));
    scheme.addEventListener("change", restyle);
    const observer = new ResizeObserver(() => {
      made.resize();
      show(made);
    });
    observer.observe(element);
    return () => {
      observer.disconnect();
      scheme.removeEventListener("change", restyle);
      made.destroy();
      core.current = null;
    };
  }, []);

  useEffect(() => {
    const made = core.current;
    if (made === null) return;
    const [nodes, edges] = JSON.parse(content) as [Vertex[], Arrow[]];
    const radius = nodes.length === 1 ? 0 : 70 + nodes.length * 26;
    const elements: ElementDefinition[] = nodes.map((data, index) => {
      const angle = (index / Math.max(nodes.length, 1)) * 2 * Math.PI + Math.PI;
      return { data, position: { x: 1.35 * radius * Math.cos(angle), y: radius * Math.sin(angle) } };
    });
    elements.push(...edges.map((data) => ({ data })));
    made.batch(() => {
      made.elements().remove();
      made.add(elements);
    });
    if (nodes.length > MOST_IN_A_CIRCLE) {
      const layout = { name: "cose", animate: false, randomize: false, idealEdgeLength: () => 140, nodeRepulsion: () => 400_000, padding: PADDING };
      made.layout(layout as cytoscape.LayoutOptions).run();
    }
    show(made);
  }, [content]);

  return <div ref={place} className={`drawing${small ? " small" : ""}`} role="img" aria-label={label} />;
}
