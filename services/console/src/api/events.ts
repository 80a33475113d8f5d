/** Matches as they come: server-sent events, opened with a ticket because a browser sends no headers with them. */

import { ask, type Schemas } from "./client";
import { sentenceOf } from "./problems";

export interface MatchRecord {
  match_id: string;
  query: string;
  kind: string;
  detected_at: number;
  first_ts: number;
  last_ts: number;
  edges?: Record<string, string | string[]>;
  events?: Record<string, string | string[]>;
  vertices?: Record<string, string>;
  [member: string]: unknown;
}

/** A match as lists show it: its place in the log, and what people read beside it. */
export type PlacedMatch = Omit<Schemas["MatchOut"], "match"> & { match: MatchRecord };

export type Connection = "opening" | "open" | { failed: string };

/** Follow the matches of a pattern, or of all, until the returned function is called.
 *
 * A lost connection is opened again after the last event that came, so nothing is missed or repeated.
 */
export function followMatches(
  pattern: string | null,
  last: number,
  onMatches: (matches: PlacedMatch[]) => void,
  onConnection: (connection: Connection) => void,
): () => void {
  const path = pattern === null ? "/api/v1/matches:stream" : `/api/v1/patterns/${encodeURIComponent(pattern)}/matches:stream`;
  let source: EventSource | null = null;
  let after: string | null = null;
  let ended = false;
  let wait = 500;
  let timer = 0;
  let waiting: PlacedMatch[] = [];
  let frame = 0;

  // A burst is handed over once a frame, not once a match.
  const hand = () => {
    frame = 0;
    const ready = waiting;
    waiting = [];
    onMatches(ready);
  };

  const open = async () => {
    onConnection("opening");
    try {
      const { ticket } = await ask<{ ticket: string }>("/api/v1/tickets", { method: "POST" });
      if (ended) return;
      const query = new URLSearchParams({ ticket, listed: "true", ...(after === null ? { last: String(last) } : { after }) });
      source = new EventSource(`${path}?${query}`);
    } catch (error) {
      onConnection({ failed: sentenceOf(error) });
      again();
      return;
    }
    source.onopen = () => {
      wait = 500;
      onConnection("open");
    };
    source.addEventListener("match", (event) => {
      after = event.lastEventId;
      waiting.push(JSON.parse(event.data) as PlacedMatch);
      if (frame === 0) frame = requestAnimationFrame(hand);
    });
    source.onerror = () => {
      source?.close();
      onConnection({ failed: "The connection was lost." });
      again();
    };
  };

  const again = () => {
    if (ended) return;
    timer = window.setTimeout(() => void open(), wait);
    wait = Math.min(wait * 2, 15_000);
  };

  void open();
  return () => {
    ended = true;
    clearTimeout(timer);
    cancelAnimationFrame(frame);
    source?.close();
  };
}
