/** The edges or events of a match along their times. */

import { span, time } from "../format";

export interface Moment {
  name: string;
  at: number;
  text: string;
}

const ROW = 26;
const LEFT = 90;
const WIDTH = 640;

export function Timeline({ moments }: { moments: Moment[] }) {
  const sorted = [...moments].sort((a, b) => a.at - b.at);
  const first = sorted[0]?.at ?? 0;
  const last = sorted.at(-1)?.at ?? first;
  const length = Math.max(last - first, 1);
  const x = (at: number) => LEFT + 12 + ((at - first) / length) * (WIDTH - LEFT - 130);
  const height = sorted.length * ROW + 30;
  const words = sorted.map((each) => `${each.name} after ${span(each.at - first)}: ${each.text}`).join("; ");
  return (
    <div style={{ overflowX: "auto" }} tabIndex={0} role="group" aria-label="Timeline">
      <svg viewBox={`0 0 ${WIDTH} ${height}`} style={{ width: "100%", minWidth: "34rem", maxHeight: "26rem" }} role="img" aria-label={`Timeline. ${words}`}>
        <line x1={x(first)} x2={x(last)} y1={height - 22} y2={height - 22} stroke="currentColor" opacity=".4" />
        {sorted.map((each, row) => {
          const y = row * ROW + 14;
          return (
            <g key={`${each.name}-${row}`}>
              <text x={LEFT - 8} y={y + 4} textAnchor="end" fontSize="12" fontWeight="600">
                {each.name}
              </text>
              <line x1={x(each.at)} x2={x(each.at)} y1={y} y2={height - 22} stroke="#1296a8" opacity=".35" strokeDasharray="2 3" />
              <circle cx={x(each.at)} cy={y} r="5" fill="#1296a8" />
              <text x={x(each.at) + 10} y={y + 4} fontSize="11">
                +{span(each.at - first)}
              </text>
              <title>{`${each.name}: ${each.text} at ${time(each.at)}`}</title>
            </g>
          );
        })}
        <text x={x(first)} y={height - 6} fontSize="11">
          {time(first)}
        </text>
      </svg>
    </div>
  );
}
