/** Navigation, and what must always be in sight: which environment, which store, what may be done. */
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { SessionAnswer } from "./contract.ts";
import type { ApiError } from "./api.ts";
import { words } from "./i18n/words.ts";
import { Brand, Icon, type IconName } from "./parts/icon.tsx";
import { Note } from "./parts/note.tsx";
import { Badge } from "./parts/state.tsx";
import { hashOf } from "./router.ts";
import { choices, choose, useSettings, type SettingName } from "./settings.ts";
import { duration } from "./time.ts";

type ScreenName = "ask" | "keys" | "unknown" | "live" | "outbox" | "inbox" | "storage" | "traffic" | "doctor" | "audit";

const icons: Readonly<Record<ScreenName, IconName>> = {
  ask: "ask",
  keys: "keys",
  unknown: "unknown",
  live: "live",
  outbox: "outbox",
  inbox: "inbox",
  storage: "storage",
  traffic: "traffic",
  doctor: "doctor",
  audit: "audit",
};

const groups = [
  ["records", ["ask", "keys", "unknown", "live"]],
  ["events", ["outbox", "inbox"]],
  ["system", ["storage", "traffic", "doctor", "audit"]],
] as const;

/** The server counts no further. */
const countedMax = 100;

function Count({ of }: { readonly of: number | undefined }): JSX.Element | null {
  if (of === undefined || of === 0) return null;
  return <span class="count">{of >= countedMax ? `${countedMax}+` : of}</span>;
}

interface LinkProps {
  readonly name: ScreenName;
  readonly screen: string;
  readonly session: SessionAnswer | undefined;
}

function ScreenLink({ name, screen, session }: LinkProps): JSX.Element {
  return (
    <a href={hashOf([name])} aria-current={name === screen ? "page" : undefined}>
      <Icon name={icons[name]} />
      {words().screens[name]}
      {name === "unknown" && <Count of={session?.unknown} />}
    </a>
  );
}

interface FrameProps {
  readonly screen: string;
  readonly session: SessionAnswer | undefined;
  readonly problem: ApiError | undefined;
  readonly help: () => void;
  readonly children: ComponentChildren;
}

function Side({ screen, session, isOpen }: Pick<FrameProps, "screen" | "session"> & { isOpen: boolean }): JSX.Element {
  const isThere = (name: ScreenName): boolean =>
    (name !== "outbox" && name !== "inbox") || session === undefined || session.parts[name];
  return (
    <nav class={`side${isOpen ? " open" : ""}`} aria-label={words().navigation} id="screens">
      <a class="brand" href={hashOf(["ask"])}>
        <Brand />
        <span>ichido</span>
      </a>
      <div class="nav">
        {groups.map(([group, names]) => {
          const there = names.filter(isThere);
          return there.length === 0 ? null : (
            <>
              <h3>{words().groups[group]}</h3>
              {there.map((name) => (
                <ScreenLink key={name} name={name} screen={screen} session={session} />
              ))}
            </>
          );
        })}
      </div>
      <div class="switches narrow">
        <Switch name="zone" />
        <Switch name="theme" />
        <Switch name="lang" />
      </div>
    </nav>
  );
}

function Switch({ name }: { readonly name: SettingName }): JSX.Element {
  const chosen = useSettings()[name];
  const names: Readonly<Record<string, string>> = words().settings[name];
  return (
    <select
      aria-label={words().settingNames[name]}
      value={chosen}
      onChange={(event) => choose(name, event.currentTarget.value)}
    >
      {choices[name].map((value) => (
        <option key={value} value={value}>
          {names[value]}
        </option>
      ))}
    </select>
  );
}

/** Above this, times of browser and store cannot be read beside each other. */
const skewMaxMs = 2_000;

function Top({ session, help }: Pick<FrameProps, "session" | "help">): JSX.Element {
  const isProduction = /^prod/i.test(session?.environment ?? "");
  const skewMs = session?.storeNow === undefined ? 0 : Math.abs(Date.parse(session.storeNow) - Date.parse(session.now));
  return (
    <header class="top">
      <a class="brand" href={hashOf(["ask"])} aria-label="ichido">
        <Brand />
      </a>
      {session?.environment !== undefined && <Badge tone={isProduction ? "bad" : "quiet"}>{session.environment}</Badge>}
      {session?.readOnly === true && <Badge tone="run">{words().readOnly}</Badge>}
      {session !== undefined && (
        <span class={`state small ${session.store.ok ? "tone-ok" : "tone-bad"}`} title={session.store.promise}>
          <svg viewBox="0 0 12 12" aria-hidden="true">
            <circle cx="6" cy="6" r="4" fill="currentColor" />
          </svg>
          <span class="muted">
            {session.store.name} {session.store.ok ? duration(session.store.tookMs) : words().storeDown}
          </span>
        </span>
      )}
      {skewMs > skewMaxMs && <Badge tone="warn">{words().clocksApart(duration(skewMs))}</Badge>}
      <div class="switches wide">
        <span class="muted small">{session?.user}</span>
        <Switch name="zone" />
        <Switch name="theme" />
        <Switch name="lang" />
        <button type="button" class="button bare" aria-label={words().keyboard.title} onClick={help}>
          <span class="kbd">?</span>
        </button>
      </div>
    </header>
  );
}

const tabNames = ["ask", "unknown", "keys", "live"] as const;

export function Frame({ screen, session, problem, help, children }: FrameProps): JSX.Element {
  const [isMenuOpen, setIsMenuOpen] = useState(false);
  useEffect(() => setIsMenuOpen(false), [screen]);
  return (
    <div class="frame">
      <a
        class="skip"
        href="#main"
        onClick={(event) => {
          // The hash is the router's own.
          event.preventDefault();
          document.querySelector<HTMLElement>("#main")?.focus();
        }}
      >
        {words().skip}
      </a>
      <Side screen={screen} session={session} isOpen={isMenuOpen} />
      <Top session={session} help={help} />
      <main id="main" class="main" tabIndex={-1}>
        <div class="stack">
          {session !== undefined && problem !== undefined && (
            <Note tone="bad" icon="warning" title={words().failures[problem.kind].title} isAlert>
              <p>{words().failures[problem.kind].advice}</p>
            </Note>
          )}
          {session?.store.ok === false && (
            <Note tone="bad" icon="warning" title={words().failures.store.title} isAlert>
              <p>{words().failures.store.advice}</p>
              <p class="muted break">{session.store.problem}</p>
            </Note>
          )}
          {children}
        </div>
      </main>
      <nav class="tabs" aria-label={words().navigation}>
        {tabNames.map((name) => (
          <ScreenLink key={name} name={name} screen={screen} session={session} />
        ))}
        <button
          type="button"
          aria-expanded={isMenuOpen}
          aria-controls="screens"
          onClick={() => setIsMenuOpen((isOpen) => !isOpen)}
        >
          <Icon name="menu" />
          {words().more}
        </button>
      </nav>
    </div>
  );
}
