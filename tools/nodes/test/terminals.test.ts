import { execFile, spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { promisify } from "node:util";
import { Attach, Exec, KubeConfig, type V1Status } from "@kubernetes/client-node";
import { expect, onTestFinished, test } from "vitest";
import { patience, pods, type Rig, unavailable, useRig } from "./rig.js";

// Streams of programs in containers, as kubectl exec, attach, cp and debug use them.

const holder = useRig();
const namespace = "default";
const noKubectl =
  spawnSync("kubectl", ["version", "--client"]).status === 0
    ? undefined
    : "there is no kubectl: apt-get install kubernetes-client";

/** Creates a Pod with one container, and waits until it runs. */
async function startPod(rig: Rig, name: string, container: object): Promise<void> {
  await rig.create(pods, {
    metadata: { name, namespace },
    spec: { terminationGracePeriodSeconds: 0, containers: [{ name: "main", image: "shell", ...container }] },
  });
  await expect
    .poll(async () => (await rig.pod(name)).status?.containerStatuses?.[0]?.state.running, patience)
    .toBeDefined();
}

const configOf = (rig: Rig): KubeConfig => {
  const config = new KubeConfig();
  config.loadFromString(rig.kubeconfig);
  return config;
};

/** An output that is a terminal of some size. */
class Terminal extends PassThrough {
  rows = 33;
  columns = 101;
  text = "";

  constructor() {
    super();
    this.setEncoding("utf8").on("data", (part: string) => (this.text += part));
  }

  resize(rows: number, columns: number): void {
    Object.assign(this, { rows, columns });
    this.emit("resize");
  }
}

const exitCode = ({ status, details }: V1Status): string | undefined =>
  status === "Success" ? "0" : details?.causes?.find(({ reason }) => reason === "ExitCode")?.message;

test("a command has input, of which it sees the end", async (context) => {
  context.skip(unavailable !== undefined, unavailable);
  const { rig } = holder;
  await startPod(rig, "input", { args: ["-c", "exec sleep 1000"] });
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
  const ended = new Promise<V1Status>((resolve, reject) => {
    const command = ["sh", "-c", "wc -c; exit 6"];
    new Exec(configOf(rig))
      .exec(namespace, "input", "main", command, stdout, stderr, stdin, false, resolve)
      .catch(reject);
  });
  stdin.end(Buffer.alloc(3_000_000));
  expect(exitCode(await ended)).toBe("6");
  expect(String(stdout.read()).trim()).toBe("3000000");
}, 120_000);

test("a command has a terminal, which gets sizes and signals, and ends with its client", async (context) => {
  context.skip(unavailable !== undefined, unavailable);
  const { rig } = holder;
  await startPod(rig, "terminal", { args: ["-c", "exec sleep 1000"] });
  const open = async (command: string[]) => {
    const [stdin, terminal] = [new PassThrough(), new Terminal()];
    let socket: Awaited<ReturnType<Exec["exec"]>> | undefined;
    const exec = new Exec(configOf(rig));
    const ended = new Promise<V1Status>((resolve, reject) => {
      exec
        .exec(namespace, "terminal", "main", command, terminal, null, stdin, true, resolve)
        .then((opened) => (socket = opened), reject);
    });
    return { stdin, terminal, ended, close: () => socket?.close() };
  };
  const shell = await open(["bash", "--norc"]);
  const type = async (line: string, shown: RegExp): Promise<void> => {
    shell.stdin.write(line);
    await expect.poll(() => shell.terminal.text, patience).toMatch(shown);
    shell.terminal.text = "";
  };
  await expect.poll(() => shell.terminal.text, patience).toContain("# ");
  await type("stty size\n", /\r\n33 101\r\n/);
  shell.terminal.resize(50, 120);
  await expect
    .poll(async () => {
      shell.stdin.write("stty size\n");
      await new Promise((resolve) => setTimeout(resolve, 100));
      return shell.terminal.text;
    }, patience)
    .toMatch(/\r\n50 120\r\n/);
  // The terminal sends its own signals to the program in the foreground.
  await type("sleep 2000; echo ended by $?\n", /sleep 2000/);
  await type("\u0003", /\^C/);
  await type("echo $?\n", /130/);
  shell.stdin.write("exit 5\n");
  expect(exitCode(await shell.ended)).toBe("5");

  const left = await open(["sleep", "3333"]);
  const processes = async (): Promise<string> =>
    spawnSync("pgrep", ["--full", "--exact", "sleep 3333"], { encoding: "utf8" }).stdout;
  await expect.poll(processes, patience).not.toBe("");
  left.close();
  await expect.poll(processes, patience).toBe("");
}, 120_000);

test("a client joins the program of a container", async (context) => {
  context.skip(unavailable !== undefined, unavailable);
  const { rig } = holder;
  const script = 'while read -r line; do echo "got $line"; [ "$line" = last ] && exit 4; done';
  await startPod(rig, "joined", { args: ["-c", script], stdin: true });
  const attach = async (line: string, shown: string): Promise<void> => {
    const [stdin, stdout] = [new PassThrough(), new Terminal()];
    const socket = await new Attach(configOf(rig)).attach(namespace, "joined", "main", stdout, null, stdin, false);
    stdin.write(line);
    await expect.poll(() => stdout.text, patience).toBe(shown);
    socket.close();
  };
  await attach("first\n", "got first\n");
  // The input of the container is still open, and what was written before is not sent again.
  await attach("last\n", "got last\n");
  await expect
    .poll(async () => {
      const [status] = (await rig.pod("joined")).status?.containerStatuses ?? [];
      return (status?.state.terminated ?? status?.lastState?.terminated)?.exitCode;
    }, patience)
    .toBe(4);
}, 120_000);

test("an ephemeral container runs in the namespaces of a Pod, and stays as it is", async (context) => {
  context.skip(unavailable !== undefined, unavailable);
  const { rig } = holder;
  await startPod(rig, "debugged", { args: ["-c", "sleep 4444; true"] });
  const path = `${pods}/debugged/ephemeralcontainers`;
  const patch = (ephemeralContainers: readonly object[], of = path): Promise<unknown> =>
    rig.client.json({
      method: "PATCH",
      path: of,
      contentType: "application/strategic-merge-patch+json",
      body: JSON.stringify({ spec: { ephemeralContainers } }),
    });
  const labelsAndAnnotations = async () => {
    const { labels, annotations } = (await rig.pod("debugged")).metadata;
    return { labels, annotations };
  };
  const before = await labelsAndAnnotations();
  await rig.client.json({
    method: "PATCH",
    path,
    contentType: "application/strategic-merge-patch+json",
    body: JSON.stringify({ metadata: { labels: { added: "true" }, annotations: { added: "true" } } }),
  });
  expect(await labelsAndAnnotations()).toEqual(before);
  const script = "hostname; ps -e -o comm= | sort -u | tr '\\n' ' '";
  const container = { image: "shell", args: ["-c", script] };
  await patch([{ ...container, name: "with-processes", targetContainerName: "main" }]);
  await patch([{ ...container, name: "alone" }]);
  const states = async () =>
    Object.fromEntries(
      (await rig.pod("debugged")).status?.ephemeralContainerStatuses?.map(({ name, state }) => [
        name,
        state.terminated?.exitCode,
      ]) ?? [],
    );
  await expect.poll(states, patience).toEqual({ "with-processes": 0, alone: 0 });
  expect(await rig.logs("debugged", "with-processes")).toMatch(/^debugged\n(?=.*\bsleep\b).*\bps\b/);
  expect(await rig.logs("debugged", "alone")).toMatch(/^debugged\n(?!.*\bsleep\b).*\bps\b/);
  expect((await rig.pod("debugged")).status?.phase).toBe("Running");

  await expect(patch([{ name: "alone", image: "curl" }])).rejects.toThrow(/"alone" may not be removed or changed/);
  await expect(patch([{ ...container, name: "main" }])).rejects.toThrow(/Duplicate value: "main"/);
  await expect(patch([{ ...container, name: "other", targetContainerName: "none" }])).rejects.toThrow(
    /Not found: "none"/,
  );
  await patch([{ ...container, name: "by-the-pod" }], `${pods}/debugged`);
  const { ephemeralContainers = [] } = (await rig.pod("debugged")).spec;
  expect(ephemeralContainers.map(({ name }) => name).sort()).toEqual(["alone", "with-processes"]);
}, 120_000);

test.for([
  ["WebSockets", "true"],
  ["SPDY", "false"],
] as const)(
  "kubectl copies files to and from a container by %s",
  { timeout: 120_000 },
  async ([protocol, flag], context) => {
    context.skip((unavailable ?? noKubectl) !== undefined, unavailable ?? noKubectl);
    const { rig } = holder;
    const directory = await mkdtemp(join(tmpdir(), "kubectl-cp-"));
    onTestFinished(() => rm(directory, { recursive: true }));
    await writeFile(join(directory, "kubeconfig"), rig.kubeconfig);
    const env = { ...process.env, KUBECONFIG: join(directory, "kubeconfig"), KUBECTL_REMOTE_COMMAND_WEBSOCKETS: flag };
    const kubectl = (...args: readonly string[]) => promisify(execFile)("kubectl", args, { env, cwd: directory });
    const name = `copied-${protocol.toLowerCase()}`;
    await startPod(rig, name, { args: ["-c", "exec sleep 1000"] });
    const content = randomBytes(2_000_000);
    await writeFile(join(directory, "up"), content);
    await kubectl("cp", "up", `${name}:/tmp/up`);
    await kubectl("cp", `${name}:tmp/up`, "down");
    expect((await readFile(join(directory, "down"))).equals(content)).toBe(true);
  },
);
