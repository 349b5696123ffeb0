import type { GenMessage } from "@bufbuild/protobuf/codegenv2";
import type { Message } from "@bufbuild/protobuf";
import { anyUnpack } from "@bufbuild/protobuf/wkt";
import type { FilterChain } from "@istiod/envoy-api/envoy/config/listener/v3/listener_components";
import {
  type HttpConnectionManager,
  HttpConnectionManagerSchema,
} from "@istiod/envoy-api/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager";
import {
  type TcpProxy,
  TcpProxySchema,
} from "@istiod/envoy-api/envoy/extensions/filters/network/tcp_proxy/v3/tcp_proxy";

export function connectionManagerOf(chain: FilterChain): HttpConnectionManager | undefined {
  return filterOf(chain, HttpConnectionManagerSchema);
}

export function tcpProxyOf(chain: FilterChain): TcpProxy | undefined {
  return filterOf(chain, TcpProxySchema);
}

function filterOf<T extends Message>({ filters }: FilterChain, schema: GenMessage<T>): T | undefined {
  for (const { configType } of filters) {
    const found = configType.case === "typedConfig" ? anyUnpack(configType.value, schema) : undefined;
    if (found !== undefined) return found;
  }
  return undefined;
}
