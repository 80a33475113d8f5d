/** Search the matches that the log holds: by what they bind, and when. */

import { type FormEvent, useState } from "react";

import { api, bodyOf } from "../../api/client";
import type { PlacedMatch } from "../../api/events";
import { Failure } from "../../components/basics";
import { ticksOf } from "../../format";

/** Requests that a search makes at most; each looks at 20,000 matches. */
const MOST_REQUESTS = 10;

interface Props {
  pattern: string;
  onFound: (matches: PlacedMatch[] | null) => void;
}

export function Search({ pattern, onFound }: Props) {
  const [error, setError] = useState<unknown>(null);
  const [next, setNext] = useState<string | null>(null);
  const [asked, setAsked] = useState<Record<string, string | number> | null>(null);
  const [found, setFound] = useState<PlacedMatch[]>([]);

  const look = async (query: Record<string, string | number>, cursor: string | null, known: PlacedMatch[]) => {
    try {
      let all = known;
      let place = cursor;
      for (let request = 0; request < MOST_REQUESTS; request++) {
        const page = await bodyOf(api.GET("/api/v1/matches", { params: { query: { ...query, limit: 1_000, ...(place === null ? {} : { cursor: place }) } } }));
        all = [...all, ...(page.matches as unknown as PlacedMatch[])];
        place = page.next ?? null;
        if (place === null || all.length > known.length) break;
      }
      setFound(all);
      setNext(place);
      setError(null);
      onFound(all);
    } catch (problem) {
      setError(problem);
    }
  };

  const search = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const query: Record<string, string | number> = pattern === "" ? {} : { pattern };
    const vertex = String(form.get("vertex") ?? "").trim();
    if (vertex !== "") query.vertex = vertex;
    for (const end of ["from", "to"]) {
      const given = String(form.get(end) ?? "");
      if (given !== "") query[end] = ticksOf(new Date(`${given}Z`));
    }
    setAsked(query);
    void look(query, null, []);
  };

  const leave = () => {
    setAsked(null);
    setFound([]);
    setNext(null);
    onFound(null);
  };

  return (
    <details>
      <summary>Search earlier matches</summary>
      <form className="row" onSubmit={search}>
        <label className="field">
          Vertex
          <input name="vertex" />
        </label>
        <label className="field">
          From (UTC)
          <input type="datetime-local" name="from" step="1" />
        </label>
        <label className="field">
          To (UTC)
          <input type="datetime-local" name="to" step="1" />
        </label>
        <button type="submit" className="main">
          Search
        </button>
        {asked !== null && next !== null && (
          <button type="button" onClick={() => void look(asked, next, found)}>
            Look further back
          </button>
        )}
        {asked !== null && (
          <button type="button" onClick={leave}>
            Back to live
          </button>
        )}
      </form>
      {error !== null && <Failure error={error} />}
    </details>
  );
}
