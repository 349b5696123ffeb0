import { type ChildProcess, spawn } from "node:child_process";
import { readFile } from "node:fs/promises";
import { constants } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { guarded } from "../network/commands.js";
import { childOf } from "./processes.js";
import { writerTo } from "./remote-program.js";
import { resolveInRoot } from "./resolve-in-root.js";
import { inTerminal, resizeTerminal, type TerminalSize } from "./terminal.js";

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
  /** Folder of the image's files; undefined for those of this machine. */
  readonly imageRoot?: string | undefined;
  readonly isRootReadOnly?: boolean;
  readonly mounts: readonly Mount[];
  /** Files of this machine by the path of a link to them. */
  readonly links: Readonly<Record<string, string>>;
  readonly identity: Identity;
  readonly directory: string;
  readonly env: ReadonlyMap<string, string>;
  readonly command: readonly string[];
  /** Keeps an input open, to which `write` writes. */
  readonly hasInput?: boolean;
  readonly isTerminal?: boolean;
  /** A process whose processes the container sees; undefined for a container that sees only its own. */
  readonly processesOf?: number | undefined;
  /** Open file for both outputs. */
  readonly output: number;
}

export interface InsideOptions {
  /** The command will be run by `inTerminal`. */
  readonly isTerminal?: boolean;
}

/** A running container. */
export interface ContainerProcess {
  /** Resolves with the exit code, or 128 and the signal. */
  readonly exited: Promise<{ readonly exitCode: number; readonly signal: number }>;
  /** The container's own process; undefined if it has ended. */
  pid(): Promise<number | undefined>;
  kill(signal: NodeJS.Signals): Promise<void>;
  /** Returns a command that runs in the container. */
  inside(command: readonly string[], options?: InsideOptions): Promise<readonly string[]>;
  /** Writes to the input, if there is one; null is its end. Resolves when there is room for more. */
  readonly write?: (input: Buffer | null) => Promise<void>;
  /** Sets the size of the terminal, if there is one. */
  readonly resize?: (size: TerminalSize) => void;
}

/** Argument of the first process of a started container, which waits for the container's own process. */
const INIT = "container-init";

/**
 * The root file system has the image's files, with changes in memory. It is prepared from outside with the programs of
 * this machine, because an image may have none.
 */
const PREPARE = `set -e
scratch=$1 lower=$2 directory=$3 access=$4; shift 4
mount -t tmpfs tmpfs "$scratch"
mkdir "$scratch/upper" "$scratch/work" "$scratch/root"
root=$scratch/root
mount -t overlay overlay -o "lowerdir=$lower,upperdir=$scratch/upper,workdir=$scratch/work" "$root"
mkdir -p "$root/dev" "$root/proc" "$root/sys" "$root$directory"
mount -t tmpfs -o mode=755 tmpfs "$root/dev"
for name in null zero full random urandom tty; do : > "$root/dev/$name"; mount --bind "/dev/$name" "$root/dev/$name"; done
mkdir -m 1777 "$root/dev/shm"; ln -s /proc/self/fd "$root/dev/fd"
for name in stdin:0 stdout:1 stderr:2; do ln -s "/proc/self/fd/\${name#*:}" "$root/dev/\${name%:*}"; done
mount --rbind /sys "$root/sys"
mount -t proc proc "$root/proc"
count=$1; shift; i=0
while [ "$i" -lt "$count" ]; do
  target=$root$2
  if [ -d "$1" ]; then mkdir -p "$target"; else mkdir -p "$(dirname "$target")"; [ -e "$target" ] || : > "$target"; fi
  mount --bind "$1" "$target"
  if [ "$3" = ro ]; then mount -o remount,bind,ro "$target"; fi
  shift 3; i=$((i + 1))
done
count=$1; shift; i=0
while [ "$i" -lt "$count" ]; do mkdir -p "$(dirname "$root$1")"; ln -sfn "$2" "$root$1"; shift 2; i=$((i + 1)); done
if [ "$access" = ro ]; then mount -o remount,bind,ro "$root"; fi
exec sh -c '"$@"; exit $?' ${INIT} "$@"`;

/** Starts a container. Its processes end with this one. */
export async function launchContainer(options: LaunchOptions): Promise<ContainerProcess> {
  const { namespaces, scratch, command, output, imageRoot = "/", isRootReadOnly = false } = options;
  const { hasInput = false, isTerminal = false, processesOf } = options;
  const directory = await resolveInRoot(imageRoot, options.directory);
  const mounts = await Promise.all(
    options.mounts.map(async (mount) => ({ ...mount, target: await resolveInRoot(imageRoot, mount.target) })),
  );
  mounts.sort((a, b) => (a.target < b.target ? -1 : 1));
  const links = Object.entries(options.links);
  const args = [
    ...["nsenter", "-t", String(namespaces), "-n", "-u", "--"],
    ...(processesOf === undefined ? [] : ["nsenter", "-t", String(processesOf), "-p", "--no-fork", "--"]),
    ...[
      "unshare",
      "-m",
      ...(processesOf === undefined ? ["-p"] : []),
      "-f",
      "--kill-child",
      "--propagation",
      "private",
    ],
    ...["--", "sh", "-c", PREPARE, "launch"],
    ...[scratch, imageRoot, directory, isRootReadOnly ? "ro" : "rw"],
    ...[
      String(mounts.length),
      ...mounts.flatMap(({ source, target, readOnly }) => [source, target, readOnly ? "ro" : "rw"]),
    ],
    ...[String(links.length), ...links.flat()],
    ...sessionCommand(isTerminal),
    ...enterRoot(options, directory, command),
  ];
  const [file, ...guard] = guarded;
  const started = isTerminal ? inTerminal([...guarded, ...args]) : args;
  const child = spawn(file, [...guard, ...started], {
    stdio: [hasInput || isTerminal ? "pipe" : "ignore", output, output],
  });
  child.stdin?.on("error", () => undefined);
  const exited = exitOf(child);
  const pid = (): Promise<number | undefined> => ownProcess(child, isTerminal);
  const kill = async (signal: NodeJS.Signals): Promise<void> => {
    // The container's processes end with its first one, and that with the one which has started it.
    if (signal === "SIGKILL") return void child.kill("SIGKILL");
    const own = await pid();
    if (own !== undefined) signalProcess(own, signal);
  };
  const inside: ContainerProcess["inside"] = async (inner, { isTerminal: onTerminal = false } = {}) => {
    const first = await pid();
    if (first === undefined) throw new Error("container not running");
    const enter = ["nsenter", "-t", String(first), "-n", "-u", "-m", "-p", "--"];
    return [...guarded, ...enter, ...sessionCommand(onTerminal), ...enterRoot(options, directory, inner)];
  };
  return {
    exited,
    pid,
    kill,
    inside,
    ...(hasInput && child.stdin && { write: writerTo(child.stdin) }),
    ...(isTerminal && { resize: (size) => void resizeTerminal(child.pid ?? 0, size) }),
  };
}

/** Begins a session that owns the terminal: processes of a container cannot refer to one outside. */
function sessionCommand(isTerminal: boolean): readonly string[] {
  return isTerminal ? ["setsid", "--ctty"] : [];
}

/** Returns a command that runs in the root of a container, as its user. */
function enterRoot(options: LaunchOptions, directory: string, command: readonly string[]): readonly string[] {
  const { scratch, imageRoot, identity, env } = options;
  const root = `${scratch}/root`;
  const variables = [...env].map(([name, value]) => `${name}=${value}`);
  // The files of this machine have programs that change the folder, and the user in one step.
  if (imageRoot === undefined)
    return ["chroot", root, ...identityCommand(identity), "env", "-i", "-C", directory, ...variables, ...command];
  const { user, group, groups } = identity;
  const userOptions = [`--userspec=+${user}:+${group}`, `--groups=${groups.map((id) => `+${id}`).join(",")}`];
  return [...capabilityCommand(identity), "env", "-i", ...variables, CHROOT, ...userOptions, root, ...command];
}

const CHROOT = "/usr/sbin/chroot";

/** Keeps the added capabilities of a user other than root beyond the change of the user by another program. */
function capabilityCommand({ user, capabilities }: Identity): string[] {
  if (user === 0 || capabilities.length === 0) return [];
  const names = capabilityNames(capabilities);
  return ["setpriv", "--securebits=+no_setuid_fixup", `--inh-caps=${names}`, `--ambient-caps=${names}`, "--"];
}

function capabilityNames(capabilities: readonly string[]): string {
  return capabilities.map((name) => `+${name.toLowerCase().replace(/^cap_/, "")}`).join(",");
}

function identityCommand({ user, group, groups, capabilities }: Identity): string[] {
  const names = capabilityNames(capabilities);
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
async function ownProcess(child: ChildProcess, isTerminal: boolean): Promise<number | undefined> {
  while (child.pid !== undefined && child.exitCode === null && child.signalCode === null) {
    const first = isTerminal ? await childOf(child.pid) : child.pid;
    const init = first === undefined ? undefined : await childOf(first);
    const command = init === undefined ? "" : await readFile(`/proc/${init}/cmdline`, "utf8").catch(() => "");
    const own = init !== undefined && command.split("\0")[3] === INIT ? await childOf(init) : undefined;
    if (own !== undefined) return own;
    await sleep(PID_INTERVAL);
  }
  return undefined;
}

function signalProcess(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}
