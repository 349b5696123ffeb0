import { deploymentKind, podKind, pods, workloadKinds } from "@istiod/config-schema";
import { type Analyzer, rule } from "../../analyzer.js";
import { checkPodUser, checkTemplateUser } from "./application-uid.js";
import { checkJwksRanges } from "./jwks-ranges.js";
import { reservedPortAnalyzer } from "./reserved-ports.js";
import { checkServices } from "./services-of-deployment.js";

/** Analyzers of Deployments and other kinds that create pods, and of pods. */
export const deploymentAnalyzers: readonly Analyzer[] = [
  {
    name: "authn.BlockedCIDRsAnalyzer",
    description: "Checks that istiod restricts where it fetches JWKS from",
    codes: ["IST0175"],
    rules: [rule(deploymentKind, deploymentKind.collection, checkJwksRanges)],
  },
  {
    name: "deployment.MultiServiceAnalyzer",
    description: "Checks that the services of a deployment agree on ports and protocols",
    codes: ["IST0116", "IST0137"],
    rules: workloadKinds.map((kind) => rule(kind, kind.collection, checkServices)),
  },
  {
    name: "applicationUID.Analyzer",
    description: "Checks that no application runs as the user of the proxy",
    codes: ["IST0144"],
    rules: [
      rule(podKind, pods, checkPodUser),
      ...workloadKinds.map((kind) => rule(kind, kind.collection, checkTemplateUser(kind))),
    ],
  },
  reservedPortAnalyzer,
];
