/** Errors of the API: problem documents of RFC 9457. */

export interface Problem {
  status: number;
  code: string;
  title: string;
  detail: string;
  line?: number | null;
  column?: number | null;
  source_line?: string | null;
  expected?: string[];
  hint?: string | null;
}

/** An answer that is an error, or no answer. */
export class ProblemError extends Error {
  readonly problem: Problem;
  /** Seconds after which the service wants to be asked again, if it says so. */
  readonly retryAfter: number | null;

  constructor(problem: Problem, retryAfter: number | null = null) {
    super(problem.detail || problem.title);
    this.problem = problem;
    this.retryAfter = retryAfter;
  }
}

/** Return the problem that an answer holds; an answer without a document gets one from its status. */
export function problemOf(body: unknown, response: Response): ProblemError {
  const given: Partial<Problem> = typeof body === "object" && body !== null ? body : {};
  const problem = {
    ...given,
    status: response.status,
    code: given.code ?? "http-error",
    title: given.title ?? response.statusText,
    detail: given.detail ?? `the service answered ${response.status}`,
  };
  const retry = Number(response.headers.get("Retry-After"));
  return new ProblemError(problem, Number.isFinite(retry) && retry > 0 ? retry : null);
}

/** Return what went wrong in one sentence. */
export function sentenceOf(error: unknown): string {
  if (error instanceof TypeError) return "The service does not answer.";
  if (error instanceof Error) return error.message;
  return String(error);
}
