import { readdirSync, readFileSync, readlinkSync } from "node:fs";

export function environmentOf(pid: number): string {
  return readFileSync(`/proc/${pid}/environ`, "utf8").replaceAll("\0", "\n");
}

/** The processes that listen on a loopback port. */
export function listenersOn(port: number): number[] {
  const wanted = `0100007F:${port.toString(16).toUpperCase().padStart(4, "0")}`;
  const inodes = readFileSync("/proc/net/tcp", "utf8")
    .split("\n")
    .map((line) => line.trim().split(/\s+/))
    .filter((fields) => fields[1] === wanted && fields[3] === "0A")
    .map((fields) => `socket:[${fields[9]}]`);
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .filter((name) => {
      try {
        return readdirSync(`/proc/${name}/fd`).some((fd) => inodes.includes(readlinkSync(`/proc/${name}/fd/${fd}`)));
      } catch {
        return false;
      }
    })
    .map(Number);
}

function sessionOf(pid: number): string | undefined {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[3];
}

/** Those of the processes that would be killed together with the first. */
export function inSessionOf(pid: number, others: readonly number[]): number[] {
  return others.filter((other) => sessionOf(other) === sessionOf(pid));
}
