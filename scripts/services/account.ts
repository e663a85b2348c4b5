/** Database servers refuse to run as root, and nothing a test starts should: as root they run as `nobody`. */
import { chownSync, readFileSync } from "node:fs";

export interface Account {
  readonly uid: number;
  readonly gid: number;
}

export function isRoot(): boolean {
  return process.getuid?.() === 0;
}

/** The account to give servers; nothing when we are not root and they simply run as ourselves. */
export function serverAccount(): Account | undefined {
  if (!isRoot()) return undefined;
  const line = readFileSync("/etc/passwd", "utf8")
    .split("\n")
    .find((entry) => entry.startsWith("nobody:"));
  const [, , uid = "65534", gid = "65534"] = line?.split(":") ?? [];
  return { uid: Number(uid), gid: Number(gid) };
}

export function giveToServer(path: string): void {
  const account = serverAccount();
  if (account !== undefined) chownSync(path, account.uid, account.gid);
}
