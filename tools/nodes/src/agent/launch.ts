import { type ChildProcess, spawn } from "node:child_process";
import { readFile } from "node:fs/promises";
import { constants } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { guarded } from "../network/commands.js";

export interface Mount {
  readonly source: string;
  readonly target: string;
  readonly readOnly: boolean;
}

export interface Identity {
  readonly user: number;
  readonly group: number;
  readonly groups: readonly number[];
  /** Names of added capabilities, such as `NET_BIND_SERVICE`. */
  readonly capabilities: readonly string[];
}

export interface LaunchOptions {
  /** Process that holds the pod's namespaces. */
  readonly namespaces: number;
  /** An empty folder, which the container's root file system is mounted at. */
  readonly scratch: string;
  readonly mounts: readonly Mount[];
  /** Files of this machine by the path of a link to them. */
  readonly links: Readonly<Record<string, string>>;
  readonly identity: Identity;
  readonly directory: string;
  readonly env: ReadonlyMap<string, string>;
  readonly command: readonly string[];
  /** Open file for both outputs. */
  readonly output: number;
}

/** A running container. */
export interface ContainerProcess {
  /** Resolves with the exit code, or 128 and the signal. */
  readonly exited: Promise<{ readonly exitCode: number; readonly signal: number }>;
  /** The container's own process; undefined if it has ended. */
  pid(): Promise<number | undefined>;
  kill(signal: NodeJS.Signals): Promise<void>;
  /** Returns a command that runs in the container. */
  inside(command: readonly string[]): Promise<readonly string[]>;
}

/**
 * The root file system is this machine's, with changes in memory. Links in paths of mounts must be resolved in the
 * container's root, so that mounts are made in two steps: by number outside, and by path inside.
 */
const OUTER = `set -e
scratch=$1 directory=$2; shift 2
mount -t tmpfs tmpfs "$scratch"
mkdir "$scratch/upper" "$scratch/work" "$scratch/root"
root=$scratch/root
mount -t overlay overlay -o "lowerdir=/,upperdir=$scratch/upper,workdir=$scratch/work" "$root"
mount -t tmpfs -o mode=755 tmpfs "$root/dev"
for name in null zero full random urandom tty; do : > "$root/dev/$name"; mount --bind "/dev/$name" "$root/dev/$name"; done
mkdir -m 1777 "$root/dev/shm"; ln -s /proc/self/fd "$root/dev/fd"
for name in stdin:0 stdout:1 stderr:2; do ln -s "/proc/self/fd/\${name#*:}" "$root/dev/\${name%:*}"; done
mount --rbind /sys "$root/sys"
mount -t proc proc "$root/proc"
mkdir "$root/.mounts"
count=$1; shift; i=0
while [ "$i" -lt "$count" ]; do
  if [ -d "$1" ]; then mkdir "$root/.mounts/$i"; else : > "$root/.mounts/$i"; fi
  mount --bind "$1" "$root/.mounts/$i"
  shift; i=$((i + 1))
done
inner=$1; shift
exec chroot "$root" sh -c "$inner" "$directory" "$@"`;

/** Argument of the first process of a started container, which waits for the container's own process. */
const INIT = "container-init";

const INNER = `set -e
count=$1; shift; i=0
while [ "$i" -lt "$count" ]; do
  if [ -d "/.mounts/$i" ]; then mkdir -p "$1"; else mkdir -p "$(dirname "$1")"; [ -e "$1" ] || : > "$1"; fi
  mount --bind "/.mounts/$i" "$1"
  if [ "$2" = ro ]; then mount -o remount,bind,ro "$1"; fi
  umount "/.mounts/$i"
  shift 2; i=$((i + 1))
done
count=$1; shift; i=0
while [ "$i" -lt "$count" ]; do mkdir -p "$(dirname "$1")"; ln -sfn "$2" "$1"; shift 2; i=$((i + 1)); done
mkdir -p "$0"; cd "$0"
exec sh -c '"$@"; exit $?' ${INIT} "$@"`;

/** Starts a container. Its processes end with this one. */
export function launchContainer(options: LaunchOptions): ContainerProcess {
  const { namespaces, scratch, directory, env, command, output } = options;
  const mounts = [...options.mounts].sort((a, b) => (a.target < b.target ? -1 : 1));
  const links = Object.entries(options.links);
  const variables = [...env].map(([name, value]) => `${name}=${value}`);
  const args = [
    ...["nsenter", "-t", String(namespaces), "-n", "-u", "--"],
    ...["unshare", "-m", "-p", "-f", "--kill-child", "--propagation", "private", "--", "sh", "-c", OUTER, "launch"],
    ...[scratch, directory, String(mounts.length), ...mounts.map(({ source }) => source), INNER],
    ...[String(mounts.length), ...mounts.flatMap(({ target, readOnly }) => [target, readOnly ? "ro" : "rw"])],
    ...[String(links.length), ...links.flat()],
    ...identityCommand(options.identity),
    ...["env", "-i", ...variables, ...command],
  ];
  const [file, ...guard] = guarded;
  const child = spawn(file, [...guard, ...args], { stdio: ["ignore", output, output] });
  const exited = exitOf(child);
  const pid = (): Promise<number | undefined> => ownProcess(child);
  const kill = async (signal: NodeJS.Signals): Promise<void> => {
    // The container's processes end with its first one, and that with the one which has started it.
    if (signal === "SIGKILL") return void child.kill("SIGKILL");
    const own = await pid();
    if (own !== undefined) signalProcess(own, signal);
  };
  const inside = async (inner: readonly string[]): Promise<readonly string[]> => {
    const first = await pid();
    if (first === undefined) throw new Error("container not running");
    const enter = ["nsenter", "-t", String(first), "-n", "-u", "-m", "-p", "-r", "-w", "--"];
    return [...guarded, ...enter, ...identityCommand(options.identity), "env", "-i", ...variables, ...inner];
  };
  return { exited, pid, kill, inside };
}

function identityCommand({ user, group, groups, capabilities }: Identity): string[] {
  const names = capabilities.map((name) => `+${name.toLowerCase().replace(/^cap_/, "")}`).join(",");
  return [
    ...["setpriv", "--reuid", String(user), "--regid", String(group)],
    ...(groups.length > 0 ? ["--groups", groups.join(",")] : ["--clear-groups"]),
    ...(user !== 0 && names !== "" ? [`--inh-caps=${names}`, `--ambient-caps=${names}`] : []),
    ...["--pdeathsig", "KILL", "--"],
  ];
}

function exitOf(child: ChildProcess): ContainerProcess["exited"] {
  return new Promise((resolve) => {
    child.once("error", () => resolve({ exitCode: 128, signal: 0 }));
    // Without a status, it was killed itself, and the container with it.
    child.once("exit", (status) => {
      const exitCode = status ?? 128 + constants.signals.SIGKILL;
      resolve({ exitCode, signal: exitCode > 128 && exitCode < 160 ? exitCode - 128 : 0 });
    });
  });
}

const PID_INTERVAL = 10;

/** Waits until the container's own process has started. */
async function ownProcess(child: ChildProcess): Promise<number | undefined> {
  while (child.pid !== undefined && child.exitCode === null && child.signalCode === null) {
    const init = await childOf(child.pid);
    const command = init === undefined ? "" : await readFile(`/proc/${init}/cmdline`, "utf8").catch(() => "");
    const own = init !== undefined && command.split("\0")[3] === INIT ? await childOf(init) : undefined;
    if (own !== undefined) return own;
    await sleep(PID_INTERVAL);
  }
  return undefined;
}

async function childOf(pid: number): Promise<number | undefined> {
  const children = await readFile(`/proc/${pid}/task/${pid}/children`, "utf8").catch(() => "");
  const [first = ""] = children.trim().split(" ");
  return first === "" ? undefined : Number(first);
}

function signalProcess(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}
