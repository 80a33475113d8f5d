/** Patterns to begin from. */

export interface Recipe {
  name: string;
  what: string;
  text: string;
}

export const RECIPES: Recipe[] = [
  {
    name: "Exfiltration",
    what: "Five flows in order: a victim visits a page, gets a command, and sends much to another server.",
    text: `PATTERN exfiltration
MATCH (v)-[a:http]->(w), (w)-[b:http]->(v), (v)-[c:tcp]->(s), (s)-[d:tcp]->(v), (v)-[e:tcp]->(s)
WHERE e.bytes > 1000000
ORDER a < b < c < d < e
RETURN e.bytes
ON flows WINDOW 10m
DESCRIPTION 'A host visits a page, gets a command, and sends more than a megabyte to another host.'
SEVERITY critical
TAGS 'exfiltration', 'network'
MESSAGE '{v.id} sent {e.bytes} bytes to {s.id} after it visited {w.id}'
`,
  },
  {
    name: "Brute force",
    what: "Three failed log-ins of one user, then one that succeeds.",
    text: `PATTERN brute_force
SEQ(f:failed{3,}, s:success)
PARTITION BY user
SKIP TILL NEXT
RETURN s.user
ON logins WITHIN 10m
DESCRIPTION 'Log-ins of one user fail, then one succeeds.'
SEVERITY high
TAGS 'log-in'
MESSAGE 'somebody guessed the password of {s.user}'
`,
  },
  {
    name: "Circle of payments",
    what: "Money that comes back to where it started, through two others.",
    text: `PATTERN circle
MATCH (a)-[x:pays]->(b)-[y:pays]->(c)-[z:pays]->(a)
ORDER x < y < z
ON payments WINDOW 1h
`,
  },
  {
    name: "Relay",
    what: "Who sees what through a chain of follows, with the chain.",
    text: `QUERY reached
reached(u, m) <- follows+(u, v) AS chain, posts(v, m).
ON social WINDOW(24h)
RETURN chain
`,
  },
  {
    name: "Two hops",
    what: "One edge, then another from where it led.",
    text: `PATTERN two_hops
MATCH (a)-[x]->(b)-[y]->(c)
ORDER x < y
ON edges WINDOW 1m
`,
  },
];
