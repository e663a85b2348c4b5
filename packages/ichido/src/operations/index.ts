/** `ichido/operations`: what the command line and the console ask. */
export { findings, type Finding, type FindingCode, type Severity } from "../core/contract/finding.ts";
export { diagnose } from "./diagnose.ts";
export type { DoctorParts, Preflight } from "./doctor-parts.ts";
