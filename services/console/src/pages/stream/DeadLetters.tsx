/** Records that a stream could not use, with their bytes; each can be sent again, as it was or mended. */

import { useState } from "react";

import { ask } from "../../api/client";
import { type DeadLetter, useDeadLetters } from "../../api/queries";
import { Answer, Dialog, Failure, Notice, Panel } from "../../components/basics";
import { VirtualTable } from "../../components/VirtualTable";
import { moment } from "../../format";

export function DeadLetters({ name }: { name: string }) {
  const letters = useDeadLetters(name);
  const [opened, setOpened] = useState<DeadLetter | null>(null);
  const [said, setSaid] = useState<string | null>(null);
  const [error, setError] = useState<unknown>(null);
  const [code, setCode] = useState("");

  const replayAll = async (list: DeadLetter[]) => {
    let sent = 0;
    try {
      for (const each of list) {
        await ask(`/api/v1/dead-letters/${encodeURIComponent(name)}/${each.place}:replay`, { method: "POST" });
        sent++;
      }
      setError(null);
    } catch (problem) {
      setError(problem);
    }
    setSaid(`${sent} of ${list.length} were sent again.`);
    await letters.refetch();
  };

  return (
    <Answer of={letters}>
      {({ dead_letters: list }) => {
        const codes = [...new Set(list.map((each) => each.code))].sort();
        const shown = list.filter((each) => code === "" || each.code === code);
        return (
          <Panel title="Dead letters">
            {said !== null && <Notice tone="good">{said}</Notice>}
            {error !== null && <Failure error={error} />}
            {list.length === 0 && <p className="muted">Every record could be used.</p>}
            {list.length > 0 && (
              <>
                <div className="row">
                  <select aria-label="Reason" value={code} onChange={(event) => setCode(event.target.value)}>
                    <option value="">every reason</option>
                    {codes.map((each) => (
                      <option key={each} value={each}>
                        {each} ({list.filter((letter) => letter.code === each).length})
                      </option>
                    ))}
                  </select>
                  <button type="button" onClick={() => void replayAll(shown)}>
                    Send these {shown.length} again
                  </button>
                  <span className="muted">The newest {list.length} are shown.</span>
                </div>
                <VirtualTable
                  label="Dead letters"
                  rows={shown}
                  keyOf={(each) => each.place}
                  onOpen={setOpened}
                  columns={[
                    { title: "Time", width: "11rem", cell: (each) => moment(each.time) },
                    { title: "Code", width: "7rem", cell: (each) => each.code },
                    { title: "Reason", width: "minmax(8rem, 1fr)", cell: (each) => each.reason },
                    { title: "Record", width: "minmax(8rem, 1fr)", cell: (each) => <code>{each.raw ?? "bytes"}</code> },
                  ]}
                />
              </>
            )}
            {opened !== null && (
              <Mend
                letter={opened}
                onClose={() => setOpened(null)}
                onSent={(sentence) => {
                  setOpened(null);
                  setSaid(sentence);
                  void letters.refetch();
                }}
              />
            )}
          </Panel>
        );
      }}
    </Answer>
  );
}

function Mend({ letter, onClose, onSent }: { letter: DeadLetter; onClose: () => void; onSent: (sentence: string) => void }) {
  const [text, setText] = useState(letter.raw ?? "");
  const [error, setError] = useState<unknown>(null);
  const isText = letter.raw !== null;

  const send = async () => {
    const stream = encodeURIComponent(letter.stream);
    try {
      if (isText && text !== letter.raw) {
        const headers = { "content-type": letter.content_type ?? "application/x-ndjson" };
        await ask(`/api/v1/dead-letters/${stream}:replay`, { method: "POST", headers, body: text });
      } else {
        await ask(`/api/v1/dead-letters/${stream}/${letter.place}:replay`, { method: "POST" });
      }
      onSent("The record was sent again.");
    } catch (problem) {
      setError(problem);
    }
  };

  return (
    <Dialog title="A dead letter" onClose={onClose}>
      {error !== null && <Failure error={error} />}
      <p>
        <strong>{letter.reason}</strong> <span className="muted">({letter.code}, {letter.place})</span>
      </p>
      {isText ? (
        <label className="field">
          Record
          <textarea rows={6} value={text} onChange={(event) => setText(event.target.value)} spellCheck={false} />
        </label>
      ) : (
        <pre>{letter.raw_base64}</pre>
      )}
      <div className="row">
        <button type="button" className="main" onClick={() => void send()}>
          {isText && text !== letter.raw ? "Send it mended" : "Send it again"}
        </button>
        <button type="button" onClick={onClose}>
          Close
        </button>
      </div>
    </Dialog>
  );
}
