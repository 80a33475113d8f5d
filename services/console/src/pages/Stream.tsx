/** One stream: how far it is in order, what its records have, its statement, and what was rejected. */

import { useRef } from "react";

import { useStream } from "../api/queries";
import { ProblemError } from "../api/problems";
import { Answer, Notice, Page } from "../components/basics";
import { Tabs } from "../components/Tabs";
import { address } from "../router";
import { DeadLetters } from "./stream/DeadLetters";
import { Progress } from "./stream/Progress";
import { SendRecords } from "./stream/SendRecords";
import { Statement } from "./stream/Statement";

const TABS: [string, string][] = [
  ["state", "State"],
  ["statement", "Statement"],
  ["send", "Send records"],
  ["dead-letters", "Dead letters"],
];

export default function Stream({ name, tab }: { name: string; tab: string }) {
  const stream = useStream(name);
  // While it is asked for again there is no error for a moment: what somebody writes meanwhile must stay.
  const wasMissing = useRef(false);
  if (stream.error instanceof ProblemError && stream.error.problem.status === 404) wasMissing.current = true;
  const isNew = wasMissing.current && stream.data === undefined;
  return (
    <Page title={name} lead={isNew ? "A new stream: it begins with a statement, or with its first records." : "One stream of edges or events."}>
      <Tabs of={TABS} current={tab} to={(each) => address("streams", name, each)} />
      {tab === "statement" && (stream.data !== undefined || isNew) && <Statement name={name} text={stream.data?.statement?.text ?? null} onSaved={() => void stream.refetch()} />}
      {tab === "send" && <SendRecords name={name} />}
      {tab === "dead-letters" && <DeadLetters name={name} />}
      {tab === "state" && isNew && <Notice>No record has come yet. Describe the stream, or send records.</Notice>}
      {tab === "state" && !isNew && <Answer of={stream}>{(data) => <Progress of={data} />}</Answer>}
    </Page>
  );
}
