/** A target of alerts, to make or to change. */

import { useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";

import { api, bodyOf, type Schemas } from "../../api/client";
import { Dialog, Failure } from "../../components/basics";
import { type Severity, SeverityChoice } from "../../components/severity";
import type { Target } from "../Alerts";

type Kind = Schemas["TargetIn"]["kind"];

const KINDS: Record<Kind, { title: string; address: string }> = {
  webhook: { title: "Webhook", address: "URL, as https://hooks.example.com/graphtide" },
  slack: { title: "Slack", address: "Beginning of the URL, as https://hooks.slack.com/services" },
  teams: { title: "Teams", address: "Beginning of the URL of the incoming webhook" },
  email: { title: "E-mail", address: "URL, as smtp://mail.example.com:587?from=graphtide@example.com&to=on-call@example.com" },
  elasticsearch: { title: "Elasticsearch or OpenSearch", address: "URL of an index, as https://search.example.com/alerts" },
  file: { title: "File", address: "Name of a file in the folder of the service" },
};

/** Return the text of a field; null where it is empty. */
function textOf(form: FormData, name: string): string | null {
  const text = String(form.get(name) ?? "").trim();
  return text === "" ? null : text;
}

export function TargetForm({ of, onClose }: { of: Target | null; onClose: () => void }) {
  const queries = useQueryClient();
  const [kind, setKind] = useState<Kind>(of?.kind ?? "webhook");
  const [severity, setSeverity] = useState<Severity | "">(of?.severity ?? "");
  const [error, setError] = useState<unknown>(null);

  const save = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const rate = textOf(form, "rate");
    const body = {
      kind,
      address: textOf(form, "address") ?? "",
      patterns: textOf(form, "patterns") ?? "*",
      severity: severity === "" ? null : severity,
      template: textOf(form, "template"),
      rate: rate === null ? null : Number(rate),
      secret: textOf(form, "secret"),
      retractions: form.get("retractions") !== null,
    };
    try {
      const target = of?.name ?? textOf(form, "name") ?? "";
      await bodyOf(api.PUT("/api/v1/targets/{target}", { params: { path: { target } }, body }));
      await queries.invalidateQueries({ queryKey: ["targets"] });
      onClose();
    } catch (problem) {
      setError(problem);
    }
  };

  return (
    <Dialog title={of === null ? "New target" : `Target ${of.name}`} onClose={onClose}>
      {error !== null && <Failure error={error} />}
      <form className="stack" onSubmit={(event) => void save(event)}>
        {of === null && (
          <label className="field">
            Name
            <input name="name" required pattern="[a-z0-9][a-z0-9_\-]{0,62}" placeholder="on-call" />
          </label>
        )}
        <label className="field">
          Kind
          <select value={kind} onChange={(event) => setKind(event.target.value as Kind)}>
            {Object.entries(KINDS).map(([each, { title }]) => (
              <option key={each} value={each}>
                {title}
              </option>
            ))}
          </select>
        </label>
        <label className="field">
          {KINDS[kind].address}
          <input name="address" required defaultValue={of?.address ?? ""} />
        </label>
        <label className="field">
          Patterns: * is any text
          <input name="patterns" defaultValue={of?.patterns ?? "*"} />
        </label>
        <label className="field">
          Least severity
          <SeverityChoice label="Least severity" value={severity} onChoose={setSeverity} />
        </label>
        <label className="field">
          Message, in place of the pattern's
          <input name="template" defaultValue={of?.template ?? ""} placeholder="{pattern}: {message}" />
        </label>
        <label className="field">
          Messages a minute at most
          <input name="rate" type="number" min="1" max="1000000" defaultValue={of?.rate ?? ""} />
        </label>
        <label className="field">
          Name of the file of its secret
          <input name="secret" defaultValue={of?.secret ?? ""} />
        </label>
        <label className="row">
          <input type="checkbox" name="retractions" defaultChecked={of?.retractions ?? false} />
          retractions, too
        </label>
        <div className="row">
          <button type="submit" className="main">
            Save
          </button>
          <button type="button" onClick={onClose}>
            Not now
          </button>
        </div>
      </form>
    </Dialog>
  );
}
