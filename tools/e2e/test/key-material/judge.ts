import { create, toBinary } from "@bufbuild/protobuf";
import { anyPack } from "@bufbuild/protobuf/wkt";
import { type BareEnvoy, startBareEnvoy } from "@istiod/e2e";
import { Cluster_DiscoveryType, ClusterSchema } from "@istiod/envoy-api/envoy/config/cluster/v3/cluster";
import { ListenerSchema } from "@istiod/envoy-api/envoy/config/listener/v3/listener";
import { TcpProxySchema } from "@istiod/envoy-api/envoy/extensions/filters/network/tcp_proxy/v3/tcp_proxy";
import {
  DownstreamTlsContextSchema,
  UpstreamTlsContextSchema,
} from "@istiod/envoy-api/envoy/extensions/transport_sockets/tls/v3/tls";
import type { KeyPair, RootCertificates } from "@istiod/credentials";
import { clusterType, listenerType, type Resource, resource } from "@istiod/resources";

/** Resources that are offered at once. */
const batch = 1000;

const inline = (bytes: Uint8Array) => ({ specifier: { case: "inlineBytes", value: bytes } }) as const;

/** A certificate for servers, which Envoy rejects or takes in a listener. */
export function server({ chain, key, ocspStaple }: KeyPair, n: number): Resource {
  const tls = create(DownstreamTlsContextSchema, {
    commonTlsContext: {
      tlsCertificates: [
        {
          certificateChain: inline(chain),
          privateKey: inline(key),
          ...(ocspStaple && { ocspStaple: inline(ocspStaple) }),
        },
      ],
    },
  });
  const proxy = create(TcpProxySchema, { statPrefix: "x", clusterSpecifier: { case: "cluster", value: "agent" } });
  return resource(
    `${n}`,
    toBinary(
      ListenerSchema,
      create(ListenerSchema, {
        name: `${n}`,
        address: {
          address: {
            case: "socketAddress",
            value: { address: "127.0.0.1", portSpecifier: { case: "portValue", value: n + 1 } },
          },
        },
        bindToPort: false,
        filterChains: [
          {
            filters: [{ name: "tcp", configType: { case: "typedConfig", value: anyPack(TcpProxySchema, proxy) } }],
            transportSocket: {
              name: "tls",
              configType: { case: "typedConfig", value: anyPack(DownstreamTlsContextSchema, tls) },
            },
          },
        ],
      }),
    ),
  );
}

/** A certificate for clients, which Envoy rejects or takes in a cluster. */
export function client({ chain, key }: KeyPair, n: number): Resource {
  return cluster(n, { tlsCertificates: [{ certificateChain: inline(chain), privateKey: inline(key) }] });
}

/** Root certificates, which Envoy rejects or takes in a cluster. */
export function roots({ certificates, crl }: RootCertificates, n: number): Resource {
  return cluster(n, {
    validationContextType: {
      case: "validationContext",
      value: { trustedCa: inline(certificates), ...(crl && { crl: inline(crl) }) },
    },
  });
}

function cluster(n: number, commonTlsContext: object): Resource {
  const tls = create(UpstreamTlsContextSchema, { commonTlsContext });
  return resource(
    `${n}`,
    toBinary(
      ClusterSchema,
      create(ClusterSchema, {
        name: `${n}`,
        clusterDiscoveryType: { case: "type", value: Cluster_DiscoveryType.STATIC },
        transportSocket: {
          name: "tls",
          configType: { case: "typedConfig", value: anyPack(UpstreamTlsContextSchema, tls) },
        },
      }),
    ),
  );
}

/** Returns the errors of a real Envoy for listeners; undefined where it takes one. */
export async function listenerVerdicts(
  binary: string,
  offered: readonly Resource[],
): Promise<readonly (string | undefined)[]> {
  return inBatches(binary, offered, async (envoy, some) => {
    await envoy.offer(listenerType, some);
    const errors = await envoy.listenerErrors();
    return some.map(({ name }) => errors.get(name));
  });
}

/** Returns "rejected" for clusters that a real Envoy rejects; undefined where it takes one. */
export async function clusterVerdicts(
  binary: string,
  offered: readonly Resource[],
): Promise<readonly (string | undefined)[]> {
  return inBatches(binary, offered, async (envoy, some) => {
    await envoy.offer(clusterType, some);
    const taken = await envoy.clusterNames();
    return some.map(({ name }) => (taken.has(name) ? undefined : "rejected"));
  });
}

type Ask = (envoy: BareEnvoy, some: readonly Resource[]) => Promise<readonly (string | undefined)[]>;

async function inBatches(
  binary: string,
  offered: readonly Resource[],
  ask: Ask,
): Promise<readonly (string | undefined)[]> {
  const verdicts: (string | undefined)[] = [];
  for (let at = 0; at < offered.length; at += batch) {
    const envoy = await startBareEnvoy(binary);
    try {
      verdicts.push(...(await ask(envoy, offered.slice(at, at + batch))));
    } finally {
      await envoy.close();
    }
  }
  return verdicts;
}
