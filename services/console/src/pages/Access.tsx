/** Who you are, and what you may do. */

import { useQuery } from "@tanstack/react-query";

import { api, bodyOf } from "../api/client";
import { Answer, Facts, Notice, Page, Panel } from "../components/basics";
import type { Configuration } from "../configuration";

export default function Access({ configuration }: { configuration: Configuration }) {
  const me = useQuery({ queryKey: ["me"], queryFn: () => bodyOf(api.GET("/api/v1/me")), retry: false });
  return (
    <Page title="Access" lead="Who you are to this deployment, and what you may do.">
      {!configuration.asks_for_login && <Notice tone="warn">This deployment lets everyone do everything. It is for development alone.</Notice>}
      <Panel title="You">
        <Answer of={me}>
          {(data) => (
            <Facts
              of={[
                ["Name", data.name],
                ["Rights", data.scopes.join(", ") || "none"],
              ]}
            />
          )}
        </Answer>
      </Panel>
      <Panel title="Keys">
        <p>
          A key is made on the command line. It is shown once, and the service keeps its hash:
        </p>
        <pre>{`graphtide-admin-api new-key ann patterns:read matches:read
graphtide-admin-api new-key analyst patterns:read patterns:write matches:read matches:write`}</pre>
        <p className="muted">{configuration.oidc === null ? "No identity provider is set." : `People log in at ${configuration.oidc.issuer}.`}</p>
      </Panel>
    </Page>
  );
}
