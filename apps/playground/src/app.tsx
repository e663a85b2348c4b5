/** The page: navigation, the screen that the address names, and the rules that hold for all of them. */
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Announcer } from "../../console/src/parts/copy.tsx";
import { Brand, Icon, Shape, type IconName } from "../../console/src/parts/icon.tsx";
import { change, hashOf, usePlace, type Place } from "../../console/src/router.ts";
import { choices, choose, useSettings } from "../../console/src/settings.ts";
import type { StateView } from "../../shop/src/playground/contract.ts";
import { api } from "./api.ts";
import { words } from "./i18n/words.ts";
import { Drill } from "./screens/drill.tsx";
import { Events } from "./screens/events.tsx";
import { Faults } from "./screens/faults.tsx";
import { Limits } from "./screens/limits.tsx";
import { Pay } from "./screens/pay.tsx";
import { SecondTab } from "./screens/second-tab.tsx";
import { Storage } from "./screens/storage.tsx";
import { Storm } from "./screens/storm.tsx";
import { TakeHome } from "./screens/take-home.tsx";

const screens = {
  pay: Pay,
  faults: Faults,
  events: Events,
  storm: Storm,
  storage: Storage,
  drill: Drill,
  limits: Limits,
  home: TakeHome,
} as const;
type ScreenName = keyof typeof screens;
const names = Object.keys(screens) as ScreenName[];

const icons: Readonly<Record<ScreenName, IconName>> = {
  pay: "done",
  faults: "warning",
  events: "outbox",
  storm: "traffic",
  storage: "storage",
  drill: "doctor",
  limits: "page",
  home: "audit",
};

function Switch({ name }: { readonly name: "theme" | "lang" }): JSX.Element {
  const chosen = useSettings()[name];
  const shown: Readonly<Record<string, string>> = words().settings[name];
  return (
    <select
      aria-label={words().settingNames[name]}
      value={chosen}
      onChange={(event) => choose(name, event.currentTarget.value)}
    >
      {choices[name].map((value) => (
        <option key={value} value={value}>
          {shown[value]}
        </option>
      ))}
    </select>
  );
}

function Links({ screen, of = names }: { readonly screen: string; readonly of?: readonly ScreenName[] }): JSX.Element {
  return (
    <>
      {of.map((name) => (
        <a key={name} href={hashOf([name])} aria-current={name === screen ? "page" : undefined}>
          <Icon name={icons[name]} />
          {words().screens[name]}
        </a>
      ))}
    </>
  );
}

function Processes({ state }: { readonly state: StateView | undefined }): JSX.Element {
  if (state?.started !== true) return <p class="muted small">{words().starting}</p>;
  return (
    <ul class="processes small muted">
      {state.processes.map(({ name, pid, isUp }) => (
        <li key={name} data-process={name} data-up={isUp}>
          <span class={isUp ? "tone-ok" : "tone-bad"}>
            <Shape name={isUp ? "full" : "cross"} />
          </span>
          {name} <span class="mono">{pid}</span>
          {!isUp && <span class="tone-bad">{words().isDown}</span>}
        </li>
      ))}
    </ul>
  );
}

const STATE_EVERY_MS = 1_000;

function usePlayground(): readonly [StateView | undefined, () => Promise<void>] {
  const [state, setState] = useState<StateView>();
  const again = async (): Promise<void> => {
    const next = await api.state().catch(() => undefined);
    if (next !== undefined) setState(next);
  };
  // Processes die and come back without this page's doing.
  useEffect(() => {
    void again();
    const timer = setInterval(() => document.visibilityState === "visible" && void again(), STATE_EVERY_MS);
    return () => clearInterval(timer);
  }, []);
  return [state, again];
}

function Footer(): JSX.Element {
  return (
    <footer class="rules small muted">
      <ul>
        {words().rules.map((rule) => (
          <li key={rule}>{rule}</li>
        ))}
      </ul>
      <p>
        <a href="/plain">{words().plain}</a> · <a href="/console/">{words().shopConsole}</a>
      </p>
    </footer>
  );
}

/** On a phone; the others are behind a button. */
const tabNames: readonly ScreenName[] = ["pay", "faults", "storm", "limits"];

function Framed({ place }: { readonly place: Place }): JSX.Element {
  const [state, again] = usePlayground();
  const screen = place.path[0] ?? "pay";
  const [isMenuOpen, setIsMenuOpen] = useState(false);
  const Shown = screens[screen as ScreenName] ?? Pay;
  useEffect(() => {
    if (place.path.length === 0) change(["pay"], place.query);
  }, [place.path.length]);
  useEffect(() => {
    document.title = `${words().screens[screen as ScreenName] ?? ""} · ichido`;
    scrollTo(0, 0);
    setIsMenuOpen(false);
  }, [screen]);
  return (
    <div class="frame">
      <a
        class="skip"
        href="#main"
        onClick={(event) => {
          event.preventDefault();
          document.querySelector<HTMLElement>("#main")?.focus();
        }}
      >
        {words().skip}
      </a>
      <nav class={`side${isMenuOpen ? " open" : ""}`} aria-label={words().navigation} id="screens">
        <a class="brand" href={hashOf(["pay"])}>
          <Brand />
          <span>ichido</span>
        </a>
        <div class="nav">
          <Links screen={screen} />
        </div>
        <h3>{words().processes}</h3>
        <Processes state={state} />
      </nav>
      <header class="top">
        <a class="brand" href={hashOf(["pay"])} aria-label="ichido">
          <Brand />
        </a>
        <div class="switches">
          <Switch name="theme" />
          <Switch name="lang" />
        </div>
      </header>
      <main id="main" class="main" tabIndex={-1}>
        <div class="stack">
          <Shown state={state} again={again} />
          <Footer />
        </div>
      </main>
      <nav class="tabs" aria-label={words().navigation}>
        <Links screen={screen} of={tabNames} />
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

export function App(): JSX.Element {
  // Everything below is written anew when the language or the theme changes.
  useSettings();
  const place = usePlace();
  return (
    <>
      {place.path[0] === "tab" ? <SecondTab run={place.query["run"] ?? ""} /> : <Framed place={place} />}
      <Announcer />
    </>
  );
}
