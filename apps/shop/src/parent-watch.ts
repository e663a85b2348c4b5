/**
 * Started by npm, a program ends with its parent. npm passes a signal to the shell between itself and the program, and a
 * shell that dies of it does not pass it on.
 */
const LOOK_MS = 250;

export function whenNpmIsGone(run: () => void): void {
  if (process.env.npm_lifecycle_event === undefined) return;
  const parent = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(timer);
    run();
  }, LOOK_MS);
  timer.unref();
}
