/** `ichido/testing`: the suites that every store and adapter passes, and the tools that cause failures. */
export {
  adapterCases,
  adapterSuite,
  countedEffects,
  createHarness,
  filedEffects,
  planHeader,
  routePrefix,
  signatureOf,
  writePlan,
  type AdapterCase,
  type AdapterStore,
  type AdapterSubject,
  type Effects,
  type Harness,
  type HarnessAnswer,
  type HarnessCall,
  type HarnessOptions,
  type HarnessRoute,
  type Layer,
  type Plan,
  type ProcessOptions,
  type RunningApp,
  type ServerProcess,
  type ServerProcesses,
  type TransactionalEffects,
} from "./adapter-suite/index.ts";
export { answerMatchers, type AnswerMatchers, type MatcherResult } from "./answer-matchers.ts";
export { spawnChild, type Child, type ChildExit, type SpawnChildOptions } from "./child.ts";
export { fakeClock, type FakeClock, type FakeClockOptions } from "./clock.ts";
export {
  everyCrashPoint,
  type CrashLife,
  type CrashReport,
  type CrashRun,
  type CrashVerdict,
  type EveryCrashPointOptions,
} from "./crash-points.ts";
export {
  fakeProvider,
  type Charge,
  type FakeProvider,
  type FakeProviderOptions,
  type ProviderMode,
} from "./fake-provider.ts";
export {
  createFaultProxy,
  type Admission,
  type Cut,
  type CutRule,
  type Direction,
  type FaultProxy,
  type FaultProxyOptions,
  type LinkFaults,
  type ProxiedConnection,
  type ProxyCounts,
  type ProxyFaults,
} from "./fault-proxy.ts";
export {
  combineFaults,
  crashAt,
  CrashError,
  faultPoints,
  faultsFromEnv,
  faultsToEnv,
  faultsVariable,
  type CrashAction,
  type CrashPoint,
  type FaultName,
  type FaultPoint,
} from "./faults.ts";
export {
  everyStoreFault,
  faultyStore,
  type EveryStoreFaultOptions,
  type FaultyStore,
  type StoreFault,
  type StoreFaultReport,
  type StoreFaultRun,
  type StoreVerb,
} from "./faulty-store.ts";
export { race, type RaceResult } from "./race.ts";
export { reapAfterDeath, type Estate, type Will } from "./reaper.ts";
export {
  sampleFingerprint,
  sampleIdentity,
  sampleOwner,
  sampleResponse,
  storeCases,
  storeSuite,
  type OpenedStore,
  type SampleIdentityParts,
  type SampleResponseParts,
  type StoreCase,
  type StoreClock,
  type StoreSubject,
  type SuiteIt,
  type SuiteRunner,
} from "./store-suite/index.ts";
