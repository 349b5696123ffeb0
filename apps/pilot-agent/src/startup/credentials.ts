import type { Closers } from "@istiod/runtime";
import { fileToken } from "../credentials/file-token.js";
import { InstanceToken } from "../credentials/instance-token.js";
import type { TokenSource } from "../credentials/token-source.js";
import type { AgentContext } from "./context.js";

/** Token of Istio's credential fetcher for tests. */
const MOCK_TOKEN = "test_token";

/** Opens the source of the workload's token (`CREDENTIAL_FETCHER_TYPE`). */
export function openToken(context: AgentContext, closers: Closers): TokenSource {
  const { options, clock, log, resolvePath } = context;
  const { credentialFetcher, trustDomain, jwtPolicy } = options;
  const file = resolvePath(options.tokenFile);
  log.info(`using credential fetcher of ${credentialFetcher} type in ${trustDomain} trust domain`);
  switch (credentialFetcher) {
    case "GoogleComputeEngine": {
      const token = new InstanceToken({ host: options.metadataHost, audience: trustDomain, file, clock, log });
      closers.defer(() => token.stop());
      token.start();
      return token;
    }
    case "Mock":
      log.warn("CREDENTIAL_FETCHER_TYPE=Mock authenticates with a constant token, for tests only");
      return { name: "CREDENTIAL_FETCHER_TYPE=Mock", read: async () => MOCK_TOKEN };
    case "JWT":
      if (jwtPolicy !== "third-party-jwt") log.warn(`JWT_POLICY=${jwtPolicy} is treated as third-party-jwt`);
      return fileToken(file);
  }
}
