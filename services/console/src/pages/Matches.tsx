/** Matches as they come. */

import { useEffect, useRef, useState } from "react";

import { type Connection, followMatches, type PlacedMatch } from "../api/events";
import { usePatterns } from "../api/queries";
import { type Acknowledgement, muteOf, useAcknowledgements, useMutes } from "../api/triage";
import { Badge, download, Page, Panel } from "../components/basics";
import { isAtLeast, type Severity, SeverityBadge, SeverityChoice } from "../components/severity";
import { VirtualTable } from "../components/VirtualTable";
import { count, span, time } from "../format";
import { address, Link, navigate } from "../router";
import { Decided } from "./match/Decided";
import { Mutes } from "./match/Mutes";
import { Search } from "./match/Search";

const NONE: ReadonlyMap<string, Acknowledgement> = new Map();

/** Matches that the page holds; older ones are in the log. */
const MOST = 5_000;

export default function Matches({ query }: { query: URLSearchParams }) {
  const pattern = query.get("pattern") ?? "";
  const [matches, setMatches] = useState<PlacedMatch[]>([]);
  const [connection, setConnection] = useState<Connection>("opening");
  const [filter, setFilter] = useState("");
  const [found, setFound] = useState<PlacedMatch[] | null>(null);
  const [showsMuted, setShowsMuted] = useState(true);
  const [isHeld, setHeld] = useState(false);
  const held = useRef(false);
  const waiting = useRef<PlacedMatch[]>([]);
  const [waits, setWaits] = useState(0);
  const [severity, setSeverity] = useState<Severity | "">("");
  const patterns = usePatterns();
  const mutes = useMutes().data?.mutes ?? [];
  const acknowledged = useAcknowledgements().data ?? NONE;

  useEffect(() => {
    setMatches([]);
    waiting.current = [];
    return followMatches(
      pattern === "" ? null : pattern,
      200,
      (more) => {
        if (held.current) {
          waiting.current = [...waiting.current, ...more].slice(-MOST);
          setWaits(waiting.current.length);
        } else {
          setMatches((known) => newest(known, more));
        }
      },
      setConnection,
    );
  }, [pattern]);

  const hold = (next: boolean) => {
    held.current = next;
    setHeld(next);
    if (!next) {
      const more = waiting.current;
      waiting.current = [];
      setWaits(0);
      setMatches((known) => newest(known, more));
    }
  };

  const words = filter.toLowerCase();
  const shown = (found ?? matches).filter(
    (each) =>
      (words === "" || textOf(each).includes(words)) &&
      isAtLeast(each.severity, severity) &&
      (showsMuted || muteOf(each.match, mutes) === null),
  );
  const failed = typeof connection === "object" ? connection.failed : null;
  return (
    <Page title="Matches" lead="The newest first, as they are found. Choose one to see its edges.">
      <div className="row">
        <select aria-label="Pattern" value={pattern} onChange={(event) => navigate(`/matches${event.target.value === "" ? "" : `?pattern=${encodeURIComponent(event.target.value)}`}`)}>
          <option value="">every pattern</option>
          {patterns.data?.slice(0, 2_000).map((each) => (
            <option key={each.name}>{each.name}</option>
          ))}
        </select>
        <input type="search" aria-label="Filter matches" placeholder="Message, vertex, edge or id" value={filter} onChange={(event) => setFilter(event.target.value)} />
        <SeverityChoice value={severity} onChoose={setSeverity} />
        <label className="row">
          <input type="checkbox" checked={showsMuted} onChange={(event) => setShowsMuted(event.target.checked)} />
          muted too
        </label>
        <button type="button" aria-pressed={isHeld} onClick={() => hold(!isHeld)}>
          {isHeld ? `Go on${waits > 0 ? ` (${count(waits)} new)` : ""}` : "Hold"}
        </button>
        <button type="button" onClick={() => download("matches.json", "application/json", JSON.stringify(shown.map((each) => each.match), null, 1))}>
          JSON
        </button>
        <button type="button" onClick={() => download("matches.csv", "text/csv", csvOf(shown))}>
          CSV
        </button>
        <Badge tone={connection === "open" ? "good" : failed === null ? "plain" : "bad"}>{failed ?? (connection as string)}</Badge>
        <span className="muted" role="status">
          {count(shown.length)} shown
        </span>
      </div>
      <Search pattern={pattern} onFound={setFound} />
      <Panel>
        {shown.length === 0 && <p className="muted">{found === null ? "No match yet. It appears here the moment it is complete." : "The log holds no such match."}</p>}
        <VirtualTable
          label="Matches"
          rows={shown}
          keyOf={(each) => `${each.match.query} ${each.match.match_id} ${each.match.kind}`}
          height="70vh"
          onOpen={({ place, match }) => navigate(address("matches", match.query, place))}
          columns={[
            { title: "Complete at", width: "13rem", cell: ({ match }) => time(match.detected_at) },
            { title: "Pattern", width: "minmax(7rem, 1fr)", cell: ({ match }) => <Link to={address("patterns", match.query)}>{match.query}</Link> },
            { title: "Severity", width: "6rem", cell: (each) => <SeverityBadge of={each.severity} /> },
            { title: "Decided", width: "8rem", cell: ({ match }) => <Decided match={match} mutes={mutes} acknowledged={acknowledged} /> },
            { title: "Took", width: "5.5rem", isNumber: true, cell: ({ match }) => span(match.last_ts - match.first_ts) },
            { title: "Kind", width: "5rem", cell: ({ match }) => match.kind },
            { title: "What", width: "minmax(8rem, 3fr)", cell: (each) => each.message ?? subjectOf(each.match) },
          ]}
        />
      </Panel>
      <Mutes />
    </Page>
  );
}

function newest(known: PlacedMatch[], more: PlacedMatch[]): PlacedMatch[] {
  const seen = new Set<string>();
  const all: PlacedMatch[] = [];
  for (const each of [...more.toReversed(), ...known]) {
    const key = `${each.match.query} ${each.match.match_id} ${each.match.kind}`;
    if (seen.has(key)) continue;
    seen.add(key);
    all.push(each);
    if (all.length === MOST) break;
  }
  return all;
}

function subjectOf(match: PlacedMatch["match"]): string {
  const bound = match.vertices ?? match.events ?? match.edges ?? {};
  const own = Object.entries(bound).map(([name, each]) => `${name} ${Array.isArray(each) ? `${each.length} ×` : each}`);
  if (own.length > 0) return own.join(", ");
  return [match.src, match.dst].filter((each) => typeof each === "string").join(" → ");
}

function textOf({ match, message }: PlacedMatch): string {
  return `${message ?? ""} ${JSON.stringify(match)}`.toLowerCase();
}

function csvOf(matches: PlacedMatch[]): string {
  const cell = (given: unknown) => {
    const text = typeof given === "string" ? given : JSON.stringify(given ?? "");
    // A spreadsheet takes these for formulas.
    const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
    return `"${safe.replaceAll('"', '""')}"`;
  };
  const rows = matches.map(({ match, severity, message }) =>
    [match.match_id, match.query, match.kind, match.detected_at, match.first_ts, match.last_ts, match.vertices, match.edges ?? match.events, severity, message]
      .map(cell)
      .join(","),
  );
  return ["match_id,query,kind,detected_at,first_ts,last_ts,vertices,edges,severity,message", ...rows].join("\r\n");
}
