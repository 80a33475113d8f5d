/** What changed between two texts, line by line. */

export interface Line {
  kind: "same" | "add" | "del";
  text: string;
}

const MOST_LINES = 2_000;

/** Return the lines of both texts by a longest common subsequence; O(lines of one × lines of the other). */
export function diff(before: string, after: string): Line[] {
  const a = before.trimEnd().split("\n").slice(0, MOST_LINES);
  const b = after.trimEnd().split("\n").slice(0, MOST_LINES);
  const longest = Array.from({ length: a.length + 1 }, () => new Uint16Array(b.length + 1));
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      longest[i]![j] = a[i] === b[j] ? longest[i + 1]![j + 1]! + 1 : Math.max(longest[i + 1]![j]!, longest[i]![j + 1]!);
    }
  }
  const lines: Line[] = [];
  let i = 0;
  let j = 0;
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      lines.push({ kind: "same", text: a[i]! });
      i++;
      j++;
    } else if (j < b.length && (i === a.length || longest[i]![j + 1]! > longest[i + 1]![j]!)) {
      lines.push({ kind: "add", text: b[j++]! });
    } else {
      lines.push({ kind: "del", text: a[i++]! });
    }
  }
  return lines;
}
