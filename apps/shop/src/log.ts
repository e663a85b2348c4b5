/**
 * What the shop says on standard error: what a person must see as lines, or, with `SHOP_LOG=json`, everything as JSON
 * objects. Neither ever holds a key or what a caller sent: of errors in ichido's events only the type is written.
 */
import type { Logger } from "ichido";

export type LogForm = "lines" | "json";

export interface ShopLog {
  /** For the shop's own news. */
  readonly line: (text: string) => void;
  /** For the parts of ichido. */
  readonly logger: Logger;
}

type Fields = Parameters<Logger["info"]>[0];

const word = (value: unknown): string => (typeof value === "string" ? value : "");

/** `payment.create (executed), outcome open: http://…/#/keys/…` */
function openOutcome({ operation, outcome, reason, console: link }: Fields): string {
  return `${word(operation)} (${word(outcome ?? reason)}), outcome open: ${word(link)}`;
}

/**
 * Of ichido's events the warnings, and what leaves an outcome open, with the link to its record: what else matters to a
 * reader, the shop says in its own words.
 */
function lines(line: ShopLog["line"]): Logger {
  const write: Logger["info"] = (fields, message) => {
    const { event, errorType, console: link } = fields;
    if (link !== undefined) line(openOutcome(fields));
    else if (event === "warning") line(typeof errorType === "string" ? `${message} (${errorType})` : message);
  };
  return { debug: () => undefined, info: write, warn: write, error: write };
}

function objects(): Logger {
  const at =
    (level: string): Logger["info"] =>
    (fields, message) =>
      console.error(JSON.stringify({ level, time: new Date().toISOString(), ...fields, message }));
  return { debug: () => undefined, info: at("info"), warn: at("warn"), error: at("error") };
}

export function openLog(form: LogForm): ShopLog {
  if (form === "lines") {
    const line = (text: string): void => console.error(`shop: ${text}`);
    return { line, logger: lines(line) };
  }
  const logger = objects();
  return { line: (text) => void logger.warn({ part: "shop" }, text), logger };
}
