/** What this room needs from React. The application passes its own copy, and none is imported here. */
export interface ReactLike {
  useState<State>(this: void, initial: () => State): [State, (next: State) => void];
  useRef<Value>(this: void, initial: Value): { current: Value };
  useCallback<Fn extends (...args: never[]) => unknown>(this: void, fn: Fn, deps: unknown[]): Fn;
  useEffect(this: void, effect: () => (() => void) | undefined, deps: unknown[]): void;
  createElement(this: void, type: string, props: Record<string, unknown>): unknown;
}
