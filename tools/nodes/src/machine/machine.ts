import { mkdir, open, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { type ContainerProcess, launchContainer, type Mount } from "../agent/launch.js";
import type { PodNetwork } from "../network/pod-network.js";

/** A machine outside of the cluster, which pods reach by its address. No API server knows of it. */
export interface Machine {
  readonly name: string;
  readonly address: string;
  /** Starts a program. Its output is appended to `<name>.log` in the machine's folder. */
  start(name: string, program: Program): Promise<ContainerProcess>;
  /** Folder of the machine's files and logs. */
  readonly directory: string;
  /** Kills all programs. */
  stop(): Promise<void>;
}

/** A program of a machine. Programs share the network and `files`, and have file systems of their own otherwise. */
export interface Program {
  readonly command: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Contents of files by their paths. */
  readonly files?: Readonly<Record<string, string>>;
  /** Files of the host by the path of a link to them. */
  readonly links?: Readonly<Record<string, string>>;
  /** User and group. Default 0. */
  readonly user?: number;
}

export interface MachineOptions {
  readonly name: string;
  readonly address: string;
  /** Folder that the machine's folder is created in. */
  readonly directory: string;
  readonly network: PodNetwork;
}

/** Creates a machine that runs nothing yet. */
export async function createMachine({ name, address, network, ...options }: MachineOptions): Promise<Machine> {
  const directory = join(options.directory, name);
  await mkdir(directory, { recursive: true });
  const namespaces = await network.attach(address, name, []);
  const running: ContainerProcess[] = [];
  let launches = 0;
  let stopped: Promise<void> | undefined;
  const stop = async (): Promise<void> => {
    await Promise.all(running.map((process) => process.kill("SIGKILL")));
    await Promise.all(running.map(({ exited }) => exited));
    await namespaces.close();
  };
  return {
    name,
    address,
    directory,
    async start(program, { command, env = {}, files = {}, links = {}, user = 0 }) {
      const own = join(directory, `${++launches}-${program}`);
      const scratch = join(own, "root");
      await mkdir(scratch, { recursive: true });
      const names = { "/etc/resolv.conf": `nameserver ${network.hostAddress}\n`, "/etc/hosts": hostsOf(name, address) };
      const mounts = await writeFiles(join(own, "files"), { ...names, ...files });
      const log = await open(join(directory, `${program}.log`), "a");
      const started = await launchContainer({
        namespaces: namespaces.pid,
        scratch,
        mounts,
        links,
        identity: { user, group: user, groups: [], capabilities: [] },
        directory: "/",
        env: new Map(Object.entries({ PATH: process.env["PATH"] ?? "", ...env })),
        command,
        output: log.fd,
      });
      await log.close();
      running.push(started);
      return started;
    },
    stop: () => (stopped ??= stop()),
  };
}

/** Returns the content of a hosts file that has a machine's own name. */
export function hostsOf(name: string, address: string): string {
  return `127.0.0.1 localhost\n::1 localhost\n${address} ${name}\n`;
}

async function writeFiles(folder: string, files: Readonly<Record<string, string>>): Promise<readonly Mount[]> {
  const mounts: Mount[] = [];
  for (const [target, content] of Object.entries(files)) {
    const source = join(folder, target);
    await mkdir(dirname(source), { recursive: true });
    await writeFile(source, content);
    mounts.push({ source, target, readOnly: true });
  }
  return mounts;
}
