/** What people decided of a match, in a word. */

import type { MatchRecord } from "../../api/events";
import { type Acknowledgement, type Mute, muteOf } from "../../api/triage";
import { Badge } from "../../components/basics";

interface Props {
  match: MatchRecord;
  mutes: Mute[];
  acknowledged: ReadonlyMap<string, Acknowledgement>;
}

export function Decided({ match, mutes, acknowledged }: Props) {
  const found = acknowledged.get(`${match.query} ${match.match_id}`);
  const mute = muteOf(match, mutes);
  return (
    <>
      {found && <Badge tone="good">seen by {found.by}</Badge>} {mute && <Badge tone="plain">muted</Badge>}
    </>
  );
}
