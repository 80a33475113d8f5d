/** Health and time series. */

import { useQuery } from "@tanstack/react-query";

import { api, bodyOf, type Schemas } from "./client";

export type Finding = Schemas["FindingOut"];

export function useHealth() {
  return useQuery({ queryKey: ["health"], queryFn: () => bodyOf(api.GET("/api/v1/health")), refetchInterval: 5_000 });
}

export interface TimeSeries {
  name: string;
  stream: string | null;
  pattern: string | null;
  unit: string;
  points: [number, number | null][];
}

export interface SeriesQuery {
  names: string[];
  stream?: string;
  pattern?: string;
  /** Seconds back from now. */
  last?: number;
}

export function useSeries({ names, stream, pattern, last = 3600 }: SeriesQuery) {
  const query = { names: names.join(","), last, ...(stream === undefined ? {} : { stream }), ...(pattern === undefined ? {} : { pattern }) };
  return useQuery({
    queryKey: ["series", query],
    queryFn: async () => {
      const { series } = await bodyOf(api.GET("/api/v1/series", { params: { query } }));
      return { series: series as TimeSeries[] };
    },
    refetchInterval: 5_000,
  });
}

/** Return the last known value of a series. */
export function lastOf(series: TimeSeries | undefined): number | null {
  return series?.points.findLast(([, value]) => value !== null)?.[1] ?? null;
}
