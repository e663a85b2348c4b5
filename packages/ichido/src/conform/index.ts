/** ichido/conform: the cases of HTTP behaviour, tried from outside on any server. */
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
export {
  DescriptionError,
  readDescription,
  type Accepts,
  type Description,
  type HeaderMap,
  type RequestPart,
  type Variants,
} from "./description.ts";
