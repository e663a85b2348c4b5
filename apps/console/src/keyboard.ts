/** The keyboard alone suffices. Keys act where nothing is being typed; the newest listener is asked first. */
export type KeyAction = () => void | boolean;
export type KeyMap = Readonly<Record<string, KeyAction>>;

const maps: KeyMap[] = [];

/** Until the result is called. An action that answers false has not acted. */
export function onKeys(map: KeyMap): () => void {
  maps.push(map);
  return () => void maps.splice(maps.indexOf(map), 1);
}

function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  return target.isContentEditable || ["INPUT", "TEXTAREA", "SELECT"].includes(target.tagName);
}

/** Enter on a link or a button is the browser's own. */
function isPressed(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && ["A", "BUTTON", "SUMMARY"].includes(target.tagName);
}

const prefixMs = 1_200;
let prefixedMs = Number.NEGATIVE_INFINITY;

function nameOf({ key, timeStamp }: KeyboardEvent): string {
  const isPrefixed = timeStamp - prefixedMs <= prefixMs;
  prefixedMs = key === "g" && !isPrefixed ? timeStamp : Number.NEGATIVE_INFINITY;
  return isPrefixed ? `g ${key}` : key;
}

export function listenToKeys(): void {
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    if (isTyping(event.target) || document.querySelector("dialog[open]") !== null) return;
    if (event.key === "Enter" && isPressed(event.target)) return;
    const name = nameOf(event);
    for (const map of maps.toReversed()) {
      const action = map[name];
      if (action === undefined || action() === false) continue;
      event.preventDefault();
      return;
    }
  });
}
