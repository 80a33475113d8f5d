/** What pages ask of the API, and how often they ask again. */

import { useQuery } from "@tanstack/react-query";

import { api, ask, bodyOf, type Schemas } from "./client";

export type Pattern = Schemas["PatternOut"];
export type StreamSummary = Schemas["StreamsOut"]["streams"][number];
export type StreamDetails = Schemas["StreamDetails"];
export type DeadLetter = Schemas["DeadLetterOut"];
export type Operation = Schemas["OperationOut"];

/** Milliseconds between two looks at what changes all the time. */
const OFTEN = 2_000;
const SELDOM = 10_000;

const MOST_PAGES = 100;

/** Return all patterns, page by page. */
async function allPatterns(): Promise<Pattern[]> {
  const patterns: Pattern[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < MOST_PAGES; page++) {
    const query = { limit: 1000, ...(cursor === undefined ? {} : { cursor }) };
    const answer = await bodyOf(api.GET("/api/v1/patterns", { params: { query } }));
    patterns.push(...answer.patterns);
    if (answer.next == null) break;
    cursor = answer.next;
  }
  return patterns;
}

export function usePatterns() {
  return useQuery({ queryKey: ["patterns"], queryFn: allPatterns, refetchInterval: OFTEN });
}

export function usePattern(name: string) {
  return useQuery({
    queryKey: ["pattern", name],
    queryFn: () => bodyOf(api.GET("/api/v1/patterns/{name}", { params: { path: { name } } })),
    refetchInterval: OFTEN,
  });
}

export function useStreams() {
  return useQuery({ queryKey: ["streams"], queryFn: () => bodyOf(api.GET("/api/v1/streams")), refetchInterval: OFTEN });
}

export function useStream(stream: string, { enabled = true } = {}) {
  return useQuery({
    queryKey: ["stream", stream],
    queryFn: () => bodyOf(api.GET("/api/v1/streams/{stream}", { params: { path: { stream } } })),
    refetchInterval: OFTEN,
    enabled,
  });
}

/** What records of a stream have; values of attributes are for those who may see edges. */
export function useSchema(stream: string, { withExamples = false } = {}) {
  const query = withExamples ? { examples: 5 } : {};
  return useQuery({
    queryKey: ["schema", stream, withExamples],
    queryFn: () => bodyOf(api.GET("/api/v1/streams/{stream}/schema", { params: { path: { stream }, query } })),
    refetchInterval: SELDOM,
    enabled: stream !== "",
  });
}

export function useDeadLetters(stream: string) {
  return useQuery({
    queryKey: ["dead-letters", stream],
    queryFn: () => bodyOf(api.GET("/api/v1/dead-letters", { params: { query: { stream, limit: 100 } } })),
    refetchInterval: SELDOM,
  });
}

export function useMatchers() {
  return useQuery({ queryKey: ["matchers"], queryFn: () => bodyOf(api.GET("/api/v1/matchers")), refetchInterval: OFTEN });
}

export function useOperations() {
  return useQuery({ queryKey: ["operations"], queryFn: () => bodyOf(api.GET("/api/v1/operations")), refetchInterval: OFTEN });
}

export interface PlanNode {
  name: string;
  does: string;
  inputs: string[];
  estimate: number | null;
  actual: number | null;
}

export interface Plan {
  pattern: string;
  engine: string;
  settings: Record<string, string>;
  considered: { engine: string; nanoseconds: number; partial_matches: number; reason: string }[];
  nodes: PlanNode[];
  counts: Record<string, number>;
}

export function usePlan(name: string) {
  return useQuery({
    queryKey: ["plan", name],
    queryFn: () => ask<Plan>(`/api/v1/patterns/${encodeURIComponent(name)}/plan?format=json`),
    refetchInterval: OFTEN,
    retry: false,
  });
}

export function usePartialMatches(name: string, vertex: string) {
  return useQuery({
    queryKey: ["partial-matches", name, vertex],
    queryFn: () =>
      bodyOf(
        api.GET("/api/v1/patterns/{name}/partial-matches", {
          params: { path: { name }, query: { limit: 20, ...(vertex === "" ? {} : { vertex }) } },
        }),
      ),
    refetchInterval: OFTEN,
    retry: false,
  });
}

export interface DataEdge {
  id: string | null;
  ts: number;
  src: string;
  dst: string;
  label: string | null;
  attributes: Record<string, unknown>;
}

export interface MatchDetails {
  place: string;
  match: import("./events").MatchRecord;
  edges: Record<string, DataEdge | DataEdge[] | null>;
  acknowledgement?: Schemas["AcknowledgementOut"] | null;
  muted?: string | null;
  severity?: string | null;
  message?: string | null;
}

export function useMatch(pattern: string, place: string) {
  return useQuery({
    queryKey: ["match", pattern, place],
    queryFn: () => ask<MatchDetails>(`/api/v1/patterns/${encodeURIComponent(pattern)}/matches/${encodeURIComponent(place)}`),
    staleTime: Number.POSITIVE_INFINITY,
  });
}
