import { networkInterfaces } from "node:os";
import { toJson } from "@bufbuild/protobuf";
import { anyIs } from "@bufbuild/protobuf/wkt";
import { type NameTable, NameTableSchema } from "@istiod/istio-api/networking/nds/v1/nds";
import { nameTableType } from "@istiod/resources";
import { isLoopback } from "@istiod/peer-address";
import type { Clock } from "@istiod/runtime";
import { AgentError } from "../errors.js";
import type { Log } from "../log.js";
import { ipFamilies } from "../node/addresses.js";
import type { Options } from "../options/table.js";
import { splitAddress } from "../proxy-config/load.js";
import type { Proxy } from "../proxy.js";
import type { ResourceHandler } from "../xds-proxy/agent-resources.js";
import type { AgentMetrics } from "../status/metrics.js";
import { DnsServer } from "./dns-server.js";
import { decodeNameTable, NameLookup } from "./name-table.js";
import { readResolvConf } from "./resolv-conf.js";

export interface DnsServiceInputs {
  readonly options: Options;
  readonly proxy: Proxy;
  readonly metrics: AgentMetrics;
  readonly log: Log;
  readonly clock: Clock;
}

/** The agent's DNS server and the name table that istiod sends for it. */
export class DnsService {
  /** Handler of the name table, for the xDS proxy. */
  readonly handlers: Readonly<Record<string, ResourceHandler>>;
  readonly #inputs: DnsServiceInputs;
  #server: DnsServer | undefined;
  #search: readonly string[] = [];
  #table: NameTable | undefined;

  constructor(inputs: DnsServiceInputs) {
    this.#inputs = inputs;
    this.handlers = {
      [nameTableType]: (resource) => {
        if (!anyIs(resource, NameTableSchema))
          throw new AgentError("discovery", `${resource.typeUrl} is not a name table`);
        this.#update(decodeNameTable(resource.value));
      },
    };
  }

  /** @throws AgentError `address`, `file` or `option` */
  async start(): Promise<void> {
    const { options, metrics, log } = this.#inputs;
    const { servers, search } = await readResolvConf(options.resolvConf);
    this.#search = search;
    const listen = splitAddress(options.dnsAddress);
    if (!listen)
      throw new AgentError("option", `DNS_PROXY_ADDR: ${JSON.stringify(options.dnsAddress)} must be host:port`);
    const addresses = this.#addresses(
      listen.host,
      servers.some(({ address }) => address.includes(":")),
    );
    this.#server = new DnsServer({
      addresses,
      port: listen.port,
      forwarding: {
        // Forwarding to itself would loop.
        servers: servers.filter(
          ({ address, port }) =>
            port !== listen.port ||
            !(addresses.includes(address) || (addresses.some(isUnspecified) && isLocalAddress(address))),
        ),
        timeout: options.dnsForwardTimeout,
        parallel: options.dnsForwardParallel,
        maxConcurrent: options.dnsMaxForwards,
      },
      maxConnections: options.dnsMaxConnections,
      allowRemoteClients: options.dnsRemoteClients,
      events: {
        query: () => metrics.dnsRequests.inc(),
        forwarded: () => metrics.dnsUpstreamRequests.inc(),
        failed: () => metrics.dnsUpstreamFailures.inc(),
        rejected: (reason) => metrics.dnsRejected.inc({ reason }),
      },
      log,
    });
    await this.#server.start();
    if (!options.dnsRemoteClients && !addresses.every(isLoopback))
      log.info("DNS queries of other machines are refused; set DNS_REMOTE_CLIENTS=true to resolve them");
    log.info(`Starting local DNS server on ${addresses.map((address) => `${address}:${listen.port}`).join(", ")}`);
  }

  /** @throws AgentError `discovery` until istiod has sent a name table */
  checkReady(): void {
    if (!this.#table) throw new AgentError("discovery", "no name table received from istiod yet");
  }

  /** Returns the current name table in JSON. */
  table(): unknown {
    return this.#table ? toJson(NameTableSchema, this.#table) : {};
  }

  async close(): Promise<void> {
    await this.#server?.close();
  }

  #update(table: NameTable): void {
    const { options, proxy } = this.#inputs;
    this.#table = table;
    this.#server?.update(
      new NameLookup(table, { namespace: options.podNamespace, domain: proxy.domain, search: this.#search }),
    );
  }

  #addresses(host: string, hasV6Server: boolean): string[] {
    const { bindAddress } = this.#inputs.options;
    const isV6Only = ipFamilies(this.#inputs.proxy.addresses) === "v6";
    if (host !== "localhost") return [host || (isV6Only ? "::" : "0.0.0.0")];
    if (bindAddress !== "") return [bindAddress];
    // Envoy queries ::1 if the workload has IPv6 addresses only, whatever the name servers are.
    return hasV6Server || isV6Only ? ["127.0.0.1", "::1"] : ["127.0.0.1"];
  }
}

function isUnspecified(address: string): boolean {
  return address === "0.0.0.0" || address === "::";
}

function isLocalAddress(address: string): boolean {
  return Object.values(networkInterfaces()).some((addresses) => addresses?.some((own) => own.address === address));
}
