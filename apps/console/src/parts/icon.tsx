/** Small pictures, each with a shape of its own: nothing is told by colour alone. Always beside a word, or named by a label. */
import type { JSX } from "preact";

const lines = {
  ask: "M7 2.5a4.500 4.500 0 1 0 0 9 4.500 4.500 0 0 0 0-9zM10.300 10.300 14 14",
  keys: "M5.500 6.500a3 3 0 1 0 0 6 3 3 0 0 0 0-6zM7.700 7.300 13.500 1.700M11 4.200l2 2",
  live: "M1.500 8h3l2-5 3 10 2-5h3",
  unknown: "M5.500 6a2.500 2.500 0 1 1 3.600 2.200c-.8.400-1.100 1-1.100 1.800M8 12.800v.2",
  menu: "M2.500 4.500h11M2.500 8h11M2.500 11.500h11",
  outbox: "M2 9v4h12V9M8 10V2M5 5l3-3 3 3",
  inbox: "M2 9v4h12V9M8 2v8M5 7l3 3 3-3",
  storage:
    "M2.500 4c0-1.100 2.500-2 5.500-2s5.500.900 5.500 2-2.500 2-5.500 2-5.500-.900-5.500-2zM2.500 4v8c0 1.100 2.500 2 5.500 2s5.500-.900 5.500-2V4M2.500 8c0 1.100 2.500 2 5.500 2s5.500-.900 5.500-2",
  traffic: "M2 14V9M6 14V5M10 14V7M14 14V2",
  doctor: "M8 2v12M2 8h12",
  audit: "M3 2h10v12H3zM5.500 5.500h5M5.500 8h5M5.500 10.500h3",
  copy: "M5.500 5.500h8v8h-8zM10.500 5.500v-3h-8v8h3",
  done: "M3 8.500 6.500 12 13 4.500",
  close: "M3.500 3.500l9 9M12.500 3.500l-9 9",
  warning: "M8 2 1.500 13.500h13zM8 6.500v3.200M8 11.500v.2",
  page: "M8 1.500 14.500 8 8 14.500 1.500 8zM8 5v3.500M8 10.700v.2",
  info: "M8 1.800a6.200 6.200 0 1 0 0 12.400A6.200 6.200 0 0 0 8 1.800zM8 7.200V11M8 5v.2",
  link: "M6.500 9.500l3-3M7 4.500l1.500-1.500a3 3 0 0 1 4.500 4.500L11.500 9M9 11.500 7.500 13A3 3 0 0 1 3 8.500L4.500 7",
  next: "M6 3l5 5-5 5",
  back: "M10 3 5 8l5 5",
  pause: "M5.500 3v10M10.500 3v10",
  play: "M4.500 2.500v11L13 8z",
  reload: "M13.500 8A5.500 5.500 0 1 1 11.600 3.800M13.500 2v3.500H10",
} as const;

export type IconName = keyof typeof lines;

export function Icon({ name }: { readonly name: IconName }): JSX.Element {
  return (
    <svg class="icon" viewBox="0 0 16 16" fill="none" stroke="currentColor" aria-hidden="true">
      <path d={lines[name]} stroke-width="1.5" stroke-linecap="round" stroke-linejoin="round" />
    </svg>
  );
}

const shapes = {
  /** Done. */
  full: <circle cx="6" cy="6" r="5" fill="currentColor" />,
  /** At work. */
  ring: (
    <>
      <circle cx="6" cy="6" r="4.300" fill="none" stroke="currentColor" stroke-width="1.400" />
      <circle cx="6" cy="6" r="1.800" fill="currentColor" />
    </>
  ),
  /** Not known: half of it. */
  half: (
    <>
      <circle cx="6" cy="6" r="4.300" fill="none" stroke="currentColor" stroke-width="1.400" />
      <path d="M6 1.700a4.300 4.300 0 0 1 0 8.600z" fill="currentColor" />
    </>
  ),
  cross: (
    <path d="M2.500 2.500l7 7M9.500 2.500l-7 7" stroke="currentColor" stroke-width="1.900" stroke-linecap="round" />
  ),
  /** Answered from the record. */
  back: (
    <path
      d="M4.500 2 1.800 4.700l2.700 2.700M2 4.700h5a2.700 2.700 0 0 1 0 5.500H5"
      fill="none"
      stroke="currentColor"
      stroke-width="1.600"
      stroke-linecap="round"
      stroke-linejoin="round"
    />
  ),
  diamond: <path d="M6 .8 11.200 6 6 11.200.8 6z" fill="currentColor" />,
  square: <path d="M1.800 1.800h8.400v8.400H1.800z" fill="currentColor" />,
  person: (
    <path
      d="M6 1a2.500 2.500 0 1 1 0 5 2.500 2.500 0 0 1 0-5zM1 11.500c0-2.700 2.200-4.700 5-4.700s5 2 5 4.700z"
      fill="currentColor"
    />
  ),
  letter: (
    <path
      d="M1 2.500h10v7H1zM1 3l5 3.700L11 3"
      fill="none"
      stroke="currentColor"
      stroke-width="1.400"
      stroke-linejoin="round"
    />
  ),
  triangle: <path d="M6 1.200 11.500 10.800H.5z" fill="currentColor" />,
} as const;

export type ShapeName = keyof typeof shapes;

export function Shape({ name }: { readonly name: ShapeName }): JSX.Element {
  return (
    <svg viewBox="0 0 12 12" aria-hidden="true">
      {shapes[name]}
    </svg>
  );
}

/** 一, one stroke: once. */
export function Brand(): JSX.Element {
  return (
    <svg viewBox="0 0 32 32" aria-hidden="true">
      <rect width="32" height="32" rx="7" fill="#22324d" />
      <path
        d="M6 17.600c4.600-1.500 13.400-2.300 18.200-2.200.6-1.100 1.400-1.300 2.200-.6 1 .9.700 2-.5 2.300-5.300.3-13.200 1-18.300 2.400-1.400.3-2.600-1.400-1.600-1.900z"
        fill="#fff"
      />
    </svg>
  );
}
