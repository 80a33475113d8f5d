/** Where matches are delivered to. */

import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { api, bodyOf, type Schemas } from "../api/client";
import { Answer, Dialog, Failure, Notice, Page, Panel } from "../components/basics";
import { SeverityBadge } from "../components/severity";
import { count } from "../format";
import { sentenceOf } from "./alerts/attempts";
import { DeadAlerts } from "./alerts/DeadAlerts";
import { TargetForm } from "./alerts/TargetForm";

export type Target = Schemas["TargetOut"];

export default function Alerts() {
  const targets = useQuery({ queryKey: ["targets"], queryFn: () => bodyOf(api.GET("/api/v1/targets")), refetchInterval: 2_000 });
  const [edited, setEdited] = useState<Target | "new" | null>(null);
  const [deleted, setDeleted] = useState<Target | null>(null);
  const [opened, setOpened] = useState<string | null>(null);
  const [said, setSaid] = useState<string | null>(null);
  const [error, setError] = useState<unknown>(null);

  const test = async (target: string) => {
    setSaid(`An alert is on its way to ${target}.`);
    try {
      const attempt = await bodyOf(api.POST("/api/v1/targets/{target}:test", { params: { path: { target } } }));
      setSaid(`Test of ${target}: ${sentenceOf(attempt)}.`);
      setError(null);
    } catch (problem) {
      setSaid(null);
      setError(problem);
    }
  };

  return (
    <Page
      title="Alerts"
      lead="Where matches are delivered to, and what became of them."
      actions={
        <button type="button" className="main" onClick={() => setEdited("new")}>
          New target
        </button>
      }
    >
      {error !== null && <Failure error={error} />}
      {said !== null && <Notice>{said}</Notice>}
      <Panel title="Targets">
        <Answer of={targets}>
          {({ targets: list }) =>
            list.length === 0 ? (
              <p className="muted">Nobody is alerted yet. Make a target: a webhook, or a file.</p>
            ) : (
              <div className="scroll" tabIndex={0}>
                <table>
                  <thead>
                    <tr>
                      <th>Target</th>
                      <th>Address</th>
                      <th>Patterns</th>
                      <th>Severity</th>
                      <th className="num">Delivered</th>
                      <th className="num">Dead</th>
                      <th className="num">Muted</th>
                      <th className="num">Summed up</th>
                      <th>Change</th>
                    </tr>
                  </thead>
                  <tbody>
                    {list.map((each) => (
                      <Row
                        key={each.name}
                        of={each}
                        onTest={() => void test(each.name)}
                        onDead={() => setOpened(opened === each.name ? null : each.name)}
                        onEdit={() => setEdited(each)}
                        onDelete={() => setDeleted(each)}
                      />
                    ))}
                  </tbody>
                </table>
              </div>
            )
          }
        </Answer>
      </Panel>
      {opened !== null && <DeadAlerts key={opened} target={opened} />}
      {edited !== null && <TargetForm of={edited === "new" ? null : edited} onClose={() => setEdited(null)} />}
      {deleted !== null && <Deletion of={deleted} onClose={() => setDeleted(null)} />}
    </Page>
  );
}

interface RowProps {
  of: Target;
  onTest: () => void;
  onDead: () => void;
  onEdit: () => void;
  onDelete: () => void;
}

function Row({ of, onTest, onDead, onEdit, onDelete }: RowProps) {
  return (
    <tr>
      <td>{of.name}</td>
      <td>
        {of.kind}: {of.address}
      </td>
      <td>{of.patterns}</td>
      <td>{of.severity === null ? "every" : <SeverityBadge of={of.severity} />}</td>
      <td className="num">{count(of.counts?.delivered ?? 0)}</td>
      <td className="num">
        <button type="button" onClick={onDead} aria-label={`Dead alerts of ${of.name}: ${of.counts?.dead ?? 0}`}>
          {count(of.counts?.dead ?? 0)}
        </button>
      </td>
      <td className="num">{count(of.counts?.muted ?? 0)}</td>
      <td className="num">{count(of.counts?.summed ?? 0)}</td>
      <td>
        <div className="row">
          <button type="button" onClick={onTest} aria-label={`Test ${of.name}`}>
            Test
          </button>
          <button type="button" onClick={onEdit} aria-label={`Edit ${of.name}`}>
            Edit
          </button>
          <button type="button" className="danger" onClick={onDelete} aria-label={`Delete ${of.name}`}>
            Delete
          </button>
        </div>
      </td>
    </tr>
  );
}

function Deletion({ of, onClose }: { of: Target; onClose: () => void }) {
  const queries = useQueryClient();
  const [error, setError] = useState<unknown>(null);
  const remove = async () => {
    try {
      await bodyOf(api.DELETE("/api/v1/targets/{target}", { params: { path: { target: of.name } } }));
      await queries.invalidateQueries({ queryKey: ["targets"] });
      onClose();
    } catch (problem) {
      setError(problem);
    }
  };
  return (
    <Dialog title={`Delete ${of.name}?`} onClose={onClose}>
      {error !== null && <Failure error={error} />}
      <p>It gets no alerts any more, also of matches that wait.</p>
      <div className="row">
        <button type="button" className="danger" onClick={() => void remove()}>
          Delete it
        </button>
        <button type="button" onClick={onClose}>
          Keep it
        </button>
      </div>
    </Dialog>
  );
}
