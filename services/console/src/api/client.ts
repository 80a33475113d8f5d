/** The typed client of the API; `schema.d.ts` is made from the API's own description. */

import createClient, { type Middleware } from "openapi-fetch";

import { problemOf } from "./problems";
import type { components, paths } from "./schema";
import { credential, headersOf } from "./session";

export type Schemas = components["schemas"];

const identify: Middleware = {
  onRequest({ request }) {
    for (const [name, value] of Object.entries(headersOf(credential()))) request.headers.set(name, value);
    return request;
  },
};

export const api = createClient<paths>({ baseUrl: window.location.origin });
api.use(identify);

interface Answer<T> {
  data?: T;
  error?: unknown;
  response: Response;
}

/** Return the body of an answer.
 *
 * @throws ProblemError: the answer is an error.
 */
export async function bodyOf<T>(asked: Promise<Answer<T>>): Promise<T> {
  const { data, error, response } = await asked;
  if (!response.ok) throw problemOf(error, response);
  return data as T;
}

/** Ask a route by its address alone, for bodies that the description leaves open. */
export async function ask<T>(path: string, init: RequestInit = {}): Promise<T> {
  const headers = { ...headersOf(credential()), ...(init.headers as Record<string, string> | undefined) };
  const response = await fetch(path, { ...init, headers });
  const text = await response.text();
  const body: unknown = response.headers.get("content-type")?.includes("json") && text ? JSON.parse(text) : text;
  if (!response.ok) throw problemOf(body, response);
  return body as T;
}
