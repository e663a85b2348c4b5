/** Reading settings from the environment: every fault is collected, so that one start names them all. */

export type Variables = Readonly<Record<string, string | undefined>>;

export interface IntegerSetting {
  readonly fallback: number;
  readonly min: number;
  readonly max: number;
}

export class ConfigError extends Error {
  override readonly name = "ConfigError";
  readonly faults: readonly string[];

  constructor(faults: readonly string[]) {
    super(faults.join("\n"));
    this.faults = faults;
  }
}

export class SettingsReader {
  readonly #variables: Variables;
  readonly #faults: string[] = [];

  constructor(variables: Variables) {
    this.#variables = variables;
  }

  /** An empty variable counts as absent: that is what `NAME= npm start` means to most people. */
  text(name: string): string | undefined {
    const value = this.#variables[name];
    return value === undefined || value === "" ? undefined : value;
  }

  integer(name: string, { fallback, min, max }: IntegerSetting): number {
    const text = this.text(name);
    if (text === undefined) return fallback;
    const value = Number(text);
    if (/^\d+$/.test(text) && value >= min && value <= max) return value;
    this.refuse(name, `an integer from ${min} to ${max}`, text);
    return fallback;
  }

  /** The first is the default. */
  oneOf<const Word extends string>(name: string, words: readonly [Word, ...Word[]]): Word {
    const text = this.text(name);
    if (text === undefined) return words[0];
    const found = words.find((word) => word === text);
    if (found === undefined) this.refuse(name, words.join(" or "), text);
    return found ?? words[0];
  }

  httpUrl(name: string): string | undefined {
    const text = this.text(name);
    if (text === undefined) return undefined;
    const url = URL.canParse(text) ? new URL(text) : undefined;
    if (url?.protocol === "http:" || url?.protocol === "https:") return url.href.replace(/\/+$/, "");
    this.refuse(name, "an http:// or https:// URL", text);
    return undefined;
  }

  /** `path`: what must follow the host. Of a wrong value only the scheme is shown: the rest may hold a password. */
  serverUrl(name: string, schemes: readonly string[], path = ""): string | undefined {
    const text = this.text(name);
    if (text === undefined) return undefined;
    const url = URL.canParse(text) ? new URL(text) : undefined;
    const complete = url !== undefined && (path === "" || url.pathname.length > 1);
    if (complete && schemes.includes(url.protocol)) return text;
    const scheme = /^[a-z][a-z0-9+.-]*:\/\//i.exec(text)?.[0];
    const expected = schemes.map((each) => `${each}//host${path}`).join(" or ");
    this.refuse(name, expected, scheme === undefined ? "(not a URL)" : `${scheme}…`);
    return undefined;
  }

  refuse(name: string, expected: string, value: string): void {
    const shown = value.length > 80 ? `${value.slice(0, 80)}…` : value;
    this.#faults.push(`${name}: expected ${expected}, got ${JSON.stringify(shown)}`);
  }

  /** Last: throws when anything was refused. */
  finish(): void {
    if (this.#faults.length > 0) throw new ConfigError(this.#faults);
  }
}
