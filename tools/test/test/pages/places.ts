import { createServer } from "node:net";

/** Ports on which istiod's commands listen, or ask, unless told otherwise. */
const istiodPorts = [8080, 9876, 15010, 15012, 15014, 15017] as const;

/** Flags of `istiod discovery` with the addresses that they have by default. */
const discoveryDefaults = {
  grpcAddr: ":15010",
  secureGRPCAddr: ":15012",
  httpAddr: ":8080",
  httpsAddr: ":15017",
  monitoringAddr: ":15014",
  ctrlz_port: "9876",
};

/**
 * Ports and addresses in the place of the fixed ones that pages name, so that pages can be run beside other tests and
 * beside an istiod of the machine. This is the only place where what a page says is changed.
 */
export interface Places {
  /** Returns a page's text with the ports and addresses of this machine. */
  moved(text: string): string;
  /** Returns what commands print with the ports and addresses of the page. */
  restored(output: string): string;
  /** Flags that `istiod discovery` is given where the page leaves them out, as `--name=value`. */
  readonly discoveryFlags: readonly string[];
  /** URL that istiod's other commands ask by default. */
  readonly istiodUrl: string;
}

/** Claims free ports, and an address of 127.0.0.0/8 for each of `addresses`. */
export async function claimPlaces(): Promise<Places> {
  const free = new Set<number>();
  while (free.size < istiodPorts.length) free.add(await freePort());
  const byPort = new Map<string, string>([...free].map((port, i) => [String(istiodPorts[i]), String(port)]));
  const byMoved = new Map<string, string>([...byPort].map(([from, to]) => [to, from]));
  const third = 1 + Math.floor(Math.random() * 250);
  const second = 130 + Math.floor(Math.random() * 60);
  // Behind a host, or at the beginning of a flag's value: not the targetPort of YAML.
  const ports = (names: Iterable<string>): RegExp =>
    new RegExp(`(?<=(?:\\d\\.\\d+|localhost|[\\s"'=]):|--ctrlz_port[ =])(?:${[...names].join("|")})\\b`, "g");
  const outward = ports(byPort.keys());
  const back = ports(byMoved.keys());
  const moved = (text: string): string =>
    text.replace(outward, (port) => byPort.get(port) ?? port).replaceAll("127.0.1.", `127.${second}.${third}.`);
  return {
    moved,
    restored: (output) =>
      output.replace(back, (port) => byMoved.get(port) ?? port).replaceAll(`127.${second}.${third}.`, "127.0.1."),
    discoveryFlags: Object.entries(discoveryDefaults).map(
      ([name, value]) => `--${name}=${value.replace(/\d+$/, (port) => byPort.get(port) ?? port)}`,
    ),
    istiodUrl: moved("http://127.0.0.1:8080"),
  };
}

/** Ports below those that systems assign, so that no other process is given one before istiod listens on it. */
const lowestPort = 20_000;
const portCount = 12_000;

async function freePort(): Promise<number> {
  for (;;) {
    const port = lowestPort + Math.floor(Math.random() * portCount);
    const server = createServer();
    const isFree = await new Promise<boolean>((resolve) =>
      server.once("error", () => resolve(false)).listen(port, () => resolve(true)),
    );
    if (!isFree) continue;
    await new Promise((resolve) => server.close(resolve));
    return port;
  }
}
