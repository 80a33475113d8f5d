/** Numbers, times and values as people read them. */

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const short = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });
const fine = new Intl.NumberFormat("en", { maximumSignificantDigits: 3 });

export function count(value: number | null | undefined): string {
  if (value == null) return "–";
  return Math.abs(value) < 100_000 ? whole.format(value) : short.format(value);
}

export function decimal(value: number | null | undefined): string {
  if (value == null || !Number.isFinite(value)) return "–";
  return value !== 0 && Math.abs(value) < 1e-3 ? value.toExponential(1) : Math.abs(value) >= 100_000 ? short.format(value) : fine.format(value);
}

export function bytes(value: number | null | undefined): string {
  if (value == null) return "–";
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let size = value;
  let unit = 0;
  while (size >= 1024 && unit < units.length - 1) {
    size /= 1024;
    unit++;
  }
  return `${fine.format(size)} ${units[unit]}`;
}

export type Unit = "s" | "ms" | "us" | "ns";

const TICKS: Record<Unit, number> = { s: 1, ms: 1e3, us: 1e6, ns: 1e9 };

/** Ticks of the deployment in a second. */
let perSecond = TICKS.ms;

export function setUnit(unit: Unit): void {
  perSecond = TICKS[unit];
}

/** Return the ticks of an instant of the browser's clock. */
export function ticksOf(date: Date): number {
  return Math.round((date.getTime() / 1000) * perSecond);
}

export function dateOf(ticks: number): Date {
  return new Date((ticks / perSecond) * 1000);
}

/** Return a time of a stream; one that cannot be of our days stays a number. */
export function time(ticks: number | null | undefined): string {
  if (ticks == null) return "–";
  const date = dateOf(ticks);
  const year = date.getUTCFullYear();
  if (Number.isNaN(year) || year < 1971 || year > 2200) return String(ticks);
  return date.toISOString().replace("T", " ").replace("Z", "");
}

export function span(ticks: number): string {
  return seconds(ticks / perSecond);
}

export function seconds(value: number | null | undefined): string {
  if (value == null || !Number.isFinite(value)) return "–";
  if (value < 1) return `${fine.format(value * 1000)} ms`;
  if (value < 120) return `${fine.format(value)} s`;
  if (value < 7200) return `${fine.format(value / 60)} min`;
  if (value < 172_800) return `${fine.format(value / 3600)} h`;
  return `${fine.format(value / 86_400)} d`;
}

/** Return an instant of the log as local time. */
export function moment(text: string | null | undefined): string {
  if (!text) return "–";
  const date = new Date(text);
  return Number.isNaN(date.getTime()) ? text : date.toLocaleString("sv");
}

export function value(given: unknown): string {
  if (given === null || given === undefined) return "–";
  return typeof given === "string" ? given : JSON.stringify(given);
}
