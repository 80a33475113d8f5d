/** A chart of series over time. */

import { useEffect, useRef } from "react";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";

export interface Series {
  name: string;
  points: [number, number | null][];
}

/** Room of the legend, so that nothing moves when values come. */
const LEGEND = 64;

const COLOURS = ["#1296a8", "#d9822b", "#8d5fd3", "#c2414b", "#3f9b57"];

/** Return an instant as people of every country read it; the day where a step is hours long. */
function clock(seconds: number, step: number): string {
  const date = new Date(seconds * 1000);
  const two = (value: number) => String(value).padStart(2, "0");
  const time = `${two(date.getHours())}:${two(date.getMinutes())}`;
  return step >= 21_600 ? `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}` : step < 60 ? `${time}:${two(date.getSeconds())}` : time;
}

/** Return the series over one axis of times. */
function aligned(series: Series[]): uPlot.AlignedData {
  const times = [...new Set(series.flatMap((each) => each.points.map(([at]) => at)))].sort((a, b) => a - b);
  const values = series.map((each) => {
    const known = new Map(each.points);
    return times.map((at) => known.get(at) ?? null);
  });
  return [times, ...values];
}

export function Chart({ label, series, height = 150 }: { label: string; series: Series[]; height?: number }) {
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const names = series.map((each) => each.name).join("\n");

  useEffect(() => {
    const element = place.current;
    if (element === null) return;
    const muted = getComputedStyle(element).color;
    const axis = { stroke: muted, grid: { stroke: "rgb(128 128 128 / .2)", width: 1 }, ticks: { show: false }, font: "11px system-ui" };
    const options: uPlot.Options = {
      width: element.clientWidth,
      height,
      axes: [{ ...axis, values: (_, splits, __, ___, step) => splits.map((each) => clock(each, step)) }, { ...axis, size: 52 }],
      scales: { y: { range: (_, __, most) => [0, most > 0 ? most * 1.1 : 1] } },
      series: [
        { label: "Time", value: (_, at) => (at === null ? "–" : new Date(at * 1000).toLocaleTimeString("sv")) },
        ...names.split("\n").map((each, index) => {
          const stroke = COLOURS[index % COLOURS.length]!;
          return { label: each, stroke, width: 1.5, fill: `${stroke}22`, points: { show: false } };
        }),
      ],
    };
    const made = new uPlot(options, [[]], element);
    plot.current = made;
    const observer = new ResizeObserver(() => made.setSize({ width: element.clientWidth, height }));
    observer.observe(element);
    return () => {
      observer.disconnect();
      made.destroy();
      plot.current = null;
    };
  }, [names, height]);

  useEffect(() => {
    plot.current?.setData(aligned(series));
  }, [series]);

  const isEmpty = series.every((each) => each.points.every(([, value]) => value === null));
  return (
    <div style={{ minHeight: height + LEGEND }}>
      {isEmpty && <p className="muted">No values yet.</p>}
      <div ref={place} className="chart muted" role="img" aria-label={describe(label, series)} hidden={isEmpty} />
    </div>
  );
}

/** Return what a chart shows in words, for those who do not see it. */
function describe(label: string, series: Series[]): string {
  const parts = series.map((each) => {
    const known = each.points.map(([, value]) => value).filter((value) => value !== null);
    const last = known.at(-1);
    return last === undefined ? `${each.name}: no values` : `${each.name}: now ${last.toFixed(1)}, at most ${Math.max(...known).toFixed(1)}`;
  });
  return `${label}. ${parts.join("; ")}`;
}

/** A line of recent values in a row of a table. */
export function Sparkline({ points, label }: { points: (number | null)[]; label: string }) {
  const known = points.map((each) => each ?? 0);
  const most = Math.max(...known, 1e-9);
  const step = known.length > 1 ? 100 / (known.length - 1) : 100;
  const path = known.map((each, index) => `${index === 0 ? "M" : "L"}${(index * step).toFixed(1)},${(22 - (each / most) * 20).toFixed(1)}`).join("");
  return (
    <svg viewBox="0 0 100 24" width="100" height="24" role="img" aria-label={label} preserveAspectRatio="none">
      <path d={path} fill="none" stroke="#1296a8" strokeWidth="1.5" vectorEffect="non-scaling-stroke" />
    </svg>
  );
}
