import { networkInterfaces } from "node:os";
import { toJson } from "@bufbuild/protobuf";
import { anyUnpack } from "@bufbuild/protobuf/wkt";
import { type NameTable, NameTableSchema } from "@istiod/istio-api/networking/nds/v1/nds";
import { nameTableType } from "@istiod/resources";
import type { Clock } from "../clock.js";
import { AgentError } from "../errors.js";
import type { Log } from "../log.js";
import type { Options } from "../options/table.js";
import { splitAddress } from "../proxy-config/load.js";
import type { Proxy } from "../proxy.js";
import type { ResourceHandler } from "../xds-proxy/agent-resources.js";
import type { AgentMetrics } from "../status/metrics.js";
import { DnsServer } from "./dns-server.js";
import { NameLookup } from "./name-table.js";
import { readResolvConf } from "./resolv-conf.js";

export interface DnsServiceOptions {
  readonly options: Options;
  readonly proxy: Proxy;
  readonly metrics: AgentMetrics;
  readonly log: Log;
  readonly clock: Clock;
}

/** The agent's DNS: a server, and the table of names that istiod sends for it. */
export class DnsService {
  /** For the xDS proxy: takes istiod's table of names. */
  readonly handlers: Readonly<Record<string, ResourceHandler>>;
  readonly #setup: DnsServiceOptions;
  #server: DnsServer | undefined;
  #search: readonly string[] = [];
  #table: NameTable | undefined;

  constructor(setup: DnsServiceOptions) {
    this.#setup = setup;
    this.handlers = {
      [nameTableType]: (resource) => {
        const table = anyUnpack(resource, NameTableSchema);
        if (!table) throw new AgentError("discovery", `${resource.typeUrl} is not a table of names`);
        this.#use(table);
      },
    };
  }

  /** @throws AgentError `address`, `file` or `option` */
  async start(): Promise<void> {
    const { options, metrics, log } = this.#setup;
    const { servers, search } = await readResolvConf(options.resolvConf);
    this.#search = search;
    const at = splitAddress(options.dnsAddress);
    if (!at)
      throw new AgentError(
        "option",
        `DNS_PROXY_ADDR: ${JSON.stringify(options.dnsAddress)} is not of the form host:port`,
      );
    const addresses = this.#addresses(
      at.host,
      servers.some(({ address }) => address.includes(":")),
    );
    this.#server = new DnsServer({
      addresses,
      port: at.port,
      forwarding: {
        // Asking itself would never end.
        servers: servers.filter(
          ({ address, port }) =>
            port !== at.port || !(addresses.includes(address) || (addresses.includes("0.0.0.0") && isOwn(address))),
        ),
        timeout: options.dnsForwardTimeout,
        parallel: options.dnsForwardParallel,
      },
      events: {
        query: () => metrics.dnsRequests.inc(),
        forwarded: () => metrics.dnsUpstreamRequests.inc(),
        failed: () => metrics.dnsUpstreamFailures.inc(),
      },
      log,
    });
    await this.#server.start();
    log.info(`DNS server listens on ${addresses.map((address) => `${address}:${at.port}`).join(", ")}`);
  }

  /** @throws AgentError `discovery` while istiod has sent no table yet */
  checkReady(): void {
    if (!this.#table) throw new AgentError("discovery", "no table of names from istiod yet");
  }

  /** The table in use, in JSON. */
  table(): unknown {
    return this.#table ? toJson(NameTableSchema, this.#table) : {};
  }

  async close(): Promise<void> {
    await this.#server?.close();
  }

  #use(table: NameTable): void {
    const { options, proxy } = this.#setup;
    this.#table = table;
    this.#server?.use(
      new NameLookup(table, { namespace: options.podNamespace, domain: proxy.domain, search: this.#search }),
    );
  }

  #addresses(host: string, alsoV6: boolean): string[] {
    const { bindAddress } = this.#setup.options;
    if (host !== "localhost") return [host === "" ? "0.0.0.0" : host];
    if (bindAddress !== "") return [bindAddress];
    return alsoV6 ? ["127.0.0.1", "::1"] : ["127.0.0.1"];
  }
}

function isOwn(address: string): boolean {
  return Object.values(networkInterfaces()).some((addresses) => addresses?.some((own) => own.address === address));
}
