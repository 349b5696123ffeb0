import { query, type View } from "@istiod/incremental";
import { type Proxy, scopeOf } from "@istiod/push-context";
import { keyOfId, service } from "@istiod/service-discovery";
import {
  type ChainSource,
  gatewayListenerConflicts,
  type ListenerConflict,
  outboundListenerConflicts,
} from "@istiod/xds-generators";
import { type Loss, loss, named } from "./loss.js";

/**
 * Services, TCP and TLS routes and egress ports that do not get the connections of a listener, because others came
 * first.
 */
export function lostAtListener(view: View<Proxy>, listener: string): readonly Loss[] {
  const lost =
    view.client.type === "router" ? view.call(gatewayListenerConflicts, listener) : view.call(lostAtSidecar, listener);
  return lost.map(({ ignored, existing, reason }) => {
    const [losing, winning] = [describe(view, ignored), describe(view, existing)];
    const text = `${losing.field} gives way to ${winning.kind} ${winning.key} ${winning.field}: ${reason}`;
    return loss(losing.kind, losing.key, text, {
      field: losing.field,
      winner: { ...named(winning.kind, winning.key), field: winning.field },
    });
  });
}

const lostAtSidecar = query("explain.lostAtSidecar", (q, listener: string): readonly ListenerConflict[] => {
  const at = listener.lastIndexOf("_");
  const [bind, port] = [listener.slice(0, at), Number(listener.slice(at + 1))];
  if (at < 0 || !Number.isInteger(port)) return [];
  return q.call(outboundListenerConflicts, { scope: scopeOf(q), port }).filter((lost) => lost.bind === bind);
});

function describe(
  view: View<Proxy>,
  claimant: ChainSource,
): { readonly kind: string; readonly key: string; readonly field: string } {
  switch (claimant.kind) {
    case "route":
      return { kind: "VirtualService", key: claimant.virtualService, field: claimant.field };
    case "egress":
      return { kind: "Sidecar", key: claimant.sidecar, field: `spec.egress[${claimant.listener}]` };
    case "service": {
      const found = view.call(service, claimant.id);
      const kind = found?.registry === "External" ? "ServiceEntry" : "Service";
      const port = found?.ports.findIndex(({ number }) => number === claimant.port) ?? 0;
      return {
        kind,
        key: found === undefined ? keyOfId(claimant.id) : `${found.namespace}/${found.objectName}`,
        field: `spec.ports[${port}]`,
      };
    }
  }
}
