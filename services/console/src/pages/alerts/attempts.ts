/** What became of an attempt to deliver, as a sentence. */

interface Attempt {
  outcome: string;
  reason: string | null;
}

const SENTENCES: Record<string, string> = {
  delivered: "it was delivered",
  failed: "it failed, and may pass later",
  refused: "it was refused for good",
  unanswered: "the service that delivers did not answer in time",
};

export function sentenceOf({ outcome, reason }: Attempt): string {
  const sentence = SENTENCES[outcome] ?? outcome;
  return reason === null ? sentence : `${sentence}: ${reason}`;
}
