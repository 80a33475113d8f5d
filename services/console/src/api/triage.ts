/** What people decided of matches. */

import { useQuery, useQueryClient } from "@tanstack/react-query";

import { api, bodyOf, type Schemas } from "./client";
import type { MatchRecord } from "./events";

export type Mute = Schemas["MuteOut"];
export type Acknowledgement = Schemas["AcknowledgementOut"];

export function useMutes() {
  return useQuery({ queryKey: ["mutes"], queryFn: () => bodyOf(api.GET("/api/v1/mutes")), refetchInterval: 10_000 });
}

/** The acknowledgements of the newest matches, by pattern and match. */
export function useAcknowledgements() {
  return useQuery({
    queryKey: ["acknowledgements"],
    queryFn: async () => {
      const { matches } = await bodyOf(api.GET("/api/v1/matches", { params: { query: { limit: 1_000 } } }));
      const found = new Map<string, Acknowledgement>();
      for (const { match, acknowledgement } of matches) {
        const { query, match_id } = match as unknown as MatchRecord;
        if (acknowledgement != null) found.set(`${query} ${match_id}`, acknowledgement);
      }
      return found;
    },
    refetchInterval: 10_000,
  });
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
