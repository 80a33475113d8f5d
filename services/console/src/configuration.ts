/** What the service says of itself to the console, before anybody logs in. */

import { setUnit, type Unit } from "./format";

export interface Configuration {
  version: string;
  unit: Unit;
  /** Whether callers must show who they are. */
  asks_for_login: boolean;
  /** Where people log in, if there is an OpenID Connect provider. */
  oidc: { issuer: string; client_id: string; scope: string } | null;
}

export async function loadConfiguration(): Promise<Configuration> {
  const response = await fetch("/console/config.json");
  const configuration = (await response.json()) as Configuration;
  setUnit(configuration.unit);
  return configuration;
}
