/** `ichido/operations`: what the command line and the console ask. */
export { findings, type Finding, type FindingCode, type Severity } from "../core/contract/finding.ts";
export { diagnose } from "./diagnose.ts";
export type { DoctorParts, Preflight } from "./doctor-parts.ts";
export type { Probes } from "./evidence.ts";
export type { Question } from "./question.ts";
export { verdictText } from "./sentence.ts";
export type { TimelineEntry } from "./timeline.ts";
export { verdicts, type EffectCount, type VerdictKind } from "./verdict.ts";
export { why, type IntentReport, type KeyReport, type Verdict, type WhyParts } from "./why.ts";
