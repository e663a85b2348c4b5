/** The members that are defined. Those that are undefined are left out, where absent and undefined differ. */
export function present<Members extends object>(
  members: Members,
): { [Name in keyof Members]?: Exclude<Members[Name], undefined> } {
  const there = Object.entries(members).filter(([, value]) => value !== undefined);
  return Object.fromEntries(there) as { [Name in keyof Members]?: Exclude<Members[Name], undefined> };
}
