/** The command of a run as it was given, so that whoever reads its report later can give it again. */

const ofReport = "--json";
/** Nothing that a shell would take for something else. */
const isPlain = (argument: string): boolean => /^[\w./:,=@%+-]+$/.test(argument);
const quoted = (argument: string): string =>
  isPlain(argument) ? argument : `'${argument.replaceAll("'", String.raw`'\''`)}'`;

/** Every argument but for `--json FILE`: where the report goes changes nothing of the run. */
export function commandOf(script: string, args: readonly string[]): string {
  const given = args.filter(
    (argument, at) => argument !== ofReport && args[at - 1] !== ofReport && !argument.startsWith(`${ofReport}=`),
  );
  return [`npm run ${script}`, ...(given.length === 0 ? [] : ["--", ...given.map(quoted)])].join(" ");
}
