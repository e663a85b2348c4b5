/** The page: who looks, where they are, and the frame around it. */
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { api } from "./api.ts";
import { Frame } from "./frame.tsx";
import { Keyboard } from "./help.tsx";
import { words } from "./i18n/words.ts";
import { onKeys } from "./keyboard.ts";
import { useLoad } from "./load.ts";
import { Boundary } from "./parts/boundary.tsx";
import { Announcer, copyText } from "./parts/copy.tsx";
import { Empty, Failure, Loading } from "./parts/note.tsx";
import { change, go, hashOf, usePlace, type Place } from "./router.ts";
import { Ask } from "./screens/ask.tsx";
import { Audit } from "./screens/audit.tsx";
import { Doctor } from "./screens/doctor.tsx";
import { Inbox } from "./screens/inbox.tsx";
import { Key } from "./screens/key.tsx";
import { Keys } from "./screens/keys.tsx";
import { Letter } from "./screens/letter.tsx";
import { Live } from "./screens/live.tsx";
import { Outbox } from "./screens/outbox.tsx";
import { Storage } from "./screens/storage.tsx";
import { Traffic } from "./screens/traffic.tsx";
import { Unknown } from "./screens/unknown.tsx";
import { Session } from "./session.ts";
import { useSettings } from "./settings.ts";
import { linkToShare } from "./share.ts";

const sessionEveryMs = 30_000;

function Screen({ place }: { readonly place: Place }): JSX.Element {
  const [screen = "ask", name] = place.path;
  switch (screen) {
    case "ask":
      return <Ask place={place} />;
    case "keys":
      return name === undefined ? <Keys place={place} /> : <Key key={name} handle={name} />;
    case "live":
      return <Live place={place} />;
    case "unknown":
      return <Unknown />;
    case "outbox":
      return name === undefined ? <Outbox place={place} /> : <Letter key={name} side="outbox" name={name} />;
    case "inbox":
      return name === undefined ? <Inbox place={place} /> : <Letter key={name} side="inbox" name={name} />;
    case "storage":
      return <Storage />;
    case "traffic":
      return <Traffic />;
    case "doctor":
      return <Doctor />;
    case "audit":
      return <Audit place={place} />;
    default:
      return (
        <Empty title={words().noScreen}>
          <a href={hashOf(["ask"])}>{words().screens.ask}</a>
        </Empty>
      );
  }
}

/** `/` asks from wherever one is; a second time it goes back into the field. */
function toAsk(): void {
  const field = document.querySelector<HTMLInputElement>("#ask");
  if (field === null) go(["ask"]);
  else {
    field.focus();
    field.select();
  }
}

export const goKeys = {
  a: "ask",
  k: "keys",
  l: "live",
  u: "unknown",
  o: "outbox",
  i: "inbox",
  s: "storage",
  t: "traffic",
  d: "doctor",
  h: "audit",
} as const;

function useGlobalKeys(help: () => void): void {
  useEffect(
    () =>
      onKeys({
        "/": toAsk,
        "?": help,
        y: () => void copyText(linkToShare()),
        ...Object.fromEntries(Object.entries(goKeys).map(([letter, screen]) => [`g ${letter}`, () => go([screen])])),
      }),
    [],
  );
}

/** A new screen begins at its top, with the focus on it: the next Tab is inside. */
function useArrival(screen: string): void {
  const before = useRef(screen);
  useEffect(() => {
    if (before.current === screen) return;
    before.current = screen;
    scrollTo(0, 0);
    const active = document.activeElement;
    if (active === null || active === document.body || !(active.closest("#main") !== null))
      document.querySelector<HTMLElement>("#main")?.focus({ preventScroll: true });
  }, [screen]);
}

export function App(): JSX.Element {
  // Everything below is written anew when the language, the theme or the zone changes.
  useSettings();
  const place = usePlace();
  const session = useLoad("session", (signal) => api.session(signal), sessionEveryMs);
  const [isHelpOpen, setIsHelpOpen] = useState(false);
  const screen = place.path[0] ?? "ask";
  useGlobalKeys(() => setIsHelpOpen(true));
  useArrival(place.path.join("/"));
  useEffect(() => {
    if (place.path.length === 0) change(["ask"], place.query);
  }, [place.path.length]);
  const names: Readonly<Record<string, string>> = words().screens;
  useEffect(() => {
    document.title = `${names[screen] ?? ""} · ichido`;
  });
  const { value, error, again } = session;
  return (
    <Session.Provider value={value}>
      <Frame screen={screen} session={value} problem={error} help={() => setIsHelpOpen(true)}>
        {value !== undefined ? (
          <Boundary key={place.path.join("/")}>
            <Screen place={place} />
          </Boundary>
        ) : error !== undefined ? (
          <Failure error={error} again={again} />
        ) : (
          <Loading />
        )}
      </Frame>
      {isHelpOpen && <Keyboard close={() => setIsHelpOpen(false)} />}
      <Announcer />
    </Session.Provider>
  );
}
