/** How severe the matches of a pattern are. */

import type { Schemas } from "../api/client";
import { Badge, type Tone } from "./basics";

export type Severity = NonNullable<Schemas["PatternOut"]["severity"]>;

/** From the least on. */
const SEVERITIES: [Severity, Tone][] = [
  ["info", "plain"],
  ["low", "plain"],
  ["medium", "warn"],
  ["high", "bad"],
  ["critical", "bad"],
];

function rank(of: string | null | undefined): number {
  return SEVERITIES.findIndex(([each]) => each === of);
}

/** Whether something is at least so severe; every thing is at least "". */
export function isAtLeast(of: string | null | undefined, least: Severity | ""): boolean {
  return rank(of) >= rank(least);
}

export function SeverityBadge({ of }: { of: string | null | undefined }) {
  return of == null ? null : <Badge tone={SEVERITIES[rank(of)]?.[1] ?? "plain"}>{of}</Badge>;
}

interface ChoiceProps {
  label?: string;
  value: Severity | "";
  onChoose: (chosen: Severity | "") => void;
}

/** A choice of the least severity to show. */
export function SeverityChoice({ label = "Severity", value, onChoose }: ChoiceProps) {
  return (
    <select aria-label={label} value={value} onChange={(event) => onChoose(event.target.value as Severity | "")}>
      <option value="">every severity</option>
      {SEVERITIES.map(([each]) => (
        <option key={each} value={each}>
          {each === "critical" ? each : `${each} or more`}
        </option>
      ))}
    </select>
  );
}
