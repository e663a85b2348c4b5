/** What belongs to the reader and not to the case: language, theme, zone. Kept in this browser; an address may say otherwise. */
import { useEffect, useState } from "preact/hooks";
import { placeOf } from "./router.ts";

export const choices = {
  lang: ["en", "ja"],
  theme: ["system", "light", "dark"],
  zone: ["local", "utc"],
} as const;

export type SettingName = keyof typeof choices;
export type Setting<Name extends SettingName> = (typeof choices)[Name][number];

function isChoice<Name extends SettingName>(name: Name, value: string | null | undefined): value is Setting<Name> {
  return choices[name].some((choice) => choice === value);
}

/** Private windows may refuse the store; the page works without it. */
function stored(name: SettingName): string | null {
  try {
    return localStorage.getItem(`ichido.${name}`);
  } catch {
    return null;
  }
}

function usual<Name extends SettingName>(name: Name): Setting<Name> {
  const isJapanese = name === "lang" && navigator.language.startsWith("ja");
  return choices[name][isJapanese ? 1 : 0] as Setting<Name>;
}

function first<Name extends SettingName>(name: Name): Setting<Name> {
  const told = placeOf(location.hash).query[name] ?? new URLSearchParams(location.search).get(name);
  if (isChoice(name, told)) return told;
  const kept = stored(name);
  return isChoice(name, kept) ? kept : usual(name);
}

const chosen = { lang: first("lang"), theme: first("theme"), zone: first("zone") };
const watchers = new Set<() => void>();

export function setting<Name extends SettingName>(name: Name): Setting<Name> {
  return chosen[name] as Setting<Name>;
}

function show(): void {
  const root = document.documentElement;
  root.lang = chosen.lang;
  if (chosen.theme === "system") delete root.dataset["theme"];
  else root.dataset["theme"] = chosen.theme;
}

show();

export function choose<Name extends SettingName>(name: Name, value: string): void {
  if (!isChoice(name, value)) return;
  (chosen as Record<SettingName, string>)[name] = value;
  try {
    localStorage.setItem(`ichido.${name}`, value);
  } catch {
    // It holds for this page then.
  }
  show();
  for (const watcher of watchers) watcher();
}

export function useSettings(): typeof chosen {
  const [, setTurn] = useState(0);
  useEffect(() => {
    const watcher = (): void => setTurn((turn) => turn + 1);
    watchers.add(watcher);
    return () => void watchers.delete(watcher);
  }, []);
  return chosen;
}
