/** The statement of a stream, beside what it makes of sample records. */

import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { lazy, Suspense, useState } from "react";

import { api, bodyOf } from "../../api/client";
import { Failure, Loading, Notice, Panel } from "../../components/basics";
import { count } from "../../format";
import { Link } from "../../router";
import { useSettled } from "../editor/validity";

const CodeEditor = lazy(() => import("../../language/CodeEditor"));

const FIRST = (name: string) => `STREAM ${/^[\p{L}_][\p{L}\p{N}_]*$/u.test(name) ? name : `\`${name}\``}
EDGE (src)-[label]->(dst)
AT ts IN ms
`;

const SAMPLE = '{"ts": 1704067200000, "src": "ann", "dst": "bob", "label": "pays", "amount": 12}\n';

export function Statement({ name, text: registered, onSaved }: { name: string; text: string | null; onSaved: () => void }) {
  const [given, setGiven] = useState({ text: registered ?? FIRST(name) });
  const [text, setText] = useState(given.text);
  const [sample, setSample] = useState(SAMPLE);
  const [error, setError] = useState<unknown>(null);
  const [isSaved, setSaved] = useState(false);
  const settled = useSettled(`${text}\u0000${sample}`);
  const checked = useQuery({
    queryKey: ["statement", settled],
    queryFn: () => {
      const [statement = "", records = ""] = settled.split("\u0000");
      return bodyOf(api.POST("/api/v1/streams:check", { body: { text: statement, sample: records } }));
    },
    placeholderData: keepPreviousData,
    retry: false,
  });
  const presets = useQuery({ queryKey: ["presets"], queryFn: () => bodyOf(api.GET("/api/v1/presets")), staleTime: Number.POSITIVE_INFINITY });

  const choose = (title: string) => {
    const preset = presets.data?.presets.find((each) => each.name === title);
    if (preset !== undefined) setGiven({ text: preset.text.replace(/^(\s*(?:(?:#|\/\/).*\n\s*)*STREAM\s+)(?:`[^`]*`|[\p{L}\p{N}_]+)/u, `$1${FIRST(name).split(/\s/)[1]}`) });
  };

  const save = async () => {
    try {
      await bodyOf(api.PUT("/api/v1/streams/{stream}", { params: { path: { stream: name } }, body: { text } }));
      setError(null);
      setSaved(true);
      onSaved();
    } catch (problem) {
      setSaved(false);
      setError(problem);
    }
  };

  const data = checked.data;
  return (
    <>
      {error !== null && <Failure error={error} />}
      {isSaved && (
        <Notice tone="good">
          The statement is registered. <Link to="/editor">Write a pattern</Link>
        </Notice>
      )}
      <div className="row">
        <label className="field">
          Begin from a preset
          <select defaultValue="" onChange={(event) => choose(event.target.value)}>
            <option value="">choose a source</option>
            {presets.data?.presets.map((each) => (
              <option key={each.name} value={each.name}>
                {each.name}: {each.title}
              </option>
            ))}
          </select>
        </label>
        <button type="button" className="main" disabled={data?.valid !== true} onClick={() => void save()}>
          Register the statement
        </button>
      </div>
      <div className="halves">
        <Panel title="Statement">
          <Suspense fallback={<Loading />}>
            <CodeEditor label="Statement of the stream" given={given} onChange={setText} known={{ streams: [name], labels: [], attributes: [], isStatement: true }} error={data?.error ?? null} />
          </Suspense>
          {data?.error && (
            <Notice tone="bad">
              <strong>{data.error.detail}</strong>
              {data.error.source_line && <pre>{`${data.error.source_line}\n${" ".repeat(Math.max(0, (data.error.column ?? 1) - 1))}^`}</pre>}
              {data.error.hint && <div>{data.error.hint}</div>}
            </Notice>
          )}
        </Panel>
        <Panel title="Sample records">
          <div className="stack">
            <input
              type="file"
              aria-label="File with sample records"
              onChange={(event) => void event.target.files?.[0]?.slice(0, 256 * 1024).text().then(setSample)}
            />
            <textarea aria-label="Sample records" rows={10} value={sample} onChange={(event) => setSample(event.target.value)} spellCheck={false} />
          </div>
        </Panel>
      </div>
      <Panel title="What they become">
        {checked.error ? <Failure error={checked.error} /> : null}
        {data?.valid && (
          <>
            <p role="status">
              {count(data.records)} records: {count(data.given)} edges and events, {count(data.filtered)} not of the stream, {count(data.rejected?.count ?? 0)} rejected
            </p>
            {data.rejected?.examples?.map((each) => (
              <Notice key={each.line} tone="warn">
                Line {each.line}: {each.reason} <code>{each.raw}</code>
              </Notice>
            ))}
            <div className="scroll" tabIndex={0}>
              <table>
                <thead>
                  <tr>
                    <th>Record</th>
                    <th>Time</th>
                    <th>Edge or event</th>
                    <th>Attributes</th>
                    <th>Id</th>
                  </tr>
                </thead>
                <tbody>
                  {data.shown?.map((each, index) => (
                    <tr key={index}>
                      <td>{each.record}</td>
                      <td>{each.time}</td>
                      <td>{each.drawn}</td>
                      <td>{each.attributes.join(", ")}</td>
                      <td>{each.id}</td>
                    </tr>
                  ))}
                </tbody>
              </table>
            </div>
          </>
        )}
      </Panel>
    </>
  );
}
