/** Health and time series. */

import { useQuery } from "@tanstack/react-query";

import { ask } from "./client";

export interface Finding {
  severity: "error" | "warning";
  code: string;
  sentence: string;
  subject: { kind: string; name: string };
  help: string;
}

export interface Health {
  state: "ok" | "degraded" | "failing";
  findings: Finding[];
  services: { name: string; state: string; seen: string | null }[];
}

export function useHealth() {
  return useQuery({ queryKey: ["health"], queryFn: () => ask<Health>("/api/v1/health"), refetchInterval: 5_000 });
}

export interface TimeSeries {
  name: string;
  stream: string | null;
  pattern: string | null;
  unit: string;
  points: [number, number | null][];
}

export interface SeriesAnswer {
  step: number;
  from: number;
  series: TimeSeries[];
}

export interface SeriesQuery {
  names: string[];
  stream?: string;
  pattern?: string;
  /** Seconds back from now. */
  last?: number;
}

export function useSeries({ names, stream, pattern, last = 3600 }: SeriesQuery) {
  const query = new URLSearchParams({ names: names.join(","), last: String(last) });
  if (stream !== undefined) query.set("stream", stream);
  if (pattern !== undefined) query.set("pattern", pattern);
  return useQuery({
    queryKey: ["series", query.toString()],
    queryFn: () => ask<SeriesAnswer>(`/api/v1/series?${query}`),
    refetchInterval: 5_000,
  });
}

/** Return the last known value of a series. */
export function lastOf(series: TimeSeries | undefined): number | null {
  return series?.points.findLast(([, value]) => value !== null)?.[1] ?? null;
}
