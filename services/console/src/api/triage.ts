/** What people decided of matches. */

import { useQuery, useQueryClient } from "@tanstack/react-query";

import { api, bodyOf, type Schemas } from "./client";
import type { MatchRecord } from "./events";

export type Mute = Schemas["MuteOut"];
export type Acknowledgement = Schemas["AcknowledgementOut"];

export function useMutes() {
  return useQuery({ queryKey: ["mutes"], queryFn: () => bodyOf(api.GET("/api/v1/mutes")), refetchInterval: 10_000 });
}

export function useAcknowledgements() {
  return useQuery({ queryKey: ["acknowledgements"], queryFn: () => bodyOf(api.GET("/api/v1/acknowledgements")), refetchInterval: 10_000 });
}

/** Return what asks for mutes and acknowledgements anew, and for the matches that show them. */
export function useDecisionChange(): () => Promise<void> {
  const queries = useQueryClient();
  return async () => {
    for (const key of ["mutes", "acknowledgements", "match"]) await queries.invalidateQueries({ queryKey: [key] });
  };
}

/** Return the vertices that a match binds. */
export function verticesOf(match: MatchRecord): Set<string> {
  const bound = Object.values(match.vertices ?? {}).flat();
  const ends = [match.src, match.dst].filter((each) => typeof each === "string");
  return new Set([...bound, ...ends]);
}

/** Return the mute that holds for a match; null if there is none. */
export function muteOf(match: MatchRecord, mutes: Mute[]): Mute | null {
  const vertices = verticesOf(match);
  return mutes.find((each) => (each.pattern === null || each.pattern === match.query) && (each.key === null || vertices.has(each.key.vertex))) ?? null;
}

/** Return acknowledgements by pattern and match. */
export function acknowledgedIn(list: Acknowledgement[]): Map<string, Acknowledgement> {
  return new Map(list.map((each) => [`${each.pattern} ${each.match_id}`, each]));
}
