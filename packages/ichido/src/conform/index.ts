/** ichido/conform: tries the cases of HTTP behaviour on any server, from outside. */
export {
  conform,
  conformDefaults,
  type CaseResult,
  type ConformOptions,
  type ConformReport,
  type Failure,
} from "./runner.ts";
export { reportJunit, reportTable } from "./report.ts";
export { conformCases, unobservable } from "./cases/index.ts";
export type { ConformCase, Level } from "./case.ts";
export type { Accepts, Description, HeaderMap, RequestPart, Variants } from "./description.ts";
export { DescriptionError, readDescription } from "./read-description.ts";
